/** Tests that reading a long journal leaves the event loop to the rest of the process. */
import { expect, it } from 'vitest';
import { readStoredEntries } from '../../src/journal/reading.ts';
import type { JournalReader, StoredEntry } from '../../src/journal/store.ts';

it('gives the event loop a round between the pages of a long journal', async () => {
  const stored = Array.from({ length: 5000 }, (_, index) => ({ seq: index + 1 }) as StoredEntry);
  const pages: number[] = [];
  const reader = {
    async read(_run: string, { after = 0, limit = Infinity } = {}) {
      const page = stored.slice(after, after + limit);
      pages.push(page.length);
      return page;
    },
  } as unknown as JournalReader;
  let rounds = 0;
  let isReading = true;
  const count = () => {
    rounds += 1;
    if (isReading) setImmediate(count);
  };
  setImmediate(count);
  let read = 0;
  for await (const { seq } of readStoredEntries(reader, 'long')) {
    read += 1;
    expect(seq).toBe(read);
  }
  isReading = false;
  expect(read).toBe(stored.length);
  expect(pages.length).toBeGreaterThan(2);
  expect(rounds).toBeGreaterThanOrEqual(pages.length - 1);
});
