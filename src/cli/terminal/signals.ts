/** The signals of this process: the one place that listens to them. */
import type { Interrupts, Signal } from '../../app/process.ts';

/** For work that leaves something behind if it just ends. A terminal that is closed must not leave orders behind. */
export const interrupts: Interrupts = { on: (handler) => listen(['SIGINT', 'SIGTERM', 'SIGHUP'], handler) };

/** Resolves at the first SIGINT or SIGTERM; the next one ends the process, as does a SIGHUP unless `nohup` keeps it away. */
export function interrupted(): Promise<Signal> {
  return new Promise((resolve) => {
    const off = listen(['SIGINT', 'SIGTERM'], (signal) => {
      off();
      resolve(signal);
    });
  });
}

/** Does what Ctrl-C does where the terminal does not send it. */
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
