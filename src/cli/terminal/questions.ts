/**
 * Questions to the person at the terminal, one at a time. The terminal is listened to from the first question until `close`:
 * a line answers the question that stands, and one that comes while none stands answers nothing, so that no `yes` is ever
 * taken for another question than the one it was typed under.
 */
import { createInterface, type Interface } from 'node:readline';
import type { Wanted } from '../../venue/port.ts';
import { interruptSelf } from './signals.ts';
import { standard } from './streams.ts';

interface Person {
  readonly input: NodeJS.ReadableStream;
  readonly output: NodeJS.WritableStream;
  /** What Ctrl-C does, which does not come as a signal while the terminal is listened to. */
  interrupt(): void;
}

const AT_THE_TERMINAL: Person = {
  input: standard.input,
  output: standard.error,
  interrupt: interruptSelf,
};

export class Questions {
  private readonly person: Person;
  private dialogue: Interface | undefined;
  private answer: ((line: string) => void) | undefined;
  private last: Promise<unknown> = Promise.resolve();
  /** Ctrl-C, or nobody is there any more: everything that is asked is answered with no. */
  private over = false;

  constructor(person: Person = AT_THE_TERMINAL) {
    this.person = person;
  }

  /** Asks when everything before it is answered; no where it is not wanted any more by then, or is withdrawn while it stands. */
  ask(question: string, wanted?: Wanted): Promise<boolean> {
    const asked = this.last.then(() => this.put(question, wanted));
    this.last = asked;
    return asked;
  }

  close(): void {
    this.over = true;
    this.dialogue?.close();
    this.answer?.('');
  }

  private put(question: string, wanted: Wanted | undefined): Promise<boolean> {
    if (this.over || wanted?.withdrawn !== undefined) return Promise.resolve(false);
    this.dialogue ??= this.opened();
    // A line of its own: whatever is shown of the run meanwhile must not wipe it out.
    this.person.output.write(`${question} [y/N]\n`);
    return new Promise((resolve) => {
      const unheard = wanted?.onWithdrawn(() => {
        // What was begun as an answer to it is none to the next.
        this.dialogue?.write(null, { ctrl: true, name: 'u' });
        this.person.output.write('\n');
        this.answer?.('');
      });
      this.answer = (line) => {
        this.answer = undefined;
        unheard?.();
        resolve(/^y(es)?$/i.test(line.trim()));
      };
    });
  }

  private opened(): Interface {
    const { input, output, interrupt } = this.person;
    const dialogue = createInterface({ input, output, terminal: true, historySize: 0 });
    dialogue.setPrompt('');
    dialogue.on('line', (line) => this.answer?.(line));
    dialogue.on('SIGINT', () => {
      this.close();
      interrupt();
    });
    dialogue.on('close', () => this.close());
    return dialogue;
  }
}
