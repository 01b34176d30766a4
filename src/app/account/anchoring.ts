/** Where the anchors of an account's live runs go: beside the journal, and wherever else its profile says. */
import { join } from 'node:path';
import { formatSpan } from '../../base/format.ts';
import { printable } from '../../base/printable.ts';
import { anchorWebhook } from '../../gateway/live/webhook.ts';
import { type Anchorer, type AnchorerOptions, AnchorFile, type AnchorSink } from '../../journal/anchors/anchors.ts';
import { contradictedAnchor, newestAnchors } from '../../journal/anchors/newest.ts';
import { StoreError } from '../../journal/store.ts';
import type { Voice } from '../voice.ts';
import type { Account } from './account.ts';

/** The anchors beside the journal. */
function anchorFile(folder: string): string {
  return join(folder, 'anchors.jsonl');
}

/** Sinks, key, and who is told of a sink that fails. */
export function anchoring(
  { folder, profile, secrets }: Account,
  voice: Pick<Voice, 'note' | 'complain'>,
): Pick<AnchorerOptions, 'sinks' | 'key' | 'onSink'> {
  const { copies, patienceMs } = profile.anchors;
  const elsewhere = Object.entries(copies).flatMap(([name, copy]): AnchorSink[] => {
    if ('file' in copy) return [new AnchorFile(copy.file)];
    const webhook = secrets.anchorWebhooks[name];
    return webhook === undefined ? [] : [anchorWebhook(`anchors.copies.${name}`, webhook)];
  });
  const key = secrets.anchorKey?.reveal();
  return {
    sinks: [new AnchorFile(anchorFile(folder)), ...elsewhere],
    ...(key === undefined ? {} : { key }),
    onSink: (sink, failure) =>
      failure === undefined
        ? voice.note(`anchors are written to ${printable(sink, 300)} again`)
        : voice.complain(
            `anchors can not be written to ${printable(sink, 300)}: ${printable(failure, 300)}; when that has lasted ${formatSpan(patienceMs)}, nothing new is sent`,
          ),
  };
}

/** Why nothing new may be sent: a place for anchors has been down for longer than the profile bears (fault-matrix.md, row 73). */
export function anchorsOverdue(
  { longestFailure }: Pick<Anchorer, 'longestFailure'>,
  { profile }: Pick<Account, 'profile'>,
): string | undefined {
  if (longestFailure === undefined || longestFailure.ms <= profile.anchors.patienceMs) return undefined;
  const { sink, ms } = longestFailure;
  return `ANCHORS_FAILING: anchors could not be written to ${printable(sink, 300)} for ${formatSpan(ms)}; nothing new is sent without them`;
}

/**
 * Why nothing new may be sent on top of this journal: an anchor names a hash that it does not have (fault-matrix.md, row 74);
 * undefined where all of the newest agree. Copies in files are asked too: who rewrites a journal can rewrite the file beside it.
 */
export async function contradictionOf({
  folder,
  profile,
  store,
}: Pick<Account, 'folder' | 'profile' | 'store'>): Promise<string | undefined> {
  const copies = Object.values(profile.anchors.copies).flatMap((copy) => ('file' in copy ? [copy.file] : []));
  for (const file of [anchorFile(folder), ...copies]) {
    try {
      const found = await contradictedAnchor(store, newestAnchors(file));
      if (found === undefined) continue;
      const { anchor, kind } = found;
      const what = kind === 'cut' ? `ends before entry ${anchor.seq}` : `has another entry ${anchor.seq}`;
      return `JOURNAL_CONTRADICTED: the journal of run ${printable(anchor.run, 100)} ${what}, against its anchor of ${printable(anchor.time, 40)} in ${printable(file, 300)}: it is not what was written. \`runbook audit verify\` tells more; where you know why (a journal that was restored), keep that file elsewhere, and a new one is begun`;
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      return `JOURNAL_CONTRADICTED: it can not be told whether the journal is what was written: ${printable(error.message, 300)}`;
    }
  }
  return undefined;
}
