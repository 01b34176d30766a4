/** Sets up the anchors of an account's live runs and of what people do: written beside the journal and to every copy in the profile. */
import { join } from 'node:path';
import { SystemClock } from '../../base/clock.ts';
import { formatCount, formatSpan } from '../../base/format.ts';
import { makePrintable } from '../../base/printable.ts';
import { listSecretVariables, loadSecrets } from '../../gateway/live/secret.ts';
import { buildAnchorBucket, buildAnchorWebhook } from '../../gateway/live/webhook.ts';
import { type Act, isAccountChain } from '../../journal/account/acts.ts';
import {
  type Anchor,
  type Anchorer,
  type AnchorerOptions,
  AnchorFile,
  type AnchorSink,
  anchorOnce,
  hashAnchor,
} from '../../journal/anchors/anchors.ts';
import {
  type Contradiction,
  findContradictedAct,
  findContradictedAnchor,
  readLastAnchor,
  readNewestAnchors,
} from '../../journal/anchors/newest.ts';
import { EVERY_ACCOUNT } from '../../journal/shared/shared.ts';
import { StoreError } from '../../journal/store.ts';
import type { AppContext } from '../context.ts';
import { UserError } from '../errors.ts';
import { accessStore, locateFolder } from '../stores/location.ts';
import { toSystemError } from '../system-errors.ts';
import type { Voice } from '../voice.ts';
import type { Account } from './account.ts';

/** The file of anchors beside the journal. */
function locateAnchors(folder: string): string {
  return join(folder, 'anchors.jsonl');
}

type Anchored = Pick<Account, 'folder' | 'profile' | 'secrets'>;

/** Sinks, signing key, and the report of a sink that fails or recovers. */
export function makeAnchoring(
  { store, key, ...anchored }: Anchored & Pick<Account, 'store' | 'key'>,
  voice: Pick<Voice, 'note' | 'complain'>,
): Pick<AnchorerOptions, 'sinks' | 'key' | 'onSink' | 'accountHeads' | 'findPrevious'> {
  const { patienceMs } = anchored.profile.anchors;
  return {
    ...makeSinks(anchored),
    accountHeads: async () =>
      (await Promise.all([key, EVERY_ACCOUNT].map((each) => store.lastAct(each)))).flatMap((head) => head ?? []),
    onSink: (sink, failure) =>
      failure === undefined
        ? voice.note(`anchors are written to ${makePrintable(sink, 300)} again`)
        : voice.complain(
            `anchors cannot be written to ${makePrintable(sink, 300)}: ${makePrintable(failure, 300)}; after ${formatSpan(patienceMs)} of failure, nothing new is sent`,
          ),
  };
}

function makeSinks({ folder, profile, secrets }: Anchored): Pick<AnchorerOptions, 'sinks' | 'key' | 'findPrevious'> {
  const { copies } = profile.anchors;
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
    findPrevious: () => {
      const last = readLastAnchor(locateAnchors(folder));
      return last && hashAnchor(last);
    },
  };
}

/**
 * Anchors the end of an account's chain, behind an act that a person gave outside of a run. Waits for the sinks as long as the end of a
 * run does. What fails is reported, and is no failure of the act: the account's next live run anchors it.
 */
export async function anchorAct(
  account: string,
  { profile, place }: Pick<Account, 'profile' | 'place'>,
  { state, environment, voice }: AppContext,
): Promise<void> {
  const report = (why: string) =>
    voice.complain(
      `it is in the journal of the account, but not anchored: ${why}; the account's next live run does it`,
    );
  const settings = { auth: { mode: 'none' }, notify: {}, anchors: profile.anchors } as const;
  const variables = listSecretVariables(settings).map((name) => [name, environment.variable(name)]);
  const { secrets, problems } = loadSecrets(settings, Object.fromEntries(variables));
  for (const problem of problems) report(makePrintable(problem, 400));
  // An anchor that is not signed would be shown as changed.
  if (profile.anchors.key !== undefined && secrets.anchorKey === undefined) return;
  try {
    const store = await accessStore(place, environment).openJournal();
    const head = await store.lastAct(account).finally(() => store.close());
    if (head === undefined) return;
    await anchorOnce(head, {
      clock: new SystemClock(),
      ...makeSinks({ folder: locateFolder(place, state), profile, secrets }),
      onSink: (sink, failure = '') => report(`${makePrintable(sink, 300)}: ${makePrintable(failure, 300)}`),
    });
  } catch (error) {
    const trouble = toSystemError(error);
    if (trouble === undefined) throw error;
    report(makePrintable(trouble.message, 300));
  }
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
    `${nameChain(run)}, with ${formatCount(seq, 'entry', 'entries')} or more, is in no journal and no archive: an older state folder may have been restored`,
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
    for (const account of [key, EVERY_ACCOUNT]) {
      const ofAccount = anchors.filter(({ run }) => isAccountChain(run, account));
      const own = (await store.lastAct(account))?.run;
      const isOwn = ({ run }: Anchor) => run === own;
      const lost = await findContradictedAct(store, account, ofAccount.filter(isOwn));
      if (lost !== undefined) return lost;
      // Another store that the profile named before may have anchored a chain of its own in the same file.
      const others = ofAccount.filter((anchor) => !isOwn(anchor));
      if (others.length === 0) continue;
      const known = await readElsewhere(async (reader) => reader.chains?.(account));
      const missing = others.find(({ run }) => known?.includes(run) !== true);
      if (missing !== undefined) return { anchor: missing, kind: 'missing' } as const;
    }
    return undefined;
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
