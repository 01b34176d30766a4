/**
 * Removes from a test file what its schema refuses, so that the rest can be read as well: one misspelt key must not hide every
 * other mistake of the file.
 */
import { findSchemaIssues, type SchemaIssue } from '../../../base/schema.ts';
import { type MapEntry, type Node, plainData } from '../../../runbook/document/document.ts';
import { makeTestFileSchema, TEST_FILE_SCHEMA_NAME } from './schema.ts';

/** Each round removes at least one value; a file with more layers of mistakes has enough to correct. */
const ROUNDS = 8;

/** The tree without what is refused; undefined where nothing that the schema accepts is left. */
export function pruneRefused(root: Node): Node | undefined {
  let left: Node | undefined = root;
  for (let round = 0; round < ROUNDS && left !== undefined; round += 1) {
    const issues = findSchemaIssues(TEST_FILE_SCHEMA_NAME, makeTestFileSchema, plainData(left));
    if (issues.length === 0) return left;
    for (const path of issues.map(toRefusedPath).sort(laterFirst)) left = left && remove(left, path);
  }
  return undefined;
}

function toRefusedPath({ path, keyword, params }: SchemaIssue): SchemaIssue['path'] {
  return keyword === 'additionalProperties' ? [...path, String(params['additionalProperty'])] : path;
}

/** Items of a list are removed from its end, so that the positions of the others stay. */
function laterFirst(a: SchemaIssue['path'], b: SchemaIssue['path']): number {
  for (let index = 0; index < Math.max(a.length, b.length); index += 1) {
    const [one, other] = [a[index], b[index]];
    if (one === other) continue;
    if (typeof one === 'number' && typeof other === 'number') return other - one;
    return one === undefined ? 1 : other === undefined ? -1 : String(one) < String(other) ? -1 : 1;
  }
  return 0;
}

function remove(node: Node, [part, ...rest]: SchemaIssue['path']): Node | undefined {
  if (part === undefined) return undefined;
  if (node.kind === 'map')
    return makeMap(
      node,
      node.entries.flatMap((entry) => removeFrom(entry, String(part), rest)),
    );
  if (node.kind !== 'list') return node;
  return {
    ...node,
    items: node.items.flatMap((item, index) => (index === part ? (remove(item, rest) ?? []) : [item])),
  };
}

function removeFrom(entry: MapEntry, key: string, rest: SchemaIssue['path']): readonly MapEntry[] {
  if (entry.key !== key) return [entry];
  const value = remove(entry.value, rest);
  return value === undefined ? [] : [{ ...entry, value }];
}

function makeMap(node: Extract<Node, { kind: 'map' }>, entries: readonly MapEntry[]): Node {
  const index = new Map(entries.map((entry) => [entry.key, entry]));
  return { ...node, entries, get: (key) => index.get(key)?.value, entry: (key) => index.get(key) };
}
