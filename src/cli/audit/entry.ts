/** `runbook audit show RUN --entry N`: one entry raw, as it was hashed: the evidence that an answer of `audit summary` names. */

import { EXIT, type ExitCode, UserError } from '../../app/errors.ts';
import { escapeUnprintable } from '../../base/printable.ts';
import type { JournalReader, RunRow } from '../../journal/store.ts';
import { isoTime } from '../../report/folds/run.ts';
import { offsetText, shown } from '../../report/wording.ts';
import { wholeOption } from '../option-values.ts';
import type { Output } from '../terminal/output.ts';

export async function showEntry(
  store: JournalReader,
  { run, startedAt }: RunRow,
  number: string,
  terminal: Output,
): Promise<ExitCode> {
  const sequence = wholeOption('--entry', number);
  const [stored] = await store.read(run, { after: sequence - 1, limit: 1 });
  if (stored === undefined || stored.seq !== sequence)
    throw new UserError(`run ${shown(run)} has no entry ${sequence}`);
  const { at, type, step, line, hash } = stored;
  terminal.answer({ run, sequence, at: isoTime(at), type, step, line, hash }, () =>
    [
      `${terminal.style('strong', `entry ${sequence}`)}  ${shown(type)}  ${isoTime(at)}, ${offsetText(at - startedAt)}${step === '' ? '' : `  ${shown(step)}`}`,
      ...prettyLines(line).map(escapeUnprintable),
      terminal.style('faint', `hash ${hash}`),
    ].join('\n'),
  );
  return EXIT.done;
}

/** For reading, line by line; the line itself is what was hashed. */
export function prettyLines(line: string): readonly string[] {
  try {
    return JSON.stringify(JSON.parse(line), null, 2).split('\n');
  } catch {
    return [line];
  }
}
