/**
 * Writes a command's output: results on standard output; diagnostics, notes and progress on standard error; colours only on a
 * terminal. With `--json` standard output has one JSON document and nothing else. Control characters in foreign texts are
 * escaped here, at the last moment.
 */
import { styleText } from 'node:util';
import type { Environment } from '../../app/environment.ts';
import { type Diagnostic, placeDiagnostic, sortForReading } from '../../base/diagnostic.ts';
import { escapeUnprintable, makePrintable } from '../../base/printable.ts';
import type { Output, Style, TextStream } from './output.ts';

interface TerminalOptions {
  readonly out: TextStream;
  readonly err: TextStream;
  readonly json: boolean;
  readonly quiet: boolean;
  /** False with `--no-color`. */
  readonly color: boolean;
  readonly environment: Environment;
}

const STYLES = {
  strong: 'bold',
  faint: 'dim',
  good: 'green',
  bad: 'red',
  warning: 'yellow',
  place: 'cyan',
} as const satisfies Record<Style, string>;

/** Characters of a long answer that are written together. */
const WRITTEN_AT_ONCE = 1 << 16;

export class Terminal implements Output {
  readonly json: boolean;
  readonly quiet: boolean;
  private readonly out: TextStream;
  private readonly err: TextStream;
  private readonly coloured: { readonly out: boolean; readonly err: boolean };
  private progressShown = false;
  /** Shows again what a person is typing. */
  private redraw: (() => void) | undefined;
  private filter: (text: string) => string = (text) => text;

  constructor({ out, err, json, quiet, color, environment }: TerminalOptions) {
    this.out = out;
    this.err = err;
    this.json = json;
    this.quiet = quiet;
    const may = color && environment.variable('NO_COLOR') === undefined && environment.variable('TERM') !== 'dumb';
    const forced = may && (environment.variable('FORCE_COLOR') ?? '0') !== '0';
    this.coloured = { out: forced || (may && out.isTTY === true), err: forced || (may && err.isTTY === true) };
  }

  /** From now on all output passes through `filter`, which redacts the secrets of an account. */
  redactWith(filter: (text: string) => string): void {
    this.filter = filter;
  }

  /** The result of a command: `document` with `--json`, else the text of `human`, unless it is empty. */
  answer(document: object, human: () => string): void {
    if (this.json) return void this.out.write(this.filter(`${escapeUnprintable(JSON.stringify(document))}\n`));
    const text = human();
    if (text !== '') this.print(text);
  }

  /** The same of a document, or of lines, too long to be in memory: as pieces of its JSON, or of the text. */
  async answerInPieces(document: AsyncIterable<string>, human?: AsyncIterable<string>): Promise<void> {
    if (!this.json && human === undefined) return;
    if (!this.json) this.endProgress();
    let text = '';
    for await (const piece of this.json ? document : (human ?? document)) {
      // Its reader has gone (`runbook … | head`).
      if (this.out.writable === false) return;
      text += this.filter(this.json ? escapeUnprintable(piece) : piece);
      if (text.length < WRITTEN_AT_ONCE) continue;
      await this.writeWhole(text);
      text = '';
    }
    await this.writeWhole(this.json ? `${text}\n` : text);
  }

  /** Lines on standard output; nothing with `--json`. */
  print(text: string): void {
    if (this.json) return;
    this.endProgress();
    this.out.write(this.filter(text.endsWith('\n') ? text : `${text}\n`));
    this.redraw?.();
  }

  /** Information, on standard error; silenced by `--quiet`. */
  note(text: string): void {
    if (!this.quiet) this.write(text);
  }

  /** An error, on standard error; never silenced. */
  complain(text: string): void {
    this.write(`${this.style('bad', 'error:', 'err')} ${text}`);
  }

