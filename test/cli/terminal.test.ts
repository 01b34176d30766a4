import { describe, expect, it } from 'vitest';
import { environmentOf } from '../../src/app/environment.ts';
import type { Diagnostic } from '../../src/base/diagnostic.ts';
import { formatExcerpt, Terminal } from '../../src/cli/terminal/terminal.ts';

function diagnostic(text: string, start: number, end: number): Diagnostic {
  return { severity: 'error', code: 'c', message: 'm', source: { file: 'f.yaml', text }, span: { start, end } };
}

function terminal(
  options: { json?: boolean; quiet?: boolean; tty?: boolean; columns?: number; waiting?: number } = {},
) {
  const written = { out: '', err: '' };
  const stream = (name: 'out' | 'err') => ({
    write: (text: string) => {
      written[name] += text;
    },
    isTTY: options.tty === true,
    columns: options.columns ?? 20,
    writableLength: options.waiting ?? 0,
  });
  const made = new Terminal({
    out: stream('out'),
    err: stream('err'),
    json: options.json === true,
    quiet: options.quiet === true,
    color: true,
    environment: environmentOf({}),
  });
  return { made, written };
}

describe('an excerpt', () => {
  it('marks the span below its line', () => {
    expect(formatExcerpt(diagnostic('a\n  bcd: e\n', 4, 7))).toEqual(['   2 |   bcd: e', '     |   ^^^']);
  });
  it('marks at least one character, and to the end of the line where the span goes on', () => {
    expect(formatExcerpt(diagnostic('abc', 3, 3))).toEqual(['   1 | abc', '     |    ^']);
    expect(formatExcerpt(diagnostic('abc\r\ndef', 1, 7))).toEqual(['   1 | abc', '     |  ^^']);
  });
  it('keeps the mark in place after tabs and hostile characters', () => {
    expect(formatExcerpt(diagnostic('\t\u001b[2Jx: y', 5, 6))).toEqual([
      '   1 |  \\u001b[2Jx: y',
      '     |           ^',
    ]);
  });
  it('shows the part of a long line around the mark', () => {
    const [line = '', mark = ''] = formatExcerpt(diagnostic(`${'a'.repeat(200)}bad${'c'.repeat(200)}`, 200, 203));
    expect(line).toMatch(/^ {3}1 \| …a{20}badc{77}…$/);
    expect(line.slice(mark.indexOf('^'), mark.lastIndexOf('^') + 1)).toBe('bad');
  });
  it('shows nothing for an empty line', () => expect(formatExcerpt(diagnostic('a\n\nb', 2, 2))).toEqual([]));
});

describe('a terminal', () => {
  it('prints only the document on standard output with --json', () => {
    const { made, written } = terminal({ json: true });
    made.print('words');
    made.note('a note');
    made.answer({ a: '\u202e' }, () => 'words');
    expect(written).toEqual({ out: '{"a":"\\u202e"}\n', err: 'a note\n' });
  });

  it('prints only errors with --quiet', () => {
    const { made, written } = terminal({ quiet: true, tty: true });
    made.progress('half');
    made.note('a note');
    made.complain('broken');
    expect(written.err).toBe('\u001b[31merror:\u001b[39m broken\n');
  });

  it('filters all output', () => {
    const { made, written } = terminal({ tty: true });
    made.redactWith((text) => text.replaceAll('secret', '…'));
    made.print('secret');
    made.note('secret');
    made.complain('secret');
    made.progress('secret');
    made.answer({}, () => 'secret');
    expect(written.out + written.err).not.toContain('secret');
    expect(written.out).toBe('…\n…\n');
  });

  it('shows progress only on a terminal, in one line that is removed afterwards', () => {
    const shown = terminal({ tty: true });
    shown.made.progress('a line longer than the terminal');
    shown.made.print('done');
    expect(shown.written).toEqual({ out: 'done\n', err: '\r\u001b[2Ka line longer than …\r\u001b[2K' });
    const full = terminal({ tty: true, waiting: 1 });
    full.made.progress('half');
    expect(full.written.err).toBe('');
    const odd = terminal({ tty: true, columns: 0 });
    odd.made.progress('half');
    expect(odd.written.err).toBe('\r\u001b[2Khalf');
    const piped = terminal();
    piped.made.progress('half');
    expect(piped.written.err).toBe('');
  });
});
