/** Reads a whole run into memory, as the program never does. */
import type { Entry } from '../../src/journal/entry.ts';
import { readEntries } from '../../src/journal/reading.ts';

export async function readAllEntries(store: Parameters<typeof readEntries>[0], run: string): Promise<readonly Entry[]> {
  const entries: Entry[] = [];
  for await (const entry of readEntries(store, run)) entries.push(entry);
  return entries;
}
