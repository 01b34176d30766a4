/**
 * Rules for what the texts of the project name: a page that is cited exists and has the heading or item cited with it, a
 * link leads somewhere, a path exists and so does a test by its title. CONTRIBUTING.md, Citations, says how to write them.
 */
import { posix } from 'node:path';

/** Texts by their path from the root. */
export type Texts = Readonly<Record<string, string>>;
type Exists = (path: string) => boolean;

/** Where a page that is cited by its bare name lies: the first folder that has it. */
const FOLDERS = ['docs/design', 'docs', 'docs/reference', '.'] as const;

/** The page that a text at `from` means by `name`; undefined when there is none. */
export function pageOf(name: string, from: string, pages: Texts): string | undefined {
  const places = name.includes('/')
    ? [posix.join(posix.dirname(from), name), name.replace(/^(?:\.\.\/)+/, '')]
    : FOLDERS.map((folder) => posix.join(folder, name));
  return places.find((place) => Object.hasOwn(pages, place));
}

const CITED = /(?<![\w/.-])((?:[\w.-]+\/)*[\w-]+\.md)\b(?:#([\w-]+))?(?=(?:, (.{1,160}))?)/g;

/** A heading begins with a capital, an item is a word and a number; what else follows a page's name is prose. */
const CITES = /^["“'`]?(?:\p{Lu}|[a-z]+ \d)/u;

/** Pages that do not exist, and headings and items that their page does not have. */
export function brokenCitations(texts: Texts, pages: Texts): string[] {
  const knownTargets = new Map<string, ReadonlySet<string>>();
  const targetsIn = (page: string) => {
    const known = knownTargets.get(page) ?? targets(pages[page] ?? '');
    knownTargets.set(page, known);
    return known;
  };
  return Object.entries(texts).flatMap(([path, text]) =>
    [...asOneLine(path, text).matchAll(CITED)].flatMap(([, name = '', anchor, section]) => {
      const page = pageOf(name, path, pages);
      if (page === undefined) return [`${path}: ${name} does not exist`];
      if (anchor !== undefined && !anchors(pages[page] ?? '').has(anchor))
        return [`${path}: ${name} has no #${anchor}`];
      if (section === undefined || !CITES.test(section) || isTarget(section, targetsIn(page))) return [];
      return [`${path}: ${page} has no "${section.slice(0, 40)}"`];
    }),
  );
}

/** Comments and paragraphs without their line breaks: a citation may go over two lines. Links are left to `brokenLinks`. */
function asOneLine(path: string, text: string): string {
  return path.endsWith('.md')
    ? prose(text)
        .replaceAll(/\[[^\]]*\]\([^)]*\)/g, '[]')
        .replaceAll(/(?<!\n)\n(?!\n)/g, ' ')
    : text.replaceAll(/\n[ \t]*(?:\*(?!\/)|\/\/|#)[ \t]?/g, ' ');
}

/** Whether a text that follows a page's name begins with one of its targets, and with nothing more than that. */
function isTarget(section: string, known: ReadonlySet<string>): boolean {
  const found = section.replace(/^["“'`]/, '').toLowerCase();
  return [...known].some(
    (target) => found.startsWith(target) && /^(?:\s*[^\w\s]|\s*$|\s(?:and|or|says)\b)/.test(found.slice(target.length)),
  );
}

/**
 * What can be cited of a page, in lower case: a heading (`states`), an item of the numbered list below one (`decision 9`, or
 * `decisions 9`), a row of a numbered table (`row 12`), and a row that has a name (`i7`).
 */
export function targets(page: string): ReadonlySet<string> {
  const found = new Set<string>();
  let heading = '';
  for (const line of prose(page).split('\n')) {
    const [, title] = /^#{1,6} (.+)$/.exec(line) ?? [];
    if (title !== undefined) {
      heading = title.replaceAll('`', '').trim().toLowerCase();
      found.add(heading).add(heading.replace(/:.*$/, ''));
    }
    const [, item] = /^(\d+)\. /.exec(line) ?? [];
    if (item !== undefined) found.add(`${heading} ${item}`).add(`${heading.replace(/s$/, '')} ${item}`);
    const [, cell] = /^\| *(\d+|[A-Z]{1,3}\d+) *\|/.exec(line) ?? [];
    if (cell !== undefined) found.add(/^\d/.test(cell) ? `row ${cell}` : cell.toLowerCase());
  }
  return found;
}

/** Links between pages whose file or heading does not exist. */
export function brokenLinks(pages: Texts, exists: Exists): string[] {
  return Object.entries(pages).flatMap(([path, text]) =>
    [...prose(text).matchAll(/\]\(([^)\s]+)\)/g)]
      .map(([, target = '']) => target)
      .filter((target) => !/^https?:/.test(target))
      .filter((target) => {
        const [file = '', anchor] = target.split('#');
        const place = file === '' ? path : posix.join(posix.dirname(path), file);
        if (file !== '' && !exists(place)) return true;
        return anchor !== undefined && !anchors(pages[place] ?? '').has(anchor);
      })
      .map((target) => `${path}: ${target} leads nowhere`),
  );
}

/** Anchors of headings, as GitHub makes them: the second of one name ends in -1. */
export function anchors(page: string): ReadonlySet<string> {
  const found = new Set<string>();
  for (const [, heading = ''] of prose(page).matchAll(/^#{1,6} (.+)$/gm)) {
    const plain = heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-');
    let anchor = plain;
    for (let count = 1; found.has(anchor); count += 1) anchor = `${plain}-${count}`;
    found.add(anchor);
  }
  return found;
}

const PATH = /`((?:src|test|bin|bench|docs|schemas|runbooks|deploy|scripts|\.ci)\/[\w./@-]*)`(?:: ([^|<\n\\]+))?/g;

/** Paths of the project in backticks that do not exist, and tests whose title, behind a colon, is not in their file. */
export function missingPaths(pages: Texts, exists: Exists, textOf: (path: string) => string | undefined): string[] {
  return Object.entries(pages).flatMap(([page, text]) =>
    [...prose(text).matchAll(PATH)].flatMap(([, path = '', title]) => {
      if (!exists(path)) return [`${page}: ${path} does not exist`];
      if (title === undefined || !/\.test\.ts$/.test(path) || textOf(path)?.includes(title.trim())) return [];
      return [`${page}: ${path} has no test "${title.trim()}"`];
    }),
  );
}

/** A page without its fences: output and examples name what need not exist. */
function prose(page: string): string {
  return page.replaceAll(/^```[a-z]*\n[\s\S]*?^```$/gm, '');
}
