/**
 * From YAML text to a tree in which every key and value knows its place. The only importer of `yaml`; reads YAML 1.2 with
 * less in it: whatever lets two people read one file differently (aliases, tags, merge keys, directives, several documents,
 * numbers in odd notations, invisible characters) or lets a small file become a large one is refused by name.
 * It knows nothing of runbooks, and it never throws.
 */
import { Composer, type CST, type Document, isMap, isScalar, isSeq, type ParsedNode, Parser, type Scalar } from 'yaml';
import { parseAuthoredDecimal } from '../base/decimal.ts';
import type { Diagnostic, SourceText, Span } from '../base/diagnostic.ts';
import { diagnose } from './codes/diagnose.ts';
import type { SyntaxCode } from './codes/syntax.ts';
import { type ScalarWriting, scalarPlaces } from './scalar-places.ts';

export interface ScalarNode {
  readonly kind: 'scalar';
  readonly span: Span;
  /** The text it stands for; of a plain number, boolean or null exactly what is written. */
  readonly text: string;
  readonly style: 'plain' | 'quoted' | 'block';
  readonly type: 'text' | 'number' | 'boolean' | 'null';
  /** Where in the source character `index` of `text` is written; for `text.length`, where the last one ends. */
  offset(index: number): number;
}

export interface MapNode {
  readonly kind: 'map';
  readonly span: Span;
  readonly entries: readonly MapEntry[];
  get(key: string): Node | undefined;
  entry(key: string): MapEntry | undefined;
}

export interface MapEntry {
  readonly key: string;
  readonly keySpan: Span;
  readonly value: Node;
  /** From the key's first to the value's last character. */
  readonly span: Span;
}

export interface ListNode {
  readonly kind: 'list';
  readonly span: Span;
  readonly items: readonly Node[];
}

export type Node = ScalarNode | MapNode | ListNode;

export interface DocumentLimits {
  readonly maxBytes: number;
  readonly maxNodes: number;
  readonly maxDepth: number;
  /** Whether `null` may stand as a value: in recorded answers it may, in what an author writes it may not. */
  readonly nulls: 'refused' | 'kept';
}

/** For what people write. A recording may be larger and hold nulls, and says so. */
export const AUTHORED: DocumentLimits = { maxBytes: 256 * 1024, maxNodes: 20_000, maxDepth: 32, nulls: 'refused' };

export interface ReadDocument {
  /** Undefined when the text is not YAML or was refused whole; single faults leave a tree to go on with. */
  readonly root: Node | undefined;
  readonly diagnostics: readonly Diagnostic[];
}

/** Reads the one document of a text. Sizes are looked at before anything is parsed, depth before anything recursive runs. */
export function readDocument(source: SourceText, limits: DocumentLimits = AUTHORED): ReadDocument {
  const found = new Findings(source);
  const bytes = Buffer.byteLength(source.text);
  if (bytes > limits.maxBytes) {
    found.add(
      'yaml-too-large',
      { start: 0, end: 0 },
      `the file has ${bytes} bytes; at most ${limits.maxBytes} are read`,
    );
    return { root: undefined, diagnostics: found.list };
  }
  inspectCharacters(source.text, found);
  if (found.list.length > 0) return { root: undefined, diagnostics: found.list };

  const tokens = [...new Parser().parse(source.text)];
  inspectTokens(tokens, limits, found);
  if (found.list.length > 0) return { root: undefined, diagnostics: found.list };

  // `failsafe` leaves every scalar a text: what is a number is decided here, from its source, never by a conversion.
  const composer = new Composer({ version: '1.2', schema: 'failsafe', uniqueKeys: false, merge: false, strict: true });
  const documents = [...composer.compose(tokens, true, source.text.length)];
  const document = documents[0] as Document.Parsed | undefined;
  for (const problem of documents.flatMap((each) => [...each.errors, ...each.warnings])) {
    const [start, end] = problem.pos;
    found.add('yaml-syntax', { start, end: Math.max(start, end) }, `not YAML: ${firstSentence(problem.message)}`);
  }
  if (found.list.length > 0) return { root: undefined, diagnostics: found.list };
  const contents = document?.contents as ParsedNode | null | undefined;
  if (contents === null || contents === undefined || (isScalar(contents) && (contents.source ?? '') === '')) {
    found.add('yaml-empty', { start: 0, end: 0 }, 'the file holds nothing');
    return { root: undefined, diagnostics: found.list };
  }
  return { root: new Conversion(source, limits, found).node(contents), diagnostics: found.list };
}