  /** One line with the progress of a long command; only on a terminal. */
  progress(text: string): void {
    const { isTTY, columns, writableLength = 0 } = this.err;
    // Lines that replace one another are not kept for a terminal that takes none.
    if (this.quiet || isTTY !== true || writableLength > 0 || this.redraw !== undefined) return;
    // Some terminals say that they have no columns.
    this.err.write(`\r\u001b[2K${makePrintable(this.filter(text), (columns || 80) - 1)}`);
    this.progressShown = true;
  }

  endProgress(): void {
    if (this.progressShown || this.redraw !== undefined) this.err.write('\r\u001b[2K');
    this.progressShown = false;
  }

  holdForInput(redraw: () => void): () => void {
    this.endProgress();
    this.redraw = redraw;
    return () => {
      this.redraw = undefined;
    };
  }

  /** Diagnostics in reading order, each with its line and a mark under the position. `--quiet` silences warnings. */
  diagnostics(list: readonly Diagnostic[]): void {
    for (const diagnostic of sortForReading(list))
      if (diagnostic.severity === 'error' || !this.quiet) this.write(this.printDiagnostic(diagnostic));
  }

  style(style: Style, text: string, stream: 'out' | 'err' = 'out'): string {
    return this.coloured[stream] ? styleText(STYLES[style], text, { validateStream: false }) : text;
  }

  /** Resolves when the output has taken the text. */
  private writeWhole(text: string): Promise<void> {
    return new Promise((resolve) => {
      if (this.out.write(text, () => resolve()) !== false) resolve();
    });
  }

  private write(text: string): void {
    this.endProgress();
    this.err.write(this.filter(`${text}\n`));
    this.redraw?.();
  }

  private printDiagnostic(diagnostic: Diagnostic): string {
    const { file, line, column, severity, code, message, hint } = placeDiagnostic(diagnostic);
    const tone = severity === 'error' ? 'bad' : 'warning';
    const where = this.style('place', `${makePrintable(file, 300)}:${line}:${column}`, 'err');
    const lines = [
      `${where} ${this.style(tone, severity, 'err')} ${makePrintable(message, 1000)} ${this.style('faint', `[${code}]`, 'err')}`,
    ];
    lines.push(...formatExcerpt(diagnostic).map((text, index) => (index === 1 ? this.style(tone, text, 'err') : text)));
    if (hint !== undefined) lines.push(`    ${this.style('faint', 'hint:', 'err')} ${makePrintable(hint, 1000)}`);
    return lines.join('\n');
  }
}

/** Shown part of a long line, characters. */
const EXCERPT_WIDTH = 100;

/** The line of the error and a mark under the span; `…` where the line continues. */
export function formatExcerpt(diagnostic: Diagnostic): readonly string[] {
  const { line, column, endLine, endColumn } = placeDiagnostic(diagnostic);
  const content = findLine(diagnostic.source.text, diagnostic.span.start);
  if (content.trim() === '') return [];
  const from = column > EXCERPT_WIDTH - 20 ? column - 21 : 0;
  const end = from + EXCERPT_WIDTH;
  const until = endLine === line ? Math.max(endColumn - 1, column) : content.length;
  // A tab has no fixed width: shown as a blank, it cannot shift the mark.
  const shown = (start: number, stop: number) =>
    escapeUnprintable(content.slice(start, Math.min(stop, end)).replaceAll('\t', ' '));
  const [before, after] = [from > 0 ? '…' : '', content.length > end ? '…' : ''];
  const gutter = `${String(line).padStart(4)} | `;
  const indent = ' '.repeat(before.length + shown(from, column - 1).length);
  const mark = '^'.repeat(Math.max(1, shown(column - 1, until).length));
  return [gutter + before + shown(from, content.length) + after, `${' '.repeat(gutter.length - 2)}| ${indent}${mark}`];
}

function findLine(text: string, offset: number): string {
  const start = offset === 0 ? 0 : text.lastIndexOf('\n', offset - 1) + 1;
  const end = text.indexOf('\n', offset);
  return text.slice(start, end === -1 ? text.length : end).replace(/\r$/, '');
}
