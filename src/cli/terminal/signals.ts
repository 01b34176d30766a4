/** Listens to the signals of this process: the one place that does. */
import type { Interrupts, Signal } from '../../app/process.ts';

/** For work that must shut down cleanly. SIGHUP too: closing a terminal must not leave orders behind. */
export const interrupts: Interrupts = { on: (handler) => listen(['SIGINT', 'SIGTERM', 'SIGHUP'], handler) };

/** Resolves at the first SIGINT or SIGTERM; the next one ends the process, as does a SIGHUP unless `nohup` blocks it. */
export function waitForInterrupt(): Promise<Signal> {
  return new Promise((resolve) => {
    const off = listen(['SIGINT', 'SIGTERM'], (signal) => {
      off();
      resolve(signal);
    });
  });
}

/** Simulates Ctrl-C where the terminal does not send a signal. */
export function interruptSelf(): void {
  process.kill(process.pid, 'SIGINT');
}

function listen(signals: readonly Signal[], handler: (signal: Signal) => void): () => void {
  const handlers = signals.map((signal) => [signal, () => handler(signal)] as const);
  for (const [signal, each] of handlers) process.on(signal, each);
  return () => {
    for (const [signal, each] of handlers) process.off(signal, each);
  };
}
