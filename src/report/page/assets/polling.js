/** Asks again and again while somebody looks: not in a hidden tab, never twice at the same time, slower when it fails. */
import { ApiError } from './api.js';

const SLOWEST_MS = 15_000;

/** `ask(signal)` gives what to say: `live` or `idle`; `done` ends the asking. */
export function polling(ask, everyMs, context) {
  let timer;
  let controller;
  let failures = 0;
  let isOver = false;

  const onVisible = () => {
    if (!document.hidden) now();
  };
  document.addEventListener('visibilitychange', onVisible);
  now();
  return { now, stop };

  function now() {
    clearTimeout(timer);
    controller?.abort();
    if (!isOver) turn();
  }

  async function turn() {
    const mine = new AbortController();
    controller = mine;
    try {
      const state = await ask(mine.signal);
      failures = 0;
      context.report(state === 'live' ? 'live' : 'idle', state === 'live' ? 'live' : 'up to date');
      if (state === 'done') return;
    } catch (error) {
      if (mine.signal.aborted) return;
      failures += 1;
      context.report('wrong', error instanceof ApiError ? error.message : 'the page made a mistake');
      if (!(error instanceof ApiError)) console.error(error);
    }
    if (isOver || controller !== mine || document.hidden) return;
    timer = setTimeout(turn, Math.min(everyMs * 2 ** Math.min(failures, 3), SLOWEST_MS));
  }

  function stop() {
    isOver = true;
    clearTimeout(timer);
    controller?.abort();
    document.removeEventListener('visibilitychange', onVisible);
  }
}