/** Plain data with null prototypes for a schema to look at. Its numbers are JavaScript's: never to be used as values. */
export function plainData(node: Node): unknown {
  switch (node.kind) {
    case 'list':
      return node.items.map(plainData);
    case 'map': {
      const data: Record<string, unknown> = Object.create(null);
      for (const { key, value } of node.entries) data[key] = plainData(value);
      return data;
    }
    case 'scalar':
      if (node.type === 'number') return Number(node.text);
      if (node.type === 'boolean') return node.text === 'true';
      return node.type === 'null' ? null : node.text;
    default:
      return node satisfies never;
  }
}

/** The node a path leads to, or the last one on the way there; `keySpan` where that node is the value of a key. */
export function nodeAt(root: Node, path: readonly (string | number)[]): { node: Node; span: Span; keySpan?: Span } {
  let node = root;
  let keySpan: Span | undefined;
  for (const part of path) {
    // A key may look like a position (`"0"`), and a schema's path can not tell them apart: the node decides.
    const entry: MapEntry | undefined = node.kind === 'map' ? node.entry(String(part)) : undefined;
    const next: Node | undefined = node.kind === 'list' ? node.items[Number(part)] : entry?.value;
    if (next === undefined) break;
    node = next;
    keySpan = entry?.keySpan;
  }
  return { node, span: node.span, ...(keySpan === undefined ? {} : { keySpan }) };
}

class Findings {
  readonly list: Diagnostic[] = [];
  private readonly source: SourceText;
  constructor(source: SourceText) {
    this.source = source;
  }
  /** Beyond fifty there is nothing to learn, and a hostile file should not buy a long answer. */
  add(code: SyntaxCode, span: Span, message: string, hint?: string): void {
    if (this.list.length < 50) this.list.push(diagnose(this.source, span, code, message, hint));
  }
}

