/**
 * Lays a YAML text out anew: block style, two blanks of indentation, `{…}` and `[…]` where they fit on one short line. Comments
 * and single blank lines are kept. The result has the same tree as the text; where that or a comment would be lost, there is no
 * result.
 */
import { Composer, type Document, isCollection, isMap, isScalar, isSeq, type ParsedNode, Parser, visit } from 'yaml';
import type { Diagnostic, SourceText } from '../../base/diagnostic.ts';
import { AUTHORED, type DocumentLimits, type Node, readDocument } from './document.ts';

/** The end of a line on which `{…}` and `[…]` stay, in characters. */
export const SHORT_LINE = 120;

/** Tests and simulator files are longer than runbooks, and recorded answers in them may hold nulls. */
const LIMITS: DocumentLimits = { ...AUTHORED, maxBytes: 4 * 1024 * 1024, maxNodes: 200_000, nulls: 'kept' };

export type Formatting =
  | { readonly text: string }
  /** The text is not YAML that this program reads. */
  | { readonly diagnostics: readonly Diagnostic[] }
  /** The layout would change what the text says or lose a comment. */
  | { readonly refused: string };

export function formatDocument(source: SourceText): Formatting {
  const read = readDocument(source, LIMITS);
  if (read.root === undefined || read.diagnostics.length > 0) return { diagnostics: read.diagnostics };
  const mark = source.text.startsWith('\ufeff') ? '\ufeff' : '';
  const plain = source.text.slice(mark.length).replaceAll('\r\n', '\n');
  let text = layOut(plain);
  // A second pass settles comments that the first has moved to a line of their own.
  for (let pass = 0; pass < 3; pass += 1) {
    const again = layOut(text);
    if (again === text) break;
    text = again;
  }
  const after = readDocument({ ...source, text }, LIMITS);
  if (
    after.root === undefined ||
    after.diagnostics.length > 0 ||
    !isSameTree(read.root, after.root) ||
    layOut(text) !== text
  )
    return { refused: 'its layout cannot be changed without changing what it says' };
  const [before, kept] = [listComments(plain), listComments(text)];
  if (before.join('\n') !== kept.join('\n')) return { refused: 'a comment in it would be lost' };
  const crlf = /^[^\n]*\r\n/.test(source.text);
  return { text: mark + (crlf ? text.replaceAll('\n', '\r\n') : text) };
}

function layOut(text: string): string {
  const document = compose(text);
  if (document.contents !== null) chooseStyles(document.contents, text, 0, 0);
  return document.toString({
    lineWidth: 0,
    indent: 2,
    indentSeq: true,
    flowCollectionPadding: false,
    collectionStyle: 'any',
  });
}

function compose(text: string): Document.Parsed {
  // With `failsafe` every scalar stays the text that was written: 0.10 does not become 0.1.
  const composer = new Composer({ version: '1.2', schema: 'failsafe', uniqueKeys: false, merge: false, strict: true });
  const [document] = [...composer.compose(new Parser().parse(text), true, text.length)];
  return document as Document.Parsed;
}

/** Turns `{…}` and `[…]` into blocks where they do not fit, from the outside to the inside. `column`: where the value begins. */
function chooseStyles(node: ParsedNode, text: string, indent: number, column: number): void {
  if (!isCollection(node)) return;
  if (node.flow === true) {
    if (node.items.length === 0 || (column + measure(node, text) <= SHORT_LINE && !holdsComment(node))) return;
    node.flow = false;
  }
  if (isMap(node)) {
    for (const { key, value } of node.items as readonly Pair[]) {
      if (!value) continue;
      const width = key && isScalar(key) ? sourceOf(key, text).length : 0;
      // A block inside a map begins on the next line, two blanks further in.
      chooseStyles(value, text, indent + 2, indent + width + 2);
    }
  } else if (isSeq(node)) {
    for (const item of node.items as readonly ParsedNode[]) chooseStyles(item, text, indent + 2, indent + 2);
  }
}

interface Pair {
  readonly key: ParsedNode | null;
  readonly value: ParsedNode | null;
}

/** The width of a collection on one line. */
function measure(node: ParsedNode, text: string): number {
  if (isMap(node))
    return (node.items as readonly Pair[]).reduce(
      (sum, { key, value }) => sum + (key ? measure(key, text) : 0) + (value ? measure(value, text) + 2 : 0) + 2,
      0,
    );
  if (isSeq(node)) return (node.items as readonly ParsedNode[]).reduce((sum, item) => sum + measure(item, text) + 2, 0);
  return sourceOf(node, text).length;
}

function sourceOf({ range }: ParsedNode, text: string): string {
  return text
    .slice(range[0], range[1])
    .trim()
    .replaceAll(/\s*\n\s*/g, ' ');
}

function holdsComment(node: ParsedNode): boolean {
  let found = false;
  visit(node, {
    Node: (_key, each) => {
      found ||= each !== node && (Boolean(each.comment) || Boolean(each.commentBefore));
      return found ? visit.BREAK : undefined;
    },
  });
  return found;
}

/** The comments of a text, without their indentation. */
function listComments(text: string): readonly string[] {
  const found: string[] = [];
  for (const token of new Parser().parse(text)) collectComments(token, found);
  return found.map((each) => each.trim()).sort();
}

function collectComments(value: unknown, found: string[]): void {
  if (Array.isArray(value)) for (const each of value) collectComments(each, found);
  else if (typeof value === 'object' && value !== null) {
    const token = value as { readonly type?: string; readonly source?: string };
    if (token.type === 'comment') found.push(token.source ?? '');
    else for (const each of Object.values(value)) collectComments(each, found);
  }
}

/** Whether two trees say the same; places and styles may differ. */
function isSameTree(one: Node, other: Node): boolean {
  if (one.kind === 'scalar') return other.kind === 'scalar' && one.type === other.type && one.text === other.text;
  if (one.kind === 'list')
    return (
      other.kind === 'list' &&
      one.items.length === other.items.length &&
      one.items.every((item, index) => isSameTree(item, other.items[index] as Node))
    );
  return (
    other.kind === 'map' &&
    one.entries.length === other.entries.length &&
    one.entries.every(({ key, value }, index) => {
      const [there] = other.entries.slice(index, index + 1);
      return there?.key === key && isSameTree(value, there.value);
    })
  );
}
