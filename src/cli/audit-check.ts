/** `runbook audit verify` and `runbook audit diff`: whether journals are what was written, and how two runs came to differ. */
import { join } from 'node:path';
import { printable } from '../base/printable.ts';
import { type ReadAnchors, readAnchors } from '../journal/anchors.ts';
import type { JournalStore } from '../journal/store.ts';
import {
  type DiffDocument,
  type Difference,
  type DiffSide,
  diffRuns,
  type FieldDifference,
  type Occurrence,
} from '../report/diff.ts';
import { type RunVerdict, verifyDocument, verifyJournal, verifyRun } from '../report/verify.ts';
import { jsonText, shown } from '../report/wording.ts';
import { EXIT, type ExitCode, Refusal } from './exit.ts';
import { readText } from './files.ts';
import { ANCHORS_FILE, allEntries, noRunYet, withJournal, withRuns } from './journal-file.ts';
import { findRun } from './runs.ts';
import type { StateFolder } from './state.ts';
import type { Terminal } from './terminal.ts';
import { type Cell, textTable } from './text-table.ts';
import type { Invocation } from './verb.ts';

export async function verify(
  name: string | undefined,
  options: { readonly key: string | undefined },
  { terminal, state }: Invocation,
): Promise<ExitCode> {
  // Before the entries: a run that is being written has entries no anchor knows, never the other way round.
  const anchors = anchorsOf(state, options.key);
  const verdicts = await withJournal(state, async (store) => {
    if (name === undefined) return verifyJournal(store, anchors.anchors);
    return [await verifyRun(store, await runOrAnchored(store, name, anchors), anchors.anchors)];
  });
  if (verdicts === undefined) return withoutJournal(name, anchors, terminal, state);
  const { ok: chainsOk, runs } = verifyDocument(verdicts);
  const ok = chainsOk && anchors.unsigned.length === 0;
  terminal.answer({ ok, runs, ...anchorsDocument(anchors) }, () => verdictsText(verdicts, ok, terminal));
  warnOfAnchors(anchors, terminal, state);
  return ok ? EXIT.done : EXIT.failed;
}

/** No journal at all: nothing to verify, unless anchors say that there was one. */
function withoutJournal(
  name: string | undefined,
  anchors: ReadAnchors,
  terminal: Terminal,
  state: StateFolder,
): ExitCode {
  const gone = [...new Set(anchors.anchors.map(({ run }) => run))];
  if (gone.length === 0) {
    if (name !== undefined) throw new Refusal(noRunYet(state));
    terminal.answer({ ok: true, runs: [] }, () => noRunYet(state));
    return EXIT.done;
  }
  const runs = gone.map((run) => ({ run, ok: false, entries: 0, problem: { sequence: 1, kind: 'missing' as const } }));
  terminal.answer(
    { ok: false, runs },
    () => `the journal is gone: ${ANCHORS_FILE} knows of ${gone.length} runs, ${shown(gone.slice(0, 5).join(', '))}`,
  );
  return EXIT.failed;
}

function anchorsOf(state: StateFolder, key: string | undefined): ReadAnchors {
  const publicKey = key === undefined ? undefined : readText(key, 'public key');
  try {
    return readAnchors(join(state.path, ANCHORS_FILE), publicKey);
  } catch (error) {
    const what =
      key === undefined
        ? `${join(state.shown, ANCHORS_FILE)} can not be read`
        : `${printable(key, 300)} is no public key in PEM form, or ${ANCHORS_FILE} can not be read`;
    throw new Refusal(`${what}: ${printable((error as Error).message, 200)}`, EXIT.usage, 'configuration');
  }
}

function anchorsDocument({ unreadable, unsigned }: ReadAnchors): object {
  return unreadable.length === 0 && unsigned.length === 0 ? {} : { anchors: { unreadable, unsigned } };
}

function warnOfAnchors({ unreadable, unsigned }: ReadAnchors, terminal: Terminal, state: StateFolder): void {
  const file = join(state.shown, ANCHORS_FILE);
  if (unreadable.length > 0)
    terminal.note(
      `${file}: no anchor in line ${unreadable.slice(0, 10).join(', ')}; a crash can cut the last line short, nothing else should`,
    );
  if (unsigned.length > 0)
    terminal.complain(`${file}: line ${unsigned.slice(0, 10).join(', ')} is not signed with this key`);
}

/** A run that is gone from the journal can still be named: its anchors know it. */
async function runOrAnchored(store: JournalStore, name: string, { anchors }: ReadAnchors): Promise<string> {
  const anchored = [...new Set(anchors.map(({ run }) => run))].filter((run) => run === name || run.startsWith(name));
  try {
    return (await findRun(store, name)).run;
  } catch (error) {
    const [only] = anchored;
    if (error instanceof Refusal && only !== undefined && anchored.length === 1) return only;
    throw error;
  }
}

