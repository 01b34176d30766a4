/**
 * Reads YAML text into a tree in which every key and value has its place. The only importer of `yaml`. Reads a subset of YAML
 * 1.2: everything that two readers may understand differently (aliases, tags, merge keys, directives, several documents,
 * unusual number notations, invisible characters) or that makes a small file large is refused with a code of its own.
 * Independent of the runbook language; never throws.
 */
import { Composer, type CST, type Document, isMap, isScalar, isSeq, type ParsedNode, Parser, type Scalar } from 'yaml';
import type { Diagnostic, SourceText, Span } from '../../base/diagnostic.ts';
import { shorten } from '../../base/printable.ts';
import { makeFinding } from '../codes/codes.ts';
import type { SyntaxCode } from '../codes/syntax.ts';
import { findForbiddenInFile, findForbiddenInText, findOddBlank } from './characters.ts';
import { findCutValue, type Piece, suggestQuotes } from './flow-commas.ts';
import { FORBIDDEN_KEYS, type MapEntry, type MapNode, type Node, type ScalarNode } from './nodes.ts';
import { isOddKey, readPlainScalar } from './plain-scalars.ts';
import { locateCharacters, type ScalarWriting } from './scalar-places.ts';
import { describeFaults } from './yaml-faults.ts';

export type { ListNode, MapEntry, MapNode, Node, ScalarNode } from './nodes.ts';
export { nodeAt, plainData, readExactData } from './nodes.ts';

export interface DocumentLimits {
  readonly maxBytes: number;
  readonly maxNodes: number;
  readonly maxDepth: number;
  /** Whether `null` is allowed as a value: in recorded responses it is, in a file that an author writes it is not. */
  readonly nulls: 'refused' | 'kept';
}

/** Limits of the files that people write. A recording may be larger and contain nulls. */
export const AUTHORED: DocumentLimits = { maxBytes: 256 * 1024, maxNodes: 20_000, maxDepth: 32, nulls: 'refused' };

interface ReadDocument {
  /** Undefined if the text is not YAML or was refused as a whole; single errors still leave a tree. */
  readonly root: Node | undefined;
  readonly diagnostics: readonly Diagnostic[];
}

/** Reads the one document of a text. Size is checked before anything is parsed, depth before anything recursive runs. */
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
  for (const { code, at, message, hint } of findForbiddenInFile(source.text))
    found.add(code, { start: at, end: at + 1 }, message, hint);
  if (found.list.length > 0) return { root: undefined, diagnostics: found.list };

  const tokens = [...new Parser().parse(source.text)];
  const unclosed = inspectTokens(tokens, limits, found);
  if (found.list.length > 0) return { root: undefined, diagnostics: found.list };

  const { problems, contents } = compose(source.text, tokens);
  if (problems.length > 0) {
    const findProblems = (text: string) => compose(text, new Parser().parse(text)).problems;
    for (const { code, span, message, hint } of describeFaults(source.text, problems, unclosed, findProblems))
      found.add(code, span, message, hint);
    return { root: undefined, diagnostics: found.list };
  }
  if (contents === null || contents === undefined || (isScalar(contents) && (contents.source ?? '') === '')) {
    found.add('yaml-empty', { start: 0, end: 0 }, 'the file is empty');
    return { root: undefined, diagnostics: found.list };
  }
  return { root: new Conversion(source, limits, found).convert(contents), diagnostics: found.list };
}

function compose(text: string, tokens: Iterable<CST.Token>) {
  // With `failsafe` every scalar stays a text: numbers are recognized here, from their source, never by a conversion.
  const composer = new Composer({ version: '1.2', schema: 'failsafe', uniqueKeys: false, merge: false, strict: true });
  const documents = [...composer.compose(tokens, true, text.length)];
  const problems = documents.flatMap((each) => [...each.errors, ...each.warnings]);
  const [document] = documents as (Document.Parsed | undefined)[];
  return { problems, contents: document?.contents as ParsedNode | null | undefined };
}

class Findings {
  readonly list: Diagnostic[] = [];
  private readonly source: SourceText;
  constructor(source: SourceText) {
    this.source = source;
  }
  /** At most fifty: more do not help the author, and a hostile file must not cause a long answer. */
  add(code: SyntaxCode, span: Span, message: string, hint?: string): void {
    if (this.list.length < 50) this.list.push(makeFinding(this.source, span, code, message, hint));
  }
}

type AnyToken = CST.Token | CST.SourceToken;

/**
 * Walks the concrete syntax with an explicit stack, so that the depth is known before anything recursive runs. Returns the
 * offsets of brackets and quotes that are never closed.
 */
