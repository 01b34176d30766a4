/**
 * Watches whether the files of an account's store are still the ones at their paths. What is written into a file that was removed
 * or replaced is lost, and another process may act for the account through the file that took its place.
 */
import type { Metronome, Timer } from '../../base/clock.ts';
import { makePrintable } from '../../base/printable.ts';
import type { PlaceCheck } from '../../journal/store.ts';

/** Interval of the checks, ms; each is a few reads of file status. A commit is checked as well. */
const CHECK_EVERY_MS = 500;

/** Calls the listener once a file is gone or another one, until the returned function is called. */
export function watchStorePlace(
  places: readonly PlaceCheck[],
  clock: Metronome,
  onReplaced: (message: string) => void,
): () => void {
  let timer: Timer | undefined;
  let stopped = false;
  const stop = () => {
    stopped = true;
    timer?.cancel();
    for (const off of watches) off();
  };
  const watches = places.map((place) =>
    place.onReplaced((message) => {
      if (stopped) return;
      stop();
      onReplaced(
        `STORE_REPLACED: ${makePrintable(message, 400)}. This process ends at once and sends nothing more: what it would write is lost. Its runs are suspended, and their orders stay as they are. Put the file back, or restore a backup, then \`runbook resume\`; \`runbook kill\` cancels the orders`,
      );
    }),
  );
  const check = () => {
    for (const place of places) place.findReplaced();
    if (!stopped) timer = clock.after(CHECK_EVERY_MS, check);
  };
  check();
  return stop;
}
