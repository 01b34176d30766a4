/** Sets up the anchors of an account's live runs: written beside the journal and to every copy in the profile. */
import { join } from 'node:path';
import { formatCount, formatSpan } from '../../base/format.ts';
import { makePrintable } from '../../base/printable.ts';
import { buildAnchorBucket, buildAnchorWebhook } from '../../gateway/live/webhook.ts';
import { type Act, isAccountChain } from '../../journal/account/acts.ts';
import {
  type Anchor,
  type Anchorer,
  type AnchorerOptions,
  AnchorFile,
  type AnchorSink,
  hashAnchor,
} from '../../journal/anchors/anchors.ts';
import {
  type Contradiction,
  findContradictedAct,
  findContradictedAnchor,
  readLastAnchor,
  readNewestAnchors,
} from '../../journal/anchors/newest.ts';
import { StoreError } from '../../journal/store.ts';
import { UserError } from '../errors.ts';
import type { Voice } from '../voice.ts';
import type { Account } from './account.ts';

/** The file of anchors beside the journal. */
function locateAnchors(folder: string): string {
  return join(folder, 'anchors.jsonl');
}

/** Sinks, signing key, and the report of a sink that fails or recovers. */
export function makeAnchoring(
  { folder, profile, secrets, store, key: account }: Account,
  voice: Pick<Voice, 'note' | 'complain'>,
): Pick<AnchorerOptions, 'sinks' | 'key' | 'onSink' | 'accountHead' | 'findPrevious'> {
  const { copies, patienceMs } = profile.anchors;
  const elsewhere = Object.entries(copies).flatMap(([name, copy]): AnchorSink[] => {
    if ('file' in copy) return [new AnchorFile(copy.file)];
    const address = secrets.anchorAddresses[name];
    const build = 'bucket' in copy ? buildAnchorBucket : buildAnchorWebhook;
    return address === undefined ? [] : [build(`anchors.copies.${name}`, address)];
  });
  const key = secrets.anchorKey?.reveal();
  return {
    sinks: [new AnchorFile(locateAnchors(folder)), ...elsewhere],
    ...(key === undefined ? {} : { key }),
    accountHead: () => store.lastAct(account),
    findPrevious: () => {
      const last = readLastAnchor(locateAnchors(folder));
      return last && hashAnchor(last);
    },
    onSink: (sink, failure) =>
      failure === undefined
        ? voice.note(`anchors are written to ${makePrintable(sink, 300)} again`)
        : voice.complain(
            `anchors cannot be written to ${makePrintable(sink, 300)}: ${makePrintable(failure, 300)}; after ${formatSpan(patienceMs)} of failure, nothing new is sent`,
          ),
  };
}

/** Why nothing new may be sent: a sink of anchors has failed for longer than the profile allows (fault-matrix.md, row 73). */
export function checkAnchorsOverdue(
  { longestFailure }: Pick<Anchorer, 'longestFailure'>,
  { profile }: Pick<Account, 'profile'>,
): string | undefined {
  if (longestFailure === undefined || longestFailure.ms <= profile.anchors.patienceMs) return undefined;
  const { sink, ms } = longestFailure;
  return `ANCHORS_FAILING: anchors could not be written to ${makePrintable(sink, 300)} for ${formatSpan(ms)}; nothing new is sent without them`;
}

/** Whether an anchor is of the time between a backup and its restore, which a person answers for. */
function isLostByRestore({ time }: Anchor, acts: readonly Act[]): boolean {
  const at = Date.parse(time);
  return acts.some(({ type, data }) => type === 'store.restored' && at > data.backupAt && at <= data.restoredAt);
}

const nameChain = (run: string) => makePrintable(isAccountChain(run) ? run : `run ${run}`, 200);

const describeContradiction: Readonly<Record<Contradiction['kind'], (anchor: Anchor) => string>> = {
  cut: ({ run, seq }) => `the journal of ${nameChain(run)} ends before entry ${seq}`,
  changed: ({ run, seq }) => `the journal of ${nameChain(run)} has another entry ${seq}`,
  missing: ({ run, seq }) =>
    `run ${makePrintable(run, 100)}, with ${formatCount(seq, 'entry', 'entries')} or more, is in no journal and no archive: an older state folder may have been restored`,
};

/**
 * Why nothing new may be sent with this journal: an anchor names an entry or a run that it does not have (fault-matrix.md, row 74);
 * undefined where all of the newest agree. Copies in files are checked too: a person who rewrites a journal can also rewrite the file beside it.
 */
export async function findContradiction({
  folder,
  profile,
  store,
  readElsewhere,
  openAccountJournal,
  key,
}: Pick<Account, 'folder' | 'profile' | 'store' | 'readElsewhere' | 'openAccountJournal' | 'key'>): Promise<
  string | undefined
> {
  const compareAnchors = async (anchors: readonly Anchor[]) => {
    const ofRuns = anchors.filter(({ run }) => !isAccountChain(run));
    const found = await findContradictedAnchor(store, ofRuns, readElsewhere);
    if (found !== undefined) return found;
    // Another store that the profile named before may have anchored a chain of its own in the same file.
    const chain = (await store.lastAct(key))?.run;
    const ofAccount = anchors.filter(({ run }) => run === chain);
    return findContradictedAct(store, key, ofAccount);
  };
  const copies = Object.values(profile.anchors.copies).flatMap((copy) => ('file' in copy ? [copy.file] : []));
  for (const file of [locateAnchors(folder), ...copies]) {
    try {
      const newest = readNewestAnchors(file);
      let found = await compareAnchors(newest);
      if (found !== undefined) {
        const journal = await openAccountJournal();
        const acts = await journal.find(key, ['store.restored']).finally(() => journal.close());
        found = await compareAnchors(newest.filter((anchor) => !isLostByRestore(anchor, acts)));
      }
      if (found === undefined) continue;
      const { anchor, kind } = found;
      return `JOURNAL_CONTRADICTED: ${describeContradiction[kind](anchor)}, against its anchor of ${makePrintable(anchor.time, 40)} in ${makePrintable(file, 300)}. \`runbook audit verify\` shows more. If you know the reason, move that file away; a new one is started`;
    } catch (error) {
      if (!(error instanceof StoreError || error instanceof UserError)) throw error;
      return `JOURNAL_CONTRADICTED: the journal could not be compared with its anchors: ${makePrintable(error.message, 300)}`;
    }
  }
  return undefined;
}
