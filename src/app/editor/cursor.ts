/**
 * Finds where in the tree of a file a cursor is, also in a text that is being typed: what the tree lacks there, such as a colon or
 * a value, is put in for the time of the question.
 */
import { type Node, readDocument, type ScalarNode } from '../../runbook/document/document.ts';

export interface Cursor {
  /** The text that was read: with the placeholder, where one was needed. */
  readonly text: string;
  /** Keys and positions from the root to what the cursor is in; the last is the key itself where `at` is `key`. */
  readonly path: readonly (string | number)[];
  readonly at: 'key' | 'value';
  /** The maps around the cursor, the innermost last. */
  readonly parents: readonly Node[];
  /** The value at the cursor; undefined at a key. */
  readonly value: ScalarNode | undefined;
  /** Whether the key has a colon already. */
  readonly complete: boolean;
  readonly root: Node;
}

/** Stands for what is not written yet; no name of the language has it. */
const PLACEHOLDER = 'zz';

export function findCursor(text: string, offset: number): Cursor | undefined {
  for (const candidate of listCandidates(text, offset)) {
    const { root } = readDocument({ file: '', text: candidate.text });
    const found = root === undefined ? undefined : locate(root, offset);
    if (root !== undefined && found !== undefined)
      return { text: candidate.text, root, complete: candidate.complete, ...found };
  }
  return undefined;
}

interface Candidate {
  readonly text: string;
  readonly complete: boolean;
}

function listCandidates(text: string, offset: number): readonly Candidate[] {
  const start = text.lastIndexOf('\n', offset - 1) + 1;
  const stop = text.indexOf('\n', offset);
  const end = stop === -1 ? text.length : stop;
  const [before, after] = [text.slice(start, offset), text.slice(offset, end).replace(/\r$/, '')];
  const put = (inserted: string): string => text.slice(0, offset) + inserted + text.slice(offset);
  const found: Candidate[] = [];
  const add = (inserted: string, complete = false): void => {
    const made = inserted === '' ? text : put(inserted);
    // A brace that is not closed yet is closed at the end of the line.
    const line = made.slice(start, end + inserted.length);
    const open = closersOf(line);
    const closed =
      open === '' ? undefined : made.slice(0, end + inserted.length) + open + made.slice(end + inserted.length);
    for (const each of [made, ...(closed === undefined ? [] : [closed])]) found.push({ text: each, complete });
  };
  const empty = /^\s*(?:[,}\]#].*)?$/.test(after);
  if (/^\s*(?:-\s+)*$/.test(before) && empty) add(`${PLACEHOLDER}: 0`);
  else if (/[{,]\s*$/.test(before) && empty) {
    add(`${PLACEHOLDER}: 0`);
    add(PLACEHOLDER);
  } else if (/(?::|-|\[)\s+$/.test(before) && empty) add(PLACEHOLDER, true);
  else if (/:$/.test(before) && empty) add(` ${PLACEHOLDER}`, true);
  else if (/^\s*(?:-\s+)*["']?\w+["']?$/.test(before) && !/^\w*["']?\s*:/.test(after)) add(': 0');
  else if (/[{,]\s*\w+$/.test(before) && empty) add(': 0');
  add('', true);
  add(PLACEHOLDER, true);
  return found;
}

/** The brackets that close what a line leaves open, outside of its quotes. */
function closersOf(line: string): string {
  const open: string[] = [];
  let quote = '';
  for (const character of line) {
    if (quote !== '') quote = character === quote ? '' : quote;
    else if (character === '"' || character === "'") quote = character;
    else if (character === '{') open.push('}');
    else if (character === '[') open.push(']');
    else if (character === open.at(-1)) open.pop();
  }
  return quote + open.reverse().join('');
}

type Found = Pick<Cursor, 'path' | 'at' | 'parents' | 'value'>;

function locate(root: Node, offset: number): Found | undefined {
  const path: (string | number)[] = [];
  const parents: Node[] = [];
  let node = root;
  for (;;) {
    if (node.kind === 'scalar') return { path, at: 'value', parents, value: node };
    parents.push(node);
    if (node.kind === 'list') {
      const index = node.items.findIndex(({ span }) => span.start <= offset && offset <= span.end);
      const item = node.items[index];
      if (item === undefined) return undefined;
      path.push(index);
      node = item;
      continue;
    }
    const entry = node.entries.find(({ span }) => span.start <= offset && offset <= span.end);
    if (entry === undefined) return undefined;
    path.push(entry.key);
    if (offset <= entry.keySpan.end) return { path, at: 'key', parents, value: undefined };
    node = entry.value;
  }
}
