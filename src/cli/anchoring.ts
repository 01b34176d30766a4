/** Where the anchors of an account's live runs go: beside the journal, and wherever else its profile says. */
import { join } from 'node:path';
import { printable } from '../base/printable.ts';
import { anchorWebhook } from '../gateway/webhook.ts';
import { type Anchorer, type AnchorerOptions, AnchorFile, type AnchorSink } from '../journal/anchors.ts';
import { spanText } from '../report/wording.ts';
import type { Account } from './account.ts';
import type { Voice } from './terminal.ts';

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
    sinks: [new AnchorFile(join(folder, 'anchors.jsonl')), ...elsewhere],
    ...(key === undefined ? {} : { key }),
    onSink: (sink, failure) =>
      failure === undefined
        ? voice.note(`anchors are written to ${printable(sink, 300)} again`)
        : voice.complain(
            `anchors can not be written to ${printable(sink, 300)}: ${printable(failure, 300)}; when that has lasted ${spanText(patienceMs)}, nothing new is sent`,
          ),
  };
}

/** Why nothing new may be sent: a place for anchors has been down for longer than the profile bears (fault matrix, row 73). */
export function anchorsOverdue(
  { longestFailure }: Pick<Anchorer, 'longestFailure'>,
  { profile }: Pick<Account, 'profile'>,
): string | undefined {
  if (longestFailure === undefined || longestFailure.ms <= profile.anchors.patienceMs) return undefined;
  const { sink, ms } = longestFailure;
  return `ANCHORS_FAILING: anchors could not be written to ${printable(sink, 300)} for ${spanText(ms)}; nothing new is sent without them`;
}
