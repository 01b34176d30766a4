/** Listens to the signals of this process: the one place that does. */
import { closeSync, fstatSync } from 'node:fs';
import type { Interrupts, Signal } from '../../app/process.ts';
import { writeWithoutWaiting } from './streams.ts';

/**
 * For work that must shut down cleanly. SIGHUP too: closing a terminal must not leave orders behind. Neither may a terminal that takes
 * no text keep such work, or its signals, waiting.
 */
export const interrupts: Interrupts = {
  on(handler) {
    writeWithoutWaiting();
    let isAsked = false;
    const off = listen(TO_END, (signal) => {
      if (signal === 'SIGHUP') process.once('exit', closeTerminal);
      isAsked = true;
      handler(signal);
    });
    return () => {
      // Pressed twice, Ctrl-C must not keep back what is said of orders and positions at the end. A further one ends the process.
      if (isAsked) {
        const spare = listen(TO_END, () => spare());
      }
      off();
    };
  },
};

const TO_END = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Node restores the modes of its terminal as it exits, and aborts (SIGABRT) where that has been closed. */
function closeTerminal(): void {
  for (const descriptor of [0, 1, 2])
    try {
      if (fstatSync(descriptor).isCharacterDevice()) closeSync(descriptor);
    } catch {
      // It was closed before.
    }
}

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
