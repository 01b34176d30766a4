/**
 * The scheduler's log: one JSON object a line on standard error, made by pino. The last filter before anything is written is
 * here: secrets are taken out, and what a venue or a file says can not move a terminal.
 */
import type { Logger } from 'pino';
import { type Diagnostic, inReadingOrder, place } from '../base/diagnostic.ts';
import { escapeUnprintable } from '../base/printable.ts';
import type { TextStream, Voice } from './terminal.ts';

export type Level = 'debug' | 'info' | 'warn' | 'error' | 'fatal';
export type Fields = Readonly<Record<string, string | number | boolean | undefined>>;

export class DaemonLog {
  private readonly logger: Logger;
  private filter: (text: string) => string = (text) => text;

  private constructor(make: (write: (line: string) => void) => Logger, stream: TextStream) {
    this.logger = make((line) => {
      stream.write(`${escapeUnprintable(this.filter(line.trimEnd()))}\n`);
    });
  }

  static async to(stream: TextStream, level: Level = 'info'): Promise<DaemonLog> {
    // Of a module in the older system, a bundle gives the default alone.
    const {
      default: { pino },
    } = await import('pino');
    return new DaemonLog((write) => pino({ level, base: { pid: process.pid } }, { write }), stream);
  }

  /** From now on, whatever is written passes through `filter` first: it takes the secrets of an account out. */
  redactWith(filter: (text: string) => string): void {
    this.filter = filter;
  }

  /** `event`: a word for programs, in the past tense. */
  tell(level: Level, event: string, message: string, fields: Fields = {}): void {
    this.logger[level]({ event, ...fields }, message);
  }

  /** What executes runs speaks through this. */
  voice(): Voice {
    return {
      note: (text) => this.tell('info', 'noted', text),
      complain: (text) => this.tell('error', 'complained', text),
      progress: () => {},
      diagnostics: (list) => this.diagnostics(list),
    };
  }

  private diagnostics(list: readonly Diagnostic[]): void {
    for (const diagnostic of inReadingOrder(list)) {
      const { file, line, column, code, severity, message } = place(diagnostic);
      this.tell(severity === 'error' ? 'error' : 'warn', 'diagnosed', message, { file, line, column, code });
    }
  }
}
