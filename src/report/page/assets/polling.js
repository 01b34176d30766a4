/** Polls the server while the page is visible: one request at a time, slower after failures. */
import { ApiError } from './api.js';

const SLOWEST_MS = 15_000;

/** `ask(signal)` returns the status to show, `live` or `idle`; `done` ends the polling. */
export function startPolling(ask, everyMs, context) {
  let timer;
  let controller;
  let failures = 0;
  let isOver = false;

  const onVisible = () => {
    if (!document.hidden) poll();
  };
  document.addEventListener('visibilitychange', onVisible);
  poll();
  return { now: poll, stop };

  function poll() {
    clearTimeout(timer);
    controller?.abort();
    if (!isOver) runTurn();
  }

  async function runTurn() {
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
      context.report('wrong', error instanceof ApiError ? error.message : 'an internal error of the page');
      if (!(error instanceof ApiError)) console.error(error);
    }
    if (isOver || controller !== mine || document.hidden) return;
    timer = setTimeout(runTurn, Math.min(everyMs * 2 ** Math.min(failures, 3), SLOWEST_MS));
  }

  function stop() {
    isOver = true;
    clearTimeout(timer);
    controller?.abort();
    document.removeEventListener('visibilitychange', onVisible);
  }
}
