/**
 * Exports a run as CloudEvents 1.0 for an event bus, one JSON event a line. The data of each event is the data of the entry;
 * fields of the entry without an attribute in the envelope become extension attributes.
 */
import { escapeUnprintable } from '../../base/printable.ts';
import type { Entry } from '../../journal/entry.ts';
import { formatIsoTime } from '../format.ts';

export function formatCloudEvent(entry: Entry): string {
  return `${escapeUnprintable(JSON.stringify(toCloudEvent(entry)))}\n`;
}

/** `source` and `id` together are unique; `sequence` sorts as a text, as its extension requires. */
function toCloudEvent({ run, seq, at, type, step, actor, account, def, hash, data }: Entry) {
  return {
    specversion: '1.0',
    id: String(seq),
    source: `/runs/${encodeURIComponent(run)}`,
    type: `perp-runbook.${type}`,
    time: formatIsoTime(at),
    ...(step === '' ? {} : { subject: step }),
    datacontenttype: 'application/json',
    sequence: String(seq).padStart(12, '0'),
    actor,
    account,
    definition: def,
    entryhash: hash,
    data,
  };
}