function inspectTokens(tokens: readonly CST.Token[], limits: DocumentLimits, found: Findings): readonly number[] {
  const unclosed: number[] = [];
  let documents = 0;
  let nodes = 0;
  const stack: { readonly token: AnyToken; readonly depth: number }[] = [];
  /** Pushes the last token first, so that the first is visited first. */
  const push = (inner: readonly AnyToken[], depth: number): void => {
    for (let index = inner.length - 1; index >= 0; index -= 1) stack.push({ token: inner[index] as AnyToken, depth });
  };
  push(tokens, 0);
  for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
    const { token, depth } = next;
    const span = { start: token.offset, end: token.offset + ('source' in token ? token.source.length : 1) };
    switch (token.type) {
      case 'directive':
        found.add('yaml-directive', span, `the directive ${shortenLine(token.source)}`);
        break;
      case 'anchor':
        found.add('yaml-anchor', span, `the anchor ${shortenLine(token.source)}`);
        break;
      case 'alias':
        found.add(
          'yaml-alias',
          span,
          `the alias ${shortenLine(token.source)}`,
          /^\*[\w-]+$/.test(token.source) ? undefined : 'Put a text that begins with * in quotes.',
        );
        break;
      case 'tag':
        found.add(
          'yaml-tag',
          span,
          `the tag ${shortenLine(token.source)}`,
          /[.(]/.test(token.source) ? 'Put an expression that begins with ! in quotes.' : undefined,
        );
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
          return unclosed;
        }
        if (token.type === 'flow-collection' && !token.end.some(({ type }) => /^flow-(?:map|seq)-end$/.test(type)))
          unclosed.push(token.offset);
        for (let index = token.items.length - 1; index >= 0; index -= 1) {
          const { start, key, sep, value } = token.items[index] as CST.CollectionItem;
          if (value) stack.push({ token: value, depth: depth + 1 });
          if (sep) push(sep, depth + 1);
          if (key) stack.push({ token: key, depth: depth + 1 });
          push(start, depth + 1);
        }
        break;
      case 'single-quoted-scalar':
      case 'double-quoted-scalar':
        nodes += 1;
        if (token.source.length < 2 || !token.source.endsWith(token.source.charAt(0))) unclosed.push(token.offset);
        break;
      case 'scalar':
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
      return unclosed;
    }
  }
  return unclosed;
}

const WRITING = {
  PLAIN: 'plain',
  QUOTE_SINGLE: 'single',
  QUOTE_DOUBLE: 'double',
  BLOCK_FOLDED: 'block',
  BLOCK_LITERAL: 'block',
} as const satisfies Record<Scalar.Type, ScalarWriting['style']>;

/** Converts yaml's nodes to ours; single errors are reported and left out of the tree. */
class Conversion {
  private readonly source: SourceText;
  private readonly limits: DocumentLimits;
  private readonly found: Findings;

  constructor(source: SourceText, limits: DocumentLimits, found: Findings) {
    this.source = source;
    this.limits = limits;
    this.found = found;
  }

  convert(node: ParsedNode): Node {
    const span = toSpan(node.range);
    if (isMap(node)) return this.convertMap(node.items as readonly YamlPair[], span, node.flow === true);
    if (isSeq(node)) {
      const items = this.convertItems(node.items as readonly ParsedNode[], node.flow === true);
      return { kind: 'list', span: node.flow === true ? span : endAt(span, items.at(-1)), items };
    }
    if (isScalar(node)) return this.convertScalar(node as Scalar.Parsed, span);
    return { kind: 'list', span, items: [] };
  }

  private convertMap(pairs: readonly YamlPair[], around: Span, flow: boolean): MapNode {
    const entries: MapEntry[] = [];
    const index = new Map<string, MapEntry>();
    let incomplete = false;
    for (let at = 0; at < pairs.length; at += 1) {
      const pair = pairs[at] as YamlPair;
      const key = this.convertKey(pair, around);
      if (key === undefined) {
        incomplete = true;
        continue;
      }
      const cut = flow
        ? this.cutByCommas(`${key.text}: `, (next) => (next === 0 ? pair.value : takeLoneKey(pairs[at + next])))
        : undefined;
      if (cut !== undefined) at += cut.pieces - 1;
      const value = cut?.node ?? (pair.value ? this.convert(pair.value) : this.makeNothing(key.span.end));
      const entry: MapEntry = {
        key: key.text,
        keySpan: key.span,
        value,
        span: { start: key.span.start, end: Math.max(key.span.end, value.span.end) },
      };
      if (index.has(key.text)) {
        this.found.add('yaml-duplicate-key', key.span, `the key "${shortenLine(key.text)}" occurs a second time`);
        continue;
      }
      index.set(key.text, entry);
      entries.push(entry);
    }
    const span = flow ? around : endAt(around, entries.at(-1));
    return {
      kind: 'map',
      span,
      entries,
      incomplete,
      get: (key) => index.get(key)?.value,
      entry: (key) => index.get(key),
    };
  }

  private convertItems(items: readonly ParsedNode[], flow: boolean): readonly Node[] {
    const nodes: Node[] = [];
    for (let at = 0; at < items.length; at += 1) {
      const cut = flow ? this.cutByCommas('', (next) => items[at + next]) : undefined;
      nodes.push(cut?.node ?? this.convert(items[at] as ParsedNode));
      if (cut !== undefined) at += cut.pieces - 1;
    }
    return nodes;
  }

