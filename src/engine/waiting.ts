/** Waits of the engine: for a time, for a promise, for the first of several; each ends when its scope is left. */
import type { Clock } from '../base/clock.ts';
import { Abandoned, type Cancellation } from './interruption.ts';

/** Resolves at `whenMs` (epoch ms); rejects with Abandoned when the scope is left first. */
export function sleepUntil(clock: Clock, whenMs: number, cancel: Cancellation): Promise<void> {
  return new Promise((resolve, reject) => {
    if (cancel.reason !== undefined) {
      reject(new Abandoned(cancel.reason));
      return;
    }
    const stop = cancel.listen((reason) => {
      timer.cancel();
      reject(new Abandoned(reason));
    });
    const timer = clock.at(whenMs, () => {
      stop();
      resolve();
    });
  });
}

/** A promise with its handles outside: how something that arrives later wakes somebody who waits. */
export interface Signal<T> {
  readonly promise: Promise<T>;
  resolve(value: T): void;
}
export function signal<T>(): Signal<T> {
  let resolve: (value: T) => void = () => {};
  const promise = new Promise<T>((fulfil) => {
    resolve = fulfil;
  });
  return { promise, resolve };
}
