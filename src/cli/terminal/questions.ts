/**
 * Asks the person at the terminal questions, one at a time. The terminal is read from the first question until `close`: a line
 * answers the open question, and a line without an open question is ignored, so that a `yes` never counts for a question it
 * was not typed under.
 */
import { createInterface, type Interface } from 'node:readline';
import type { Wanted } from '../../venue/port.ts';
import type { Output } from './output.ts';
import { interruptSelf } from './signals.ts';
import { standard } from './streams.ts';

interface Person {
  readonly input: NodeJS.ReadableStream;
  readonly output: NodeJS.WritableStream;
  /** Handles Ctrl-C, which arrives as input and not as a signal while the terminal is read. */
  interrupt(): void;
}

const AT_THE_TERMINAL: Person = {
  input: standard.input,
  output: standard.error,
  interrupt: interruptSelf,
};

export class Questions {
  private readonly screen: Pick<Output, 'holdForInput'>;
  private readonly person: Person;
  private dialogue: Interface | undefined;
  private answer: ((line: string) => void) | undefined;
  private last: Promise<unknown> = Promise.resolve();
  /** Ctrl-C, or end of input: every question is answered with no. */
  private over = false;

  constructor(screen: Pick<Output, 'holdForInput'>, person: Person = AT_THE_TERMINAL) {
    this.screen = screen;
    this.person = person;
  }

  /** Asks when all earlier questions are answered; no if it is withdrawn before or while it is open. */
  ask(question: string, wanted?: Wanted): Promise<boolean> {
    const asked = this.last.then(() => this.askNext(question, wanted));
    this.last = asked;
    return asked;
  }

  close(): void {
    this.over = true;
    this.dialogue?.close();
    this.answer?.('');
  }

  private askNext(question: string, wanted: Wanted | undefined): Promise<boolean> {
    if (this.over || wanted?.withdrawn !== undefined) return Promise.resolve(false);
    this.dialogue ??= this.openDialogue();
    const { dialogue } = this;
    const release = this.screen.holdForInput(() => dialogue.prompt(true));
    // A line of its own: output of the run meanwhile must not overwrite it.
    this.person.output.write(`${question} [y/N]\n`);
    return new Promise((resolve) => {
      const unheard = wanted?.onWithdrawn(() => {
        // A partly typed answer must not count for the next question.
        this.dialogue?.write(null, { ctrl: true, name: 'u' });
        this.person.output.write('\n');
        this.answer?.('');
      });
      this.answer = (line) => {
        this.answer = undefined;
        unheard?.();
        release();
        resolve(/^y(es)?$/i.test(line.trim()));
      };
    });
  }

  private openDialogue(): Interface {
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