// C0 but for tab and line ends, DEL, C1; then what turns the reading direction, breaks lines or hides.
const CONTROL = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/;
const BIDI = /[\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/;
/** Half of a surrogate pair: it can not be written as UTF-8, and is what a byte that was no UTF-8 was read as. */
const LONE = /\p{Surrogate}/u;

function codePoint(text: string, at: number): string {
  return `U+${(text.codePointAt(at) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;
}

function inspectCharacters(text: string, found: Findings): void {
  const control = text.search(CONTROL);
  if (control !== -1)
    found.add(
      'yaml-control-character',
      { start: control, end: control + 1 },
      `the control character ${codePoint(text, control)}`,
    );
  const lone = text.search(LONE);
  if (lone !== -1)
    found.add(
      'yaml-control-character',
      { start: lone, end: lone + 1 },
      'a byte that is not UTF-8, or half of a surrogate pair',
      'save the file as UTF-8',
    );
  // A byte order mark may open a file; anywhere else it is an invisible character like the others.
  const body = text.startsWith('\ufeff') ? 1 : 0;
  const bidi = text.slice(body).search(BIDI);
  if (bidi !== -1) {
    const start = bidi + body;
    found.add(
      'yaml-hidden-character',
      { start, end: start + 1 },
      `the invisible or direction-changing character ${codePoint(text, start)}`,
    );
  }
}

type AnyToken = CST.Token | CST.SourceToken;

/** Walks the concrete syntax with a stack of its own, so that depth is known before anything recursive is let near it. */
function inspectTokens(tokens: readonly CST.Token[], limits: DocumentLimits, found: Findings): void {
  let documents = 0;
  let nodes = 0;
  const stack: { readonly token: AnyToken; readonly depth: number }[] = [];
  /** The last one first, so that the first is looked at first. */
  const push = (inner: readonly AnyToken[], depth: number): void => {
    for (let index = inner.length - 1; index >= 0; index -= 1) stack.push({ token: inner[index] as AnyToken, depth });
  };
  push(tokens, 0);
  for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
    const { token, depth } = next;
    const span = { start: token.offset, end: token.offset + ('source' in token ? token.source.length : 1) };
    switch (token.type) {
      case 'directive':
        found.add('yaml-directive', span, `the directive ${shortened(token.source)}`);
        break;
      case 'anchor':
        found.add('yaml-anchor', span, `the anchor ${shortened(token.source)}`);
        break;
      case 'alias':
        found.add('yaml-alias', span, `the alias ${shortened(token.source)}`);
        break;
      case 'tag':
        found.add('yaml-tag', span, `the tag ${shortened(token.source)}`);
        break;
      case 'document':
        documents += 1;
        if (documents === 2)
          found.add(
            'yaml-several-documents',
            { start: token.offset, end: token.offset + 3 },
            'a second document in one file',
          );
        if (token.value) stack.push({ token: token.value, depth });
        push(token.start, depth);
        break;
      case 'block-map':
      case 'block-seq':
      case 'flow-collection':
        nodes += 1;
        if (depth + 1 > limits.maxDepth) {
          found.add('yaml-too-deep', span, `more than ${limits.maxDepth} levels deep`);
          return;
        }
        for (let index = token.items.length - 1; index >= 0; index -= 1) {
          const { start, key, sep, value } = token.items[index] as CST.CollectionItem;
          if (value) stack.push({ token: value, depth: depth + 1 });
          if (sep) push(sep, depth + 1);
          if (key) stack.push({ token: key, depth: depth + 1 });
          push(start, depth + 1);
        }
        break;
      case 'scalar':
      case 'single-quoted-scalar':
      case 'double-quoted-scalar':
        nodes += 1;
        break;
      case 'block-scalar':
        nodes += 1;
        push(token.props, depth);
        break;
      default:
        break;
    }
    if (nodes > limits.maxNodes) {
      found.add('yaml-too-many-nodes', span, `more than ${limits.maxNodes} values`);
      return;
    }
  }
}

/** Names that reach behind the data of a JavaScript program; refused wherever a name is read. */
export const FORBIDDEN_KEYS: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype']);
const PLAIN_NULL = /^(?:~|null|Null|NULL|)$/;
const PLAIN_BOOLEAN = /^(?:true|false)$/;
const ODD_BOOLEAN = /^(?:True|TRUE|False|FALSE)$/;
/** Whatever some reader of YAML or JSON would take for a number; what the language takes is `parseAuthoredDecimal`. */
const NUMBER_LIKE =
  /^[-+]?(?:0[xX][\da-fA-F_]+|0[oObB][\d_]+|[\d_]*\d[\d_]*\.?[\d_]*(?:[eE][-+]?\d+)?|\.[\d_]+(?:[eE][-+]?\d+)?|\.inf|\.Inf|\.INF|Infinity)$|^(?:\.nan|\.NaN|\.NAN|NaN)$/;

const WRITING = {
  PLAIN: 'plain',
  QUOTE_SINGLE: 'single',
  QUOTE_DOUBLE: 'double',
  BLOCK_FOLDED: 'block',
  BLOCK_LITERAL: 'block',
} as const satisfies Record<Scalar.Type, ScalarWriting['style']>;

/** From yaml's nodes to ours; single faults are noted and the tree goes on without them. */
class Conversion {
  private readonly source: SourceText;
  private readonly limits: DocumentLimits;
  private readonly found: Findings;

  constructor(source: SourceText, limits: DocumentLimits, found: Findings) {
    this.source = source;
    this.limits = limits;
    this.found = found;
  }

  node(node: ParsedNode): Node {
    const span = spanOf(node.range);
    if (isMap(node)) return this.map(node.items as readonly YamlPair[], span, node.flow === true);
    if (isSeq(node)) {
      const items = (node.items as readonly ParsedNode[]).map((item) => this.node(item));
      return { kind: 'list', span: node.flow === true ? span : upTo(span, items.at(-1)), items };
    }
    if (isScalar(node)) return this.scalar(node as Scalar.Parsed, span);
    return { kind: 'list', span, items: [] };
  }

  private map(pairs: readonly YamlPair[], around: Span, flow: boolean): MapNode {
    const entries: MapEntry[] = [];
    const index = new Map<string, MapEntry>();
    for (const pair of pairs) {
      const key = this.key(pair, around);
      if (key === undefined) continue;
      const value = pair.value ? this.node(pair.value) : this.nothing(key.span.end);
      const entry: MapEntry = {
        key: key.text,
        keySpan: key.span,
        value,
        span: { start: key.span.start, end: Math.max(key.span.end, value.span.end) },
      };
      if (index.has(key.text)) {
        this.found.add('yaml-duplicate-key', key.span, `the key "${shortened(key.text)}" stands here a second time`);
        continue;
      }
      index.set(key.text, entry);
      entries.push(entry);
    }
    const span = flow ? around : upTo(around, entries.at(-1));
    return { kind: 'map', span, entries, get: (key) => index.get(key)?.value, entry: (key) => index.get(key) };
  }

  private key(pair: YamlPair, around: Span): { text: string; span: Span } | undefined {
    const { key } = pair;
    if (!key || !isScalar(key)) {
      this.found.add('yaml-complex-key', key ? spanOf(key.range) : around, 'a key that is not a text');
      return undefined;
    }
    const span = spanOf(key.range);
    const text = String(key.value ?? '');
    const plain = key.type === 'PLAIN';
    if (text === '<<' && plain) this.found.add('yaml-merge-key', span, 'the merge key <<');
    else if (FORBIDDEN_KEYS.has(text)) this.found.add('yaml-forbidden-key', span, `the key ${text}`);
    else if (plain && text === '') this.found.add('yaml-complex-key', span, 'a key that is empty');
    else if (
      plain &&
      (NUMBER_LIKE.test(text) || PLAIN_BOOLEAN.test(text) || ODD_BOOLEAN.test(text) || PLAIN_NULL.test(text))
    )
      this.found.add('yaml-key-form', span, `the key ${shortened(text)} reads as something other than a text`);
    else {
      this.inspectText(
        text,
        span,
        (at) => scalarPlaces(this.source.text, { span, style: WRITING[key.type ?? 'PLAIN'] }, text)[at] ?? span.start,
      );
      return { text, span };
    }
    return undefined;
  }

  private scalar(scalar: Scalar.Parsed, span: Span): ScalarNode {
    const text = String(scalar.value ?? '');
    const writing = WRITING[scalar.type ?? 'PLAIN'];
    const style = writing === 'single' || writing === 'double' ? 'quoted' : writing;
    let places: Int32Array | undefined;
    const offset = (index: number): number => {
      const at = Math.max(0, Math.min(index, text.length));
      if (style === 'plain' && span.end - span.start === text.length) return span.start + at;
      places ??= scalarPlaces(this.source.text, { span, style: writing }, text);
      return Math.max(span.start, Math.min(places[at] ?? span.end, span.end));
    };
    const type = style === 'plain' ? this.plainType(text, span) : 'text';
    if (type === 'text') this.inspectText(text, span, offset);
    return { kind: 'scalar', span, text, style, type, offset };
  }

  private plainType(text: string, span: Span): ScalarNode['type'] {
    if (PLAIN_NULL.test(text)) {
      if (this.limits.nulls === 'refused')
        this.found.add('yaml-null', span, text === '' ? 'a key without a value' : `the value ${text}`);
      return 'null';
    }
    if (PLAIN_BOOLEAN.test(text)) return 'boolean';
    if (ODD_BOOLEAN.test(text)) {
      this.found.add('yaml-boolean-form', span, `the boolean ${text}`);
      return 'boolean';
    }
    if (!NUMBER_LIKE.test(text)) return 'text';
    if (parseAuthoredDecimal(text) === undefined) {
      const long = /^-?(?:0|[1-9]\d*)(?:\.\d+)?$/.test(text);
      if (long)
        this.found.add(
          'yaml-number-too-long',
          span,
          `the number ${shortened(text)} has more than 36 digits, or 18 after the point`,
        );
      else this.found.add('yaml-number-form', span, `the number ${shortened(text)} is not written as a plain decimal`);
    }
    return 'number';
  }

  /** An escape (`"\u202e"`) brings in what the text itself may not hold. */
  private inspectText(text: string, span: Span, offset: (index: number) => number): void {
    const control = text.search(CONTROL);
    const hidden = text.search(BIDI);
    const lone = text.search(LONE);
    const at = [control, hidden, lone].find((each) => each !== -1);
    if (at === undefined) return;
    const code = at === hidden ? 'yaml-hidden-character' : 'yaml-control-character';
    const start = offset(at);
    const what = control === -1 && hidden === -1 ? 'half of a surrogate pair' : codePoint(text, at);
    this.found.add(
      code,
      { start, end: Math.max(start + 1, Math.min(offset(at + 1), span.end)) },
      `the text holds ${what}`,
    );
  }

  private nothing(at: number): ScalarNode {
    const span = { start: at, end: at };
    this.plainType('', span);
    return { kind: 'scalar', span, text: '', style: 'plain', type: 'null', offset: () => at };
  }
}

interface YamlPair {
  readonly key: ParsedNode | null;
  readonly value: ParsedNode | null;
}

function spanOf(range: readonly [number, number, number]): Span {
  return { start: range[0], end: range[1] };
}

/** A block collection ends where its last value does; yaml lets it reach to the next line. */
function upTo(span: Span, last: { readonly span: Span } | undefined): Span {
  return last === undefined ? span : { start: span.start, end: last.span.end };
}

function shortened(text: string): string {
  const line = text.split('\n', 1)[0] ?? '';
  return line.length > 40 ? `${line.slice(0, 40)}…` : line;
}

function firstSentence(message: string): string {
  return shortened(message.replace(/\s+at line .*$/s, '')).replace(/[:\s]+$/, '');
}
