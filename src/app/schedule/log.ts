/**
 * The scheduler's log: one JSON object a line, made by pino. The last filter before anything is written is
 * here: secrets are taken out, and what a venue or a file says cannot move a terminal.
 */
import type { Logger } from 'pino';
import { type Diagnostic, inReadingOrder, place } from '../../base/diagnostic.ts';
import { escapeUnprintable } from '../../base/printable.ts';
import type { Voice } from '../voice.ts';

export type Level = 'debug' | 'info' | 'warn' | 'error' | 'fatal';
export type Fields = Readonly<Record<string, string | number | boolean | undefined>>;

type Filter = (text: string) => string;

export class SchedulerLog {
  private readonly logger: Logger;
  /** By account: what takes its secrets out. Each filter sees every line, whoever wrote it. */
  private readonly filters: Map<string, Filter>;
  private readonly common: Fields;

  private constructor(logger: Logger, filters: Map<string, Filter>, common: Fields) {
    this.logger = logger;
    this.filters = filters;
    this.common = common;
  }

  /** `write` is given each line with its end. */
  static async to(write: (line: string) => void, level: Level = 'info'): Promise<SchedulerLog> {
    // Of a module in the older system, a bundle gives the default alone.
    const {
      default: { pino },
    } = await import('pino');
    const filters = new Map<string, Filter>();
    const clean = (line: string) => write(`${escapeUnprintable(filtered(filters, line.trimEnd()))}\n`);
    return new SchedulerLog(pino({ level, base: { pid: process.pid } }, { write: clean }), filters, {});
  }

  /** The same log; every line of it names the account. */
  of(account: string): SchedulerLog {
    return new SchedulerLog(this.logger, this.filters, { account });
  }

  /** From now on, whatever is written passes through `filter` first: it takes the secrets of an account out. */
  redactWith(account: string, filter: Filter): void {
    this.filters.set(account, filter);
  }

  redact(text: string): string {
    return filtered(this.filters, text);
  }

  /** `event`: a word for programs, in the past tense. */
  tell(level: Level, event: string, message: string, fields: Fields = {}): void {
    this.logger[level]({ event, ...this.common, ...fields }, message);
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

function filtered(filters: ReadonlyMap<string, Filter>, text: string): string {
  let clean = text;
  for (const filter of filters.values()) clean = filter(clean);
  return clean;
}
