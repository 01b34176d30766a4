/** Waits for the answers of people to `approve` steps. */
import { Abandoned, type Cancellation } from '../interruption.ts';
import type { OperatorCommand } from '../ports.ts';
import { createSignal } from '../waiting.ts';

export class Approvals {
  private readonly waiting = new Map<string, (command: OperatorCommand) => void>();

  /** Resolves with the first answer for the step; rejects with Abandoned when the scope is cancelled. */
  answer(step: string, cancel: Cancellation): Promise<OperatorCommand> {
    const answered = createSignal<OperatorCommand>();
    this.waiting.set(step, answered.resolve);
    return new Promise((resolve, reject) => {
      const stop = cancel.listen((reason) => {
        this.waiting.delete(step);
        reject(new Abandoned(reason));
      });
      if (cancel.reason !== undefined) reject(new Abandoned(cancel.reason));
      void answered.promise.then((command) => {
        stop();
        this.waiting.delete(step);
        resolve(command);
      });
    });
  }

  give(command: OperatorCommand): void {
    // A command names a step by its path, or by its id.
    for (const [step, resolve] of this.waiting) {
      if (command.step === undefined || step === command.step || step.endsWith(`/${command.step}`)) resolve(command);
    }
  }
}
