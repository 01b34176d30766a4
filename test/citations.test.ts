import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { ASSUMPTIONS } from '../src/venue/assumptions.ts';
import { CATALOGUE } from '../src/venue/catalogue.ts';
import { anchors, brokenCitations, brokenLinks, missingPaths, pageOf, type Texts, targets } from './citation-rules.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const CITING = ['src', 'test', 'bench', 'bin', 'scripts', 'schemas', 'runbooks', 'deploy', 'docs', '.ci', '.'];
/** They name what they forbid. */
const RULES = /^test\/(?:architecture|citation)/;

const exists = (path: string) => existsSync(`${ROOT}${path}`);
const textOf = (path: string) =>
  statSync(`${ROOT}${path}`).isFile() ? readFileSync(`${ROOT}${path}`, 'utf8') : undefined;

function texts(): Texts {
  const paths = CITING.flatMap((folder) =>
    readdirSync(`${ROOT}${folder}`, { recursive: folder !== '.', encoding: 'utf8' }).map((name) =>
      folder === '.' ? name : `${folder}/${name.replaceAll('\\', '/')}`,
    ),
  );
  const files = paths.filter(
    (path) =>
      /\.(?:ts|js|md|ya?ml|json|sh|service)$|^\.ci\/run$|Dockerfile$/.test(path) &&
      !/node_modules\/|^package-lock|^bench\/latest/.test(path),
  );
  return Object.fromEntries(files.map((path) => [path, readFileSync(`${ROOT}${path}`, 'utf8')]));
}

const all = texts();
const pages = Object.fromEntries(Object.entries(all).filter(([path]) => path.endsWith('.md')));

describe('the texts of the project', () => {
  it('cite pages, headings and items that exist', () => {
    const citing = Object.fromEntries(Object.entries(all).filter(([path]) => !RULES.test(path)));
    expect(brokenCitations(citing, pages)).toEqual([]);
  });

  it('link to what exists', () => expect(brokenLinks(pages, exists)).toEqual([]));

  it('name files, folders and tests that exist', () => expect(missingPaths(pages, exists, textOf)).toEqual([]));

  it('take endpoints and assumptions from sections that the contract has', () => {
    const known = targets(pages['docs/design/venue-api.md'] ?? '');
    const cited = [...Object.values(CATALOGUE), ...Object.values(ASSUMPTIONS)].map(({ section }) => section);
    expect(cited.length).toBeGreaterThan(30);
    expect(cited.filter((section) => !known.has(section.toLowerCase()))).toEqual([]);
  });
});

describe('each rule can fail', () => {
  const PAGES = {
    'docs/design/orders.md': `# Orders

## States

| # | state |
| --- | --- |
| 1 | draft |
| I7 | one |

## Decisions

0. Zero.
9. Nine.

## Exit 4: halted
`,
    'docs/orders.md': '# Guide\n\n## First steps\n\n## First steps\n',
    'README.md': '# Readme\n\n```sh\n# no heading\n```\n',
  };
  const broken = (text: string, path = 'src/a/b.ts') => brokenCitations({ [path]: text }, PAGES);

  it('a page is found in docs/design, docs, docs/reference or the root, else by its path', () => {
    expect(pageOf('orders.md', 'src/a/b.ts', PAGES)).toBe('docs/design/orders.md');
    expect(pageOf('docs/orders.md', 'src/a/b.ts', PAGES)).toBe('docs/orders.md');
    expect(pageOf('README.md', 'src/a/b.ts', PAGES)).toBe('README.md');
    expect(pageOf('../../docs/orders.md', 'test/a/b.ts', PAGES)).toBe('docs/orders.md');
    expect(pageOf('gone.md', 'src/a/b.ts', PAGES)).toBeUndefined();
  });

  it.each([
    '/** One (orders.md, States). */',
    "'look at docs/orders.md, First steps, first'",
    '// orders.md, decision 9: so it is',
    '// orders.md, Decisions 9',
    '/** Over two\n   * lines (orders.md, Exit\n   * 4). */',
    '# "orders.md, row 1"',
    '// (orders.md, I7)',
    '// orders.md, "States" says',
    '// orders.md; README.md',
    '// see https://x.org/a/gone.md',
    '// the lines of orders.md, and what follows',
  ])('a citation that holds: %s', (text) => expect(broken(text)).toEqual([]));

  it.each([
    ['// gone.md', 'src/a/b.ts: gone.md does not exist'],
    ['// docs/gone.md, States', 'src/a/b.ts: docs/gone.md does not exist'],
    ['/** (orders.md, Stages) */', 'src/a/b.ts: docs/design/orders.md has no "Stages) */"'],
    ['// (orders.md, decision 8)', 'src/a/b.ts: docs/design/orders.md has no "decision 8)"'],
    ['// (orders.md, decision 90)', 'src/a/b.ts: docs/design/orders.md has no "decision 90)"'],
    ['// (orders.md, row 2)', 'src/a/b.ts: docs/design/orders.md has no "row 2)"'],
    ['// (orders.md, I8)', 'src/a/b.ts: docs/design/orders.md has no "I8)"'],
    ['// (orders.md, States of mind)', 'src/a/b.ts: docs/design/orders.md has no "States of mind)"'],
    ['// README.md#no-heading', 'src/a/b.ts: README.md has no #no-heading'],
    ['// README.md, No heading', 'src/a/b.ts: README.md has no "No heading"'],
  ])('a citation that does not: %s', (text, problem) => expect(broken(text)).toEqual([problem]));

  it('citations in pages, but for fences and the targets of links', () => {
    expect(broken('```\ngone.md\n```\n[x](gone.md) and\n`orders.md`\n', 'docs/x.md')).toEqual([]);
    expect(broken('A line that ends in orders.md,\nStages.', 'docs/x.md')).toHaveLength(1);
  });

  it('links', () => {
    const links = (text: string) =>
      brokenLinks({ ...PAGES, 'docs/x.md': text }, (path) => path in PAGES || path === 'docs');
    expect(links('[a](orders.md#first-steps-1) [b](../README.md) [c](https://x.org) [d](#own)\n\n## Own\n')).toEqual(
      [],
    );
    expect(links('[a](gone.md)')).toEqual(['docs/x.md: gone.md leads nowhere']);
    expect(links('[a](orders.md#last-steps)')).toEqual(['docs/x.md: orders.md#last-steps leads nowhere']);
    expect(links('[a](#nothing)')).toEqual(['docs/x.md: #nothing leads nowhere']);
  });

  it('anchors', () => {
    expect([...anchors('# One `two`: three\n## One\n## One\n```sh\n# Four\n```\n')]).toEqual([
      'one-two-three',
      'one',
      'one-1',
    ]);
  });

  it('paths and titles of tests', () => {
    const missing = (text: string) =>
      missingPaths(
        { 'docs/x.md': text },
        (path) => path === 'test/a.test.ts',
        () => "it('is so', …",
      );
    expect(missing('| `test/a.test.ts`: is so | `npm test` |')).toEqual([]);
    expect(missing('`src/gone.ts`')).toEqual(['docs/x.md: src/gone.ts does not exist']);
    expect(missing('| `test/a.test.ts`: is not so<br> |')).toEqual([
      'docs/x.md: test/a.test.ts has no test "is not so"',
    ]);
  });
});
