/** Finds a run by its whole name, an unambiguous beginning of it, or `last`. */
import { makePrintable } from '../../base/printable.ts';
import type { JournalReader, RunRow } from '../../journal/store.ts';
import { UserError } from '../errors.ts';

export async function findRun(store: JournalReader, name: string): Promise<RunRow> {
  const exact = await store.run(name);
  if (exact !== undefined) return exact;
  const rows = await store.runs();
  if (rows.length === 0) throw new UserError('the journal holds no runs yet; `runbook dry-run FILE` makes one');
  if (name === 'last') {
    // By name, which begins with the time of creation: a dry-run's own times are virtual.
    const [latest] = [...rows].sort((a, b) => (a.run < b.run ? 1 : -1));
    if (latest !== undefined) return latest;
  }
  const fitting = rows.filter(({ run }) => run.startsWith(name) || run.includes(name));
  const [only] = fitting;
  if (only !== undefined && fitting.length === 1) return only;
  const shown = (fitting.length > 0 ? fitting : rows).slice(0, 5).map(({ run }) => run);
  const found = makePrintable(name, 100);
  throw new UserError(
    fitting.length > 1
      ? `${found} could be ${fitting.length} runs, such as ${shown.join(', ')}`
      : `there is no run ${found}; \`last\` is the newest, and the latest are ${shown.join(', ')}`,
  );
}