  /** Joins a value that commas have cut and reports it once. `before`: the text in front of it, for the hint. */
  private cutByCommas(
    before: string,
    piece: (index: number) => ParsedNode | null | undefined,
  ): { readonly node: ScalarNode; readonly pieces: number } | undefined {
    const cut = findCutValue((index) => toPiece(piece(index)), before !== '');
    if (cut === undefined) return undefined;
    const { span, pieces } = cut;
    const text = this.source.text.slice(span.start, span.end);
    const message = `inside {…} and […] the comma ends a value without quotes: ${shortenLine(text)}`;
    this.found.add('yaml-comma', span, message, suggestQuotes(before, text));
    const offset = (at: number): number => span.start + Math.max(0, Math.min(at, text.length));
    return { node: { kind: 'scalar', span, text, style: 'plain', type: 'text', offset }, pieces };
  }

  private convertKey(pair: YamlPair, around: Span): { text: string; span: Span } | undefined {
    const { key } = pair;
    if (!key || !isScalar(key)) {
      this.found.add('yaml-complex-key', key ? toSpan(key.range) : around, 'a key that is not a text');
      return undefined;
    }
    const span = toSpan(key.range);
    const text = String(key.value ?? '');
    const plain = key.type === 'PLAIN';
    const blank = plain ? findOddBlank(text) : undefined;
    if (blank !== undefined)
      this.found.add(
        'yaml-hidden-character',
        { start: span.start + blank.at, end: span.start + blank.at + 1 },
        `the character ${blank.name} only looks like a space`,
        'Write an ordinary space.',
      );
    else if (text === '<<' && plain) this.found.add('yaml-merge-key', span, 'the merge key <<');
    else if (FORBIDDEN_KEYS.has(text)) this.found.add('yaml-forbidden-key', span, `the key ${text}`);
    else if (plain && text === '') this.found.add('yaml-complex-key', span, 'a key that is empty');
    else if (plain && isOddKey(text))
      this.found.add('yaml-key-form', span, `the key ${shortenLine(text)} reads as something other than a text`);
    else {
      this.inspectText(
        text,
        span,
        (at) =>
          locateCharacters(this.source.text, { span, style: WRITING[key.type ?? 'PLAIN'] }, text)[at] ?? span.start,
      );
      return { text, span };
    }
    return undefined;
  }

  private convertScalar(scalar: Scalar.Parsed, span: Span): ScalarNode {
    const text = String(scalar.value ?? '');
    const writing = WRITING[scalar.type ?? 'PLAIN'];
    const style = writing === 'single' || writing === 'double' ? 'quoted' : writing;
    let places: Int32Array | undefined;
    const offset = (index: number): number => {
      const at = Math.max(0, Math.min(index, text.length));
      if (style === 'plain' && span.end - span.start === text.length) return span.start + at;
      places ??= locateCharacters(this.source.text, { span, style: writing }, text);
      return Math.max(span.start, Math.min(places[at] ?? span.end, span.end));
    };
    const type = style === 'plain' ? this.readPlainType(text, span) : 'text';
    if (type === 'text') this.inspectText(text, span, offset);
    return { kind: 'scalar', span, text, style, type, offset };
  }

  private readPlainType(text: string, span: Span): ScalarNode['type'] {
    const { type, fault } = readPlainScalar(text, this.limits.nulls);
    if (fault !== undefined) this.found.add(fault.code, span, fault.message, fault.hint);
    return type;
  }

  /** An escape (`"\u202e"`) can produce a character that the file itself may not contain. */
  private inspectText(text: string, span: Span, offset: (index: number) => number): void {
    const forbidden = findForbiddenInText(text);
    if (forbidden === undefined) return;
    const start = offset(forbidden.at);
    const end = Math.max(start + 1, Math.min(offset(forbidden.at + 1), span.end));
    this.found.add(forbidden.code, { start, end }, forbidden.message, forbidden.hint);
  }

  private makeNothing(at: number): ScalarNode {
    const span = { start: at, end: at };
    this.readPlainType('', span);
    return { kind: 'scalar', span, text: '', style: 'plain', type: 'null', offset: () => at };
  }
}

interface YamlPair {
  readonly key: ParsedNode | null;
  readonly value: ParsedNode | null;
}

/** The key of a pair without a value: a comma may have cut it off from the value before. */
function takeLoneKey(pair: YamlPair | undefined): ParsedNode | null | undefined {
  const value = pair?.value ?? null;
  return value === null || (isScalar(value) && value.range[0] === value.range[1]) ? pair?.key : undefined;
}

function toPiece(node: ParsedNode | null | undefined): Piece | undefined {
  if (!isScalar(node) || node.type !== 'PLAIN' || node.value === '') return undefined;
  return { text: String(node.value ?? ''), span: toSpan(node.range) };
}

function toSpan(range: readonly [number, number, number]): Span {
  return { start: range[0], end: range[1] };
}

/** Ends a block collection where its last value ends; yaml ends it at the next line. */
function endAt(span: Span, last: { readonly span: Span } | undefined): Span {
  return last === undefined ? span : { start: span.start, end: last.span.end };
}

function shortenLine(text: string): string {
  return shorten(text.split('\n', 1)[0] ?? '', 40);
}
