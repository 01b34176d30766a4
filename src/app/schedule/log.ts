/**
 * The scheduler's log: one JSON object per line, written with pino. The last filter before output: it redacts secrets and
 * escapes control characters in texts of the venue and of files.
 */
import type { Logger } from 'pino';
import { type Diagnostic, placeDiagnostic, sortForReading } from '../../base/diagnostic.ts';
import { escapeUnprintable } from '../../base/printable.ts';
import type { Voice } from '../voice.ts';

export type Level = 'debug' | 'info' | 'warn' | 'error' | 'fatal';
export type Fields = Readonly<Record<string, string | number | boolean | undefined>>;

type Filter = (text: string) => string;

export class SchedulerLog {
  private readonly logger: Logger;
  /** Redaction by account. Each filter sees every line, whichever account wrote it. */
  private readonly filters: Map<string, Filter>;
  private readonly common: Fields;

  private constructor(logger: Logger, filters: Map<string, Filter>, common: Fields) {
    this.logger = logger;
    this.filters = filters;
    this.common = common;
  }

  /** `write` gets each line with its line end. */
  static async create(write: (line: string) => void, level: Level = 'info'): Promise<SchedulerLog> {
    // A bundle gives only the default export of a CommonJS module.
    const {
      default: { pino },
    } = await import('pino');
    const filters = new Map<string, Filter>();
    const clean = (line: string) => write(`${escapeUnprintable(applyFilters(filters, line.trimEnd()))}\n`);
    return new SchedulerLog(pino({ level, base: { pid: process.pid } }, { write: clean }), filters, {});
  }

  /** The same log with the account in every line. */
  forAccount(account: string): SchedulerLog {
    return new SchedulerLog(this.logger, this.filters, { account });
  }

  /** From now on every line passes through `filter`, which redacts the secrets of an account. */
  redactWith(account: string, filter: Filter): void {
    this.filters.set(account, filter);
  }

  redact(text: string): string {
    return applyFilters(this.filters, text);
  }

  /** `event`: a machine-readable name, in the past tense. */
  write(level: Level, event: string, message: string, fields: Fields = {}): void {
    this.logger[level]({ event, ...this.common, ...fields }, message);
  }

  /** The voice for the code that executes runs. */
  asVoice(): Voice {
    return {
      note: (text) => this.write('info', 'noted', text),
      complain: (text) => this.write('error', 'complained', text),
      progress: () => {},
      diagnostics: (list) => this.writeDiagnostics(list),
    };
  }

  private writeDiagnostics(list: readonly Diagnostic[]): void {
    for (const diagnostic of sortForReading(list)) {
      const { file, line, column, code, severity, message } = placeDiagnostic(diagnostic);
      this.write(severity === 'error' ? 'error' : 'warn', 'diagnosed', message, { file, line, column, code });
    }
  }
}

function applyFilters(filters: ReadonlyMap<string, Filter>, text: string): string {
  let clean = text;
  for (const filter of filters.values()) clean = filter(clean);
  return clean;
}
