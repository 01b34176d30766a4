import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { placeDiagnostic, type SourceText } from '../../src/base/diagnostic.ts';
import { checkRunbook } from '../../src/runbook/check.ts';
import { CODES, renderErrorReference } from '../../src/runbook/codes/codes.ts';
import { MEANING_CODES } from '../../src/runbook/codes/meaning.ts';
import { SHAPE_CODES } from '../../src/runbook/codes/shape.ts';

/** One behaviour per file: a runbook, `---`, and a line `LINE:COLUMN CODE` for each diagnostic, in reading order. */
const FOLDER = new URL('../golden/runbooks/', import.meta.url);
const GOLDENS = readdirSync(FOLDER).filter((name) => /^(errors|warns|accepts)-.*\.yml$/.test(name));

function read(name: string): string {
  return readFileSync(new URL(name, FOLDER), 'utf8');
}

function golden(name: string): { readonly source: SourceText; readonly expected: readonly string[] } {
  const [text = '', rest = ''] = read(name).split(/^---\n/m);
  return { source: { file: name, text }, expected: rest.split('\n').filter((line) => line !== '') };
}

/** Codes about something that is missing, or about several steps: their messages do not quote the line. */
const ABOUT_THE_WHOLE: ReadonlySet<string> = new Set([
  'else-not-last',
  'leaves-violated',
  'no-verb',
  'protect-before-fill',
  'protect-under-deadman',
  'stop-reversed',
  'stop-room',
  'token-rate',
  'token-rate-high',
  'unreachable-step',
  'yaml-hidden-character',
  'yaml-null',
  'yaml-syntax',
] satisfies (keyof typeof CODES)[]);

const CALLED = new Map(
  readdirSync(new URL('called/', FOLDER)).map((file) => [
    file.replace('.yaml', ''),
    { file, text: read(`called/${file}`) },
  ]),
);

function check(source: SourceText) {
  return checkRunbook(source, (name) => CALLED.get(name));
}

describe('a runbook is checked', () => {
  it.each(GOLDENS)('%s', (name) => {
    const { source, expected } = golden(name);
    const { runbook, diagnostics } = check(source);
    expect(diagnostics.map(placeDiagnostic).map(({ line, column, code }) => `${line}:${column} ${code}`)).toEqual(
      expected,
    );
    expect(runbook === undefined).toBe(name.startsWith('errors-'));
  });

  it('compares the room of a stop with the setting of the profile', () => {
    const { source } = golden('warns-stop-room.yml');
    const count = (stopRoom: string) =>
      checkRunbook(source, () => undefined, { stopRoom }).diagnostics.filter(({ code }) => code === 'stop-room').length;
    expect(['0.006', '0.0045', '0.003'].map(count)).toEqual([2, 1, 0]);
  });

  it('gives every diagnostic the severity of its row, a hint, and the file it is about', () => {
    for (const name of GOLDENS) {
      const { source } = golden(name);
      for (const diagnostic of check(source).diagnostics) {
        expect(CODES).toHaveProperty(diagnostic.code);
        expect(diagnostic.severity).toBe(CODES[diagnostic.code as keyof typeof CODES].severity);
        expect(diagnostic.hint?.length).toBeGreaterThan(0);
        expect(diagnostic.source.file).toBe(source.file);
      }
    }
  });

  it('names in every message what it is about: a word or value of the line, or of the line before', () => {
    for (const name of GOLDENS) {
      const { source } = golden(name);
      const lines = source.text.split('\n');
      for (const { code, line, message } of check(source).diagnostics.map(placeDiagnostic)) {
        const words =
          lines
            .slice(Math.max(0, line - 2), line)
            .join(' ')
            .match(/\w+/g) ?? [];
        const found = words.find((word) => new RegExp(`\\b${word}\\b`).test(message));
        if (!ABOUT_THE_WHOLE.has(code)) expect([name, message, found]).not.toContain(undefined);
      }
    }
  });

  it('has a golden for every code of the checks', () => {
    const shown = new Set(GOLDENS.flatMap((name) => golden(name).expected.map((line) => line.split(' ')[1])));
    // The walk reports every violation before the schema, so no golden can have this code.
    expect(
      Object.keys({ ...SHAPE_CODES, ...MEANING_CODES }).filter(
        (code) => !shown.has(code) && code !== 'schema-violation',
      ),
    ).toEqual([]);
  });

  it('describes every code in the reference: its meaning and what to do', () => {
    const reference = renderErrorReference();
    for (const [code, row] of Object.entries(CODES))
      expect(reference).toContain(`### ${code}\n\n${row.summary.charAt(0).toUpperCase()}`);
  });
});