function verdictsText(verdicts: readonly RunVerdict[], ok: boolean, terminal: Terminal): string {
  const rows = verdicts.map(({ run, ok: sound, entries, anchors, problem }): readonly Cell[] => [
    shown(run),
    String(entries),
    String(anchors),
    sound
      ? { text: 'as it was written', style: 'good' }
      : { text: `${problem?.kind ?? 'odd'}: ${shown(problem?.detail ?? '')}`, style: 'bad' },
  ]);
  const bad = verdicts.filter((verdict) => !verdict.ok).length;
  const verdict = ok
    ? terminal.style('good', `${verdicts.length === 1 ? '1 run is' : `${verdicts.length} runs are`} what was written`)
    : terminal.style(
        'bad',
        bad === 0
          ? 'anchors are not signed as they should be'
          : `${bad} of ${verdicts.length} runs ${bad === 1 ? 'is' : 'are'} not what was written`,
      );
  return [textTable(['run', '#entries', '#anchors', 'verdict'], rows, terminal), verdict]
    .filter((part) => part !== '')
    .join('\n');
}

export async function diff(left: string, right: string, { terminal, state }: Invocation): Promise<ExitCode> {
  return withRuns(state, async (store) => {
    const [a, b] = [await findRun(store, left), await findRun(store, right)];
    const document = diffRuns(await allEntries(store, a.run), await allEntries(store, b.run));
    terminal.answer(document, () => diffText(document, terminal));
    return EXIT.done;
  });
}

/** Differences in the list at most; the whole of it is in `--json`. */
const MOST_DIFFERENCES = 40;

function diffText(document: DiffDocument, terminal: Terminal): string {
  const { same, left, right, sameDefinition, start, first, before, differences } = document;
  const lines = [side('left ', left, terminal), side('right', right, terminal)];
  if (!sameDefinition) lines.push(terminal.style('warning', 'they ran different texts of the runbook'));
  if (same) return [...lines, terminal.style('good', 'both were told and did the same')].join('\n');
  if (start.length > 0)
    lines.push(
      '',
      terminal.style('strong', 'what they began with'),
      ...start.slice(0, MOST_DIFFERENCES).map((field) => fieldText(field, terminal)),
    );
  if (first === undefined) lines.push('', terminal.style('good', 'whatever they were told, they did the same'));
  else {
    lines.push('', terminal.style('strong', 'done differently first'), ...differenceText(first, terminal));
    const nearest = before.slice(-5);
    lines.push(
      '',
      terminal.style(
        'strong',
        nearest.length === 0
          ? `nothing${start.length > 0 ? ' else' : ''} was told differently before that`
          : 'told differently before that, the nearest last',
      ),
    );
    lines.push(...nearest.flatMap((each) => differenceText(each, terminal)));
  }
  const rest = differences.filter((each) => each !== first && !before.slice(-5).includes(each));
  if (rest.length > 0)
    lines.push(
      '',
      terminal.style('strong', `${rest.length} more`),
      ...rest.slice(0, MOST_DIFFERENCES).flatMap((each) => differenceText(each, terminal)),
    );
  if (rest.length > MOST_DIFFERENCES)
    lines.push(terminal.style('faint', `  … and ${rest.length - MOST_DIFFERENCES} after these; --json has all`));
  return lines.join('\n');
}

function side(name: string, { run, runbook, mode, outcome, startedAt }: DiffSide, terminal: Terminal): string {
  return `${terminal.style('faint', name)}  ${shown(run)}  ${shown(runbook)}, ${shown(mode)}, ${startedAt}, ${outcome ?? 'no end yet'}`;
}

function differenceText({ what, step, about, left, right, fields }: Difference, terminal: Terminal): readonly string[] {
  const place = (name: string, occurrence: Occurrence | undefined) =>
    occurrence === undefined ? '' : ` ${name} ${occurrence.sequence}`;
  const where = terminal.style('faint', `(entry${place('left', left)}${place('right', right)})`);
  const head = `  ${terminal.style('place', shown(step === '' ? 'run' : step))} ${what} ${shown(about)} ${where}`;
  if (left === undefined) return [head, `      only right: ${jsonText(right?.value ?? null)}`];
  if (right === undefined) return [head, `      only left: ${jsonText(left.value)}`];
  return [head, ...fields.slice(0, 8).map((field) => `    ${fieldText(field, terminal)}`)];
}

function fieldText({ field, left, right }: FieldDifference, terminal: Terminal): string {
  return `  ${field === '' ? '' : `${shown(field)}: `}${terminal.style('bad', jsonText(left))} → ${terminal.style('good', jsonText(right))}`;
}
