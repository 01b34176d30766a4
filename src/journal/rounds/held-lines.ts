/**
 * Keeps on the disk what a live run holds back (idle-rounds.ts), without adding to its journal: as the lines that would be written now, in
 * a row beside the journal that the next one replaces. They follow the last line of the journal, and are nothing once another line
 * follows it. A process that resumes the run appends them before it reads.
 */
import { type ChainHead, followsHead, readEntry, toHead } from '../chain.ts';
import type { Entry } from '../entry.ts';
import type { AccountRow, JournalReader, JournalStore, StoredEntry } from '../store.ts';
import { expandEntry } from './round-line.ts';

/** No key of an account begins so. */
function makeKey(run: string): string {
  return `held ${run}`;
}

/**
 * Replaces what was kept under this epoch of the lease; with no lines, removes it. A process that was stopped, and has lost its lease,
 * must not take what the next one keeps. Durable.
 */
export function keepHeldLines(
  store: Pick<JournalStore, 'changeAccountRows'>,
  { run, epoch }: { readonly run: string; readonly epoch: number },
  lines: readonly StoredEntry[],
): Promise<void> {
  const text = lines.length === 0 ? '' : JSON.stringify(lines);
  return store.changeAccountRows(makeKey(run), () => [{ name: `epoch ${epoch}`, text }]);
}

/** The entries behind the last line of a run, all under the number of the first line that will stand for them. */
export async function* readHeldEntries(
  store: Pick<JournalReader, 'accountRows'>,
  run: string,
  head: ChainHead,
): AsyncGenerator<Entry> {
  for (const stored of findFollowing((await store.accountRows?.(makeKey(run))) ?? [], head))
    for (const entry of expandEntry(readEntry(stored))) yield { ...entry, seq: head.seq + 1 };
}

/** Appends what the dead process of a run held back. `epoch`: of the lease of the process that resumes the run. */
export async function appendHeldLines(store: JournalStore, run: string, epoch: number): Promise<void> {
  const rows = await store.accountRows(makeKey(run));
  if (rows.length === 0) return;
  const lines = findFollowing(rows, toHead(await store.last(run)));
  if (lines.length > 0) await store.append(lines, { durable: true, epoch });
  await store.changeAccountRows(makeKey(run), (kept) => kept.map(({ name }) => ({ name, text: '' })));
}

/** The lines of the row that follows the journal; none where the journal has gone on since, or no row is what was kept. */
function findFollowing(rows: readonly AccountRow[], head: ChainHead): readonly StoredEntry[] {
  return rows.map((row) => readRow(row, head)).find(({ length }) => length > 0) ?? [];
}

function readRow({ text }: AccountRow, head: ChainHead): readonly StoredEntry[] {
  try {
    const lines = JSON.parse(text) as readonly StoredEntry[];
    const follow = lines.every((stored, index) => followsHead(stored, index === 0 ? head : toHead(lines[index - 1])));
    return follow ? lines : [];
  } catch {
    return [];
  }
}
