/** `runbook audit diff`: shows what two runs did differently, and which different inputs came before that. */

import { EXIT, type ExitCode } from '../../app/errors.ts';
import { findRun } from '../../app/stores/find-run.ts';
import { withRuns } from '../../app/stores/review.ts';
import {
  type DiffDocument,
  type Difference,
  type DiffSide,
  type FieldDifference,
  type Occurrence,
  readDiff,
} from '../../report/compare/diff.ts';
import { formatJson, formatText } from '../../report/format.ts';
import type { Given } from '../actions/actions.ts';
import type { Invocation } from '../invocation.ts';
import type { Output } from '../terminal/output.ts';

export async function showDiff({ left, right }: Given<'audit diff'>, review: Invocation): Promise<ExitCode> {
  const { terminal } = review;
  return withRuns(review, async (store) => {
    const [a, b] = [await findRun(store, left), await findRun(store, right)];
    const document = await readDiff({ store, run: a.run }, { store, run: b.run });
    terminal.answer(document, () => formatDiff(document, terminal));
    return EXIT.done;
  });
}

/** Maximum number of differences in the list; `--json` has all. */
const MOST_DIFFERENCES = 40;

function formatDiff(document: DiffDocument, terminal: Output): string {
  const { same, left, right, sameDefinition, start, first, before, differences } = document;
  const lines = [formatSide('left ', left, terminal), formatSide('right', right, terminal)];
  if (!sameDefinition) lines.push(terminal.style('warning', 'they ran different versions of the runbook'));
  if (same) return [...lines, terminal.style('good', 'same inputs, same actions')].join('\n');
  if (start.length > 0)
    lines.push(
      '',
      terminal.style('strong', 'different at the start'),
      ...start.slice(0, MOST_DIFFERENCES).map((field) => formatField(field, terminal)),
    );
  if (first === undefined) lines.push('', terminal.style('good', 'different inputs, same actions'));
  else {
    lines.push('', terminal.style('strong', 'first different action'), ...formatDifference(first, terminal));
    const nearest = before.slice(-5);
    lines.push(
      '',
      terminal.style(
        'strong',
        nearest.length === 0
          ? `no${start.length > 0 ? ' other' : ''} input differed before that`
          : 'different inputs before that, the nearest last',
      ),
    );
    lines.push(...nearest.flatMap((each) => formatDifference(each, terminal)));
  }
  const rest = differences.filter((each) => each !== first && !before.slice(-5).includes(each));
  if (rest.length > 0)
    lines.push(
      '',
      terminal.style('strong', `${rest.length} more`),
      ...rest.slice(0, MOST_DIFFERENCES).flatMap((each) => formatDifference(each, terminal)),
    );
  if (rest.length > MOST_DIFFERENCES)
    lines.push(terminal.style('faint', `  … and ${rest.length - MOST_DIFFERENCES} after these; --json has all`));
  return lines.join('\n');
}

function formatSide(name: string, { run, runbook, mode, outcome, startedAt }: DiffSide, terminal: Output): string {
  return `${terminal.style('faint', name)}  ${formatText(run)}  ${formatText(runbook)}, ${formatText(mode)}, ${startedAt}, ${outcome ?? 'no end yet'}`;
}

function formatDifference({ what, step, about, left, right, fields }: Difference, terminal: Output): readonly string[] {
  const place = (name: string, occurrence: Occurrence | undefined) =>
    occurrence === undefined ? '' : ` ${name} ${occurrence.sequence}`;
  const where = terminal.style('faint', `(entry${place('left', left)}${place('right', right)})`);
  const head = `  ${terminal.style('place', formatText(step === '' ? 'run' : step))} ${what} ${formatText(about)} ${where}`;
  if (left === undefined) return [head, `      only right: ${formatJson(right?.value ?? null)}`];
  if (right === undefined) return [head, `      only left: ${formatJson(left.value)}`];
  return [head, ...fields.slice(0, 8).map((field) => `    ${formatField(field, terminal)}`)];
}

function formatField({ field, left, right }: FieldDifference, terminal: Output): string {
  return `  ${field === '' ? '' : `${formatText(field)}: `}${terminal.style('bad', formatJson(left))} → ${terminal.style('good', formatJson(right))}`;
}
