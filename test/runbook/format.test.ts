import { readdirSync, readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { checkRunbook } from '../../src/runbook/check.ts';
import { formatDocument, SHORT_LINE } from '../../src/runbook/document/format.ts';
import { drawRunbook } from '../simulation/drawn-runbook.ts';

const ROOT = new URL('../../', import.meta.url);
const FOLDERS = ['runbooks/', 'docs/examples/', 'runbooks/fixtures/'];
const SHIPPED = FOLDERS.flatMap((folder) =>
  readdirSync(new URL(folder, ROOT))
    .filter((name) => /\.yaml$/.test(name) && (folder !== 'runbooks/fixtures/' || name.endsWith('.sim.yaml')))
    .map((name) => `${folder}${name}`),
);

function format(text: string): string {
  const done = formatDocument({ file: 'a.yaml', text });
  if (!('text' in done))
    throw new Error(JSON.stringify('refused' in done ? done : done.diagnostics.map(({ message }) => message)));
  return done.text;
}

/** What a reader of the text gets, with its codes where it is wrong; hashes and places differ. */
function meaning(text: string): unknown {
  const { runbook, diagnostics } = checkRunbook({ file: 'a.yaml', text }, () => undefined);
  const shown = JSON.stringify(runbook, (key, value) =>
    ['span', 'source', 'sha256', 'calls'].includes(key) ? undefined : value,
  );
  return [shown, diagnostics.map(({ code, message }) => [code, message.replaceAll(/line [\d, …]+/g, '')]).sort()];
}

const comments = (text: string) => (text.match(/(?:^|\s)#.*$/gm) ?? []).map((each) => each.trim()).sort();

function expectSound(text: string): void {
  const done = format(text);
  expect(format(done)).toBe(done);
  expect(comments(done)).toEqual(comments(text));
  expect(meaning(done)).toEqual(meaning(text));
  for (const line of done.split('\n').filter((each) => /[{[].*[}\]]$/.test(each) && !/["'#]/.test(each)))
    if (/: \{/.test(line)) expect(line.length).toBeLessThanOrEqual(SHORT_LINE + 1);
}

/** Drawn runbooks, with comments and blank lines put between and behind their lines. */
function commentAnywhere(numRuns: number, seed: number): void {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 1_000_000 }), fc.infiniteStream(fc.nat(9)), (seed, draws) => {
      const { sources } = drawRunbook(seed);
      for (const source of sources) {
        const lines = source.text.split('\n').flatMap((line, index) => {
          const draw = draws.next().value ?? 9;
          const indent = /^[ ]*/.exec(line)?.[0] ?? '';
          if (draw === 0 && line !== '') return [`${indent}# before ${index}`, line];
          if (draw === 1 && !/["'|>]/.test(line) && line.trim() !== '') return [`${line}   # behind ${index}`];
          if (draw === 2) return ['', '', line];
          return [line];
        });
        expectSound(lines.join('\n'));
      }
    }),
    { numRuns, seed },
  );
}

describe('a formatted file', () => {
  it.each(SHIPPED)('%s says the same, keeps its comments, and stays as it is', (name) =>
    expectSound(readFileSync(new URL(name, ROOT), 'utf8')),
  );

  it('says the same for any runbook, with comments between any of its lines', { tags: ['long'] }, () =>
    commentAnywhere(25, 1),
  );

  it('says the same for many runbooks', { tags: ['long'], timeout: 600_000 }, () => commentAnywhere(150, Date.now()));

  it.each([
    ['a short map stays in braces', 'a:   { b: 1,c: 2 }\n', 'a: {b: 1, c: 2}\n'],
    ['a map over several lines that fits goes on one', 'a: {\n  b: 1,\n  c: 2\n}\n', 'a: {b: 1, c: 2}\n'],
    [
      'a long map becomes a block',
      `a: {b: ${'x'.repeat(60)}, c: ${'y'.repeat(60)}}\n`,
      `a:\n  b: ${'x'.repeat(60)}\n  c: ${'y'.repeat(60)}\n`,
    ],
    [
      'the inner map of a long one stays in braces',
      `- a: {b: {c: 1}, d: ${'y'.repeat(115)}}\n`,
      `- a:\n    b: {c: 1}\n    d: ${'y'.repeat(115)}\n`,
    ],
    ['lists in maps are indented', 'steps:\n- wait: 1s\n- wait:   2s\n', 'steps:\n  - wait: 1s\n  - wait: 2s\n'],
    ['digits are kept', 'a: [0.10, "1.0", 007x]\n', 'a: [0.10, "1.0", 007x]\n'],
    ['quotes are kept', `a: "x ? 1 : 2"\nb: 'it''s'\n`, `a: "x ? 1 : 2"\nb: 'it''s'\n`],
    ['blank lines become one', 'a: 1\n\n\n\nb: 2\n', 'a: 1\n\nb: 2\n'],
    ['line ends of Windows are kept', 'a:   1\r\nb: 2\r\n', 'a: 1\r\nb: 2\r\n'],
    ['a byte order mark is kept', '\ufeffa:   1\n', '\ufeffa: 1\n'],
    ['a line break at the end is added', 'a: 1', 'a: 1\n'],
    [
      'a comment at the top and one at the end are kept',
      '# yaml-language-server: $schema=x\na: 1\n# end\n',
      '# yaml-language-server: $schema=x\na: 1\n\n# end\n',
    ],
    [
      'a text over several lines is kept',
      'a: |\n  one\n    two\n\n  three\nb: 1\n',
      'a: |\n  one\n    two\n\n  three\nb: 1\n',
    ],
  ])('%s', (_name, text, expected) => expect(format(text)).toBe(expected));

  it.each([
    'a: {b: 1, # first\n  c: 2}\n',
    'a: [1, # one\n  2]\n',
    'a: # why\n  b: 1\n',
    '- # why\n  a: 1\n',
    'a:\n  # only a comment\n  b: 1\n  # last\n\n# far\nc: 2\n',
  ])('keeps the comment in %j, or says that it cannot', (text) => {
    const done = formatDocument({ file: 'a.yaml', text });
    if (!('text' in done)) return expect('refused' in done).toBe(true);
    expect(comments(done.text)).toEqual(comments(text));
    expect(format(done.text)).toBe(done.text);
  });

  it.each(['a: [1', '', 'a: &x 1\n', '--- \na: 1\n---\nb: 1\n'])('of %j does not exist, but its diagnostics', (text) =>
    expect(formatDocument({ file: 'a.yaml', text })).toMatchObject({ diagnostics: [{ severity: 'error' }] }),
  );
});
