/**
 * The second stage of the checks: does a document have the shape of a runbook? Walks the tree along the grammar of the
 * step table and says each departure once, where it is and in the words of the language. The JSON Schema made from the
 * same table must agree; `check.ts` asks it as well. Knows no names, types or units.
 */
import type { Diagnostic, SourceText, Span } from '../base/diagnostic.ts';
import { didYouMean } from '../base/spelling.ts';
import type { Verb } from './checked.ts';
import type { CheckCode } from './codes/check.ts';
import { finding } from './codes.ts';
import type { ListNode, MapNode, Node, ScalarNode } from './document.ts';
import { FILE, MODIFIERS } from './grammar.ts';
import { type Fields, type FieldsShape, FREE_NAME_PATTERN, NAME_PATTERN, type Shape } from './shape.ts';
import { MODIFIER_NAMES, type Modifier, stepRow, VERBS } from './steps.ts';

export interface Inspection {
  readonly diagnostics: readonly Diagnostic[];
  /** Values that do not have the shape needed: later checks leave them alone. */
  readonly faulty: ReadonlySet<Node>;
}

export function inspectShape(root: Node, source: SourceText): Inspection {
  const walk = new Walk(source);
  walk.file(root);
  return walk;
}

/** The verb of a step, when it has exactly one. */
export function verbOf(step: MapNode): Verb | undefined {
  const verbs = step.entries.filter((entry) => isVerb(entry.key));
  return verbs.length === 1 ? (verbs[0]?.key as Verb) : undefined;
}

const VERB_SET: ReadonlySet<string> = new Set(VERBS);
function isVerb(key: string): key is Verb {
  return VERB_SET.has(key);
}
const MODIFIER_SET: ReadonlySet<string> = new Set(MODIFIER_NAMES);
function isModifier(key: string): key is Modifier {
  return MODIFIER_SET.has(key);
}

const NAME = new RegExp(NAME_PATTERN, 'u');
const FREE_NAME = new RegExp(FREE_NAME_PATTERN, 'u');

/** Who holds the value looked at: what to call it, and what to point at when something is missing in it. */
interface Owner {
  readonly name: string;
  readonly span: Span;
}

class Walk implements Inspection {
  readonly diagnostics: Diagnostic[] = [];
  readonly faulty = new Set<Node>();
  private readonly source: SourceText;

  constructor(source: SourceText) {
    this.source = source;
  }

  file(root: Node): void {
    const dsl = root.kind === 'map' ? root.entry('dsl') : undefined;
    if (dsl?.value.kind === 'scalar' && dsl.value.type === 'number' && Number(dsl.value.text) > 1) {
      this.report(dsl.value, 'newer-dsl', `dsl ${dsl.value.text} is newer than this engine, which reads dsl 1`);
      this.faulty.add(root);
      return;
    }
    this.fields(root, FILE, { name: 'a runbook', span: firstKey(root) });
  }

  private report(at: Node | Span, code: CheckCode, message: string, hint?: string): undefined {
    this.diagnostics.push(finding(this.source, 'kind' in at ? at.span : at, code, message, hint));
  }

  /** Says that a value is not what is needed and that nobody need look at it again. A null was reported as it was read. */
  private refuse(node: Node, code: CheckCode, message: string, hint?: string): undefined {
    this.faulty.add(node);
    if (node.kind !== 'scalar' || node.type !== 'null') this.report(node, code, message, hint);
  }

  private wrongType(node: Node, owner: Owner, accepts: string, hint?: string): undefined {
    this.refuse(node, 'wrong-type', `${owner.name} takes ${accepts}, found ${describe(node)}`, hint);
  }

  private shape(node: Node, shape: Shape, owner: Owner): undefined {
    switch (shape.kind) {
      case 'value':
        return this.value(node, shape, owner);
      case 'word':
        return this.word(node, shape.values, owner);
      case 'text':
      case 'name':
        return this.text(node, shape, owner);
      case 'integer':
      case 'number':
        return this.number(node, shape, owner);
      case 'flag':
        if (!isScalar(node, 'boolean')) return this.refuseFlag(node, shape, owner);
        return shape.only && node.text !== 'true' ? this.refuseFlag(node, shape, owner) : undefined;
      case 'duration':
      case 'time':
      case 'type':
        if (!isScalar(node, 'text')) this.wrongType(node, owner, SPELLINGS[shape.kind]);
        return;
      case 'literal':
        if (node.kind === 'scalar' && node.type === 'null') this.faulty.add(node);
        return;
      case 'steps':
        return this.steps(node, owner);
      case 'step':
        return this.step(node, owner);
      case 'list':
        return this.list(node, shape.of, owner);
      case 'names':
        return this.names(node, shape, owner);
      case 'fields':
        return this.fields(node, shape, owner);
      case 'variants':
        return this.variants(node, shape, owner);
      case 'choice':
        return this.choice(node, shape, owner);
      default:
        return shape satisfies never;
    }
  }

  private refuseFlag(node: Node, shape: Extract<Shape, { kind: 'flag' }>, owner: Owner): undefined {
    this.refuse(
      node,
      shape.code ?? 'wrong-type',
      `${owner.name} must be ${shape.only ? 'true' : 'true or false'}, found ${describe(node)}`,
    );
  }

  private value(node: Node, shape: Extract<Shape, { kind: 'value' }>, owner: Owner): undefined {
    const { type, spelling } = shape;
    const takesList = spelling === 'list' || spelling === 'any value' || (type !== 'any' && type.kind === 'list');
    if (node.kind === 'list' && takesList) {
      for (const item of node.items)
        if (item.kind !== 'scalar')
          this.wrongType(item, { ...owner, name: `an item of ${owner.name}` }, 'a literal or an expression');
      return;
    }
    if (node.kind !== 'scalar') return this.wrongType(node, owner, article(spelling));
    const literal =
      type === 'any'
        ? spelling === 'any value'
          ? undefined
          : 'text'
        : type.kind === 'decimal'
          ? 'number'
          : type.kind === 'boolean'
            ? 'boolean'
            : 'text';
    if (literal === undefined || node.type === 'text' || node.type === literal) {
      if (node.type === 'null') this.faulty.add(node);
      return;
    }
    const hint = type !== 'any' && type.kind === 'text' ? 'Put it in quotes.' : undefined;
    this.wrongType(node, owner, article(spelling), hint);
  }

  private word(node: Node, values: readonly string[], owner: Owner): undefined {
    if (!isScalar(node, 'text')) return this.wrongType(node, owner, oneOf(values));
    if (values.includes(node.text)) return;
    const meant = didYouMean(node.text, values);
    this.refuse(
      node,
      'unknown-word',
      `${owner.name} must be ${oneOf(values)}, found ${quoted(node.text)}`,
      meant && `Did you mean ${meant}?`,
    );
  }

  private text(node: Node, shape: Extract<Shape, { kind: 'text' | 'name' }>, owner: Owner): undefined {
    if (!isScalar(node, 'text'))
      return this.wrongType(node, owner, 'a text', node.kind === 'scalar' ? 'Put it in quotes.' : undefined);
    if (shape.kind === 'name') {
      if (!NAME.test(node.text))
        this.refuse(
          node,
          'invalid-name',
          `${owner.name} must be a name of letters, digits and underscores, found ${quoted(node.text)}`,
        );
    } else if (shape.pattern !== undefined && !new RegExp(shape.pattern, 'u').test(node.text))
      this.refuse(
        node,
        'invalid-text',
        `${owner.name} must be ${shape.accepts ?? 'another text'}, found ${quoted(node.text)}`,
      );
  }

  private number(node: Node, shape: Extract<Shape, { kind: 'integer' | 'number' }>, owner: Owner): undefined {
    const whole = shape.kind === 'integer';
    const max = whole ? shape.max : undefined;
    const range =
      max === undefined ? `at least ${shape.min}` : max === shape.min ? `${max}` : `from ${shape.min} to ${max}`;
    if (!isScalar(node, 'number')) return this.wrongType(node, owner, `a ${whole ? 'whole ' : ''}number ${range}`);
    const found = Number(node.text);
    if ((whole && !Number.isInteger(found)) || found < shape.min || (max !== undefined && found > max))
      this.refuse(
        node,
        'out-of-range',
        `${owner.name} must be a ${whole ? 'whole ' : ''}number ${range}, found ${node.text}`,
      );
  }

  private list(node: Node, of: Shape, owner: Owner): undefined {
    if (node.kind !== 'list') return this.wrongType(node, owner, 'a list');
    for (const item of node.items) this.shape(item, of, { name: `an item of ${owner.name}`, span: firstKey(item) });
  }

  private names(node: Node, shape: Extract<Shape, { kind: 'names' }>, owner: Owner): undefined {
    if (node.kind !== 'map') return this.wrongType(node, owner, 'a map from names to values');
    const pattern = shape.free ? FREE_NAME : NAME;
    for (const { key, keySpan, value } of node.entries) {
      if (!pattern.test(key)) {
        this.faulty.add(value);
        this.report(
          keySpan,
          'invalid-name',
          `${quoted(key)} in ${owner.name} must be a name of letters, digits and underscores`,
        );
      }
      this.shape(value, shape.of, { name: key, span: keySpan });
    }
  }

  private fields(node: Node, shape: FieldsShape, owner: Owner): undefined {
    if (node.kind !== 'map')
      return this.wrongType(node, owner, Object.keys(shape.fields).length === 0 ? '{}' : 'a map');
    const codes = shape.codes ?? {};
    for (const { key, keySpan, value } of node.entries) {
      const field = own(shape.fields, key);
      if (field === undefined) this.unknownKey(key, keySpan, Object.keys(shape.fields), owner);
      else this.shape(value, field.shape, { name: key, span: keySpan });
    }
    const has = (key: string): boolean => node.get(key) !== undefined;
    for (const [key, field] of Object.entries(shape.fields))
      if (field.required && !has(key) && !this.misspelt(key, node, shape.fields))
        this.report(owner.span, codes[key] ?? 'missing-key', `${owner.name} needs ${quoted(key)}: ${field.doc}`);
    for (const group of shape.atLeastOne ?? [])
      if (!group.some(has))
        this.report(
          owner.span,
          codes['atLeastOne'] ?? 'missing-key',
          `${owner.name} needs ${group.map(quoted).join(' or ')}`,
        );
    for (const group of shape.atMostOne ?? []) {
      const [first, second] = node.entries.filter((entry) => group.includes(entry.key));
      if (first !== undefined && second !== undefined)
        this.report(
          second.keySpan,
          'conflicting-keys',
          `${owner.name} takes ${quoted(first.key)} or ${quoted(second.key)}, not both`,
        );
    }
    for (const [key, beside] of Object.entries(shape.together ?? {})) {
      const entry = node.entry(key);
      if (entry !== undefined && !has(beside))
        this.report(
          entry.keySpan,
          codes[key] ?? 'missing-key',
          `${quoted(key)} of ${owner.name} needs ${quoted(beside)} beside it`,
        );
    }
  }

  private unknownKey(key: string, span: Span, known: readonly string[], owner: Owner): undefined {
    const meant = didYouMean(key, known);
    const list = known.length === 0 ? `${owner.name} takes no keys` : `${owner.name} takes ${known.join(', ')}`;
    this.report(
      span,
      'unknown-key',
      `${quoted(key)} is not a key of ${owner.name}`,
      meant === undefined ? `${capitalised(list)}.` : `Did you mean ${meant}?`,
    );
  }

  /** Whether a missing key stands there misspelt: that has been said. */
  private misspelt(key: string, node: MapNode, known: Fields): boolean {
    return node.entries.some(
      (entry) => own(known, entry.key) === undefined && didYouMean(entry.key, Object.keys(known)) === key,
    );
  }

  private variants(node: Node, shape: Extract<Shape, { kind: 'variants' }>, owner: Owner): undefined {
    if (node.kind !== 'map') return this.wrongType(node, owner, 'a map');
    const words = Object.keys(shape.variants);
    const chosen = node.get(shape.by);
    if (chosen === undefined)
      return this.report(owner.span, 'missing-key', `${owner.name} needs ${quoted(shape.by)}: ${words.join(', ')}`);
    const variant = chosen.kind === 'scalar' ? own(shape.variants, chosen.text) : undefined;
    if (variant === undefined) {
      this.faulty.add(node);
      return this.word(chosen, words, { name: shape.by, span: chosen.span });
    }
    this.fields(node, variant, {
      name: `${owner.name} of type ${chosen.kind === 'scalar' ? chosen.text : ''}`,
      span: owner.span,
    });
  }

  private choice(node: Node, shape: Extract<Shape, { kind: 'choice' }>, owner: Owner): undefined {
    const maps = shape.maps ?? [];
    if (node.kind === 'scalar' && shape.scalar !== undefined) return this.shape(node, shape.scalar, owner);
    if (node.kind === 'list' && shape.list !== undefined) return this.shape(node, shape.list, owner);
    if (node.kind === 'map' && maps.length > 0) {
      const chosen = maps.length === 1 ? maps[0] : this.chooseMap(node, maps);
      if (chosen !== undefined) return this.shape(node, chosen.shape, owner);
      this.faulty.add(node);
      const known = maps.map(({ by }) => by);
      return this.report(
        owner.span,
        'missing-key',
        `${owner.name} takes ${shape.accepts}; it has neither ${known.map(quoted).join(' nor ')}`,
      );
    }
    this.wrongType(node, owner, shape.accepts);
  }

  private chooseMap<M extends { readonly by: string }>(node: MapNode, maps: readonly M[]): M | undefined {
    const near = (by: string): boolean => node.entries.some((entry) => didYouMean(entry.key, [by]) === by);
    return maps.find(({ by }) => node.get(by) !== undefined) ?? maps.find(({ by }) => near(by));
  }

  private steps(node: Node, owner: Owner): undefined {
    if (node.kind !== 'list')
      return this.wrongType(
        node,
        owner,
        'a list of steps',
        node.kind === 'map' ? 'Begin each step with "- ".' : undefined,
      );
    for (const item of node.items) this.step(item, { name: 'a step', span: firstKey(item) });
  }

  private step(node: Node, owner: Owner): undefined {
    if (node.kind !== 'map')
      return this.wrongType(node, { ...owner, name: 'a step' }, 'a verb with its parameters', 'Write `- verb: …`.');
    const verbs = node.entries.filter(({ key }) => isVerb(key));
    const strangers = node.entries.filter(({ key }) => !isVerb(key) && !isModifier(key));
    for (const { key, keySpan } of strangers) this.unknownStepKey(key, keySpan, verbs.length > 0);
    if (verbs.length === 0 && strangers.length === 0)
      this.report(firstKey(node), 'no-verb', 'a step needs exactly one verb, this one has none');
    for (const entry of verbs.slice(1))
      this.report(
        entry.keySpan,
        'several-verbs',
        `a step needs exactly one verb, found ${quoted(verbs[0]?.key ?? '')} and ${quoted(entry.key)}`,
      );
    if (verbs.length !== 1) this.faulty.add(node);
    for (const { key, keySpan, value } of verbs)
      this.shape(value, stepRow(key as Verb).takes, { name: key, span: keySpan });
    this.modifiers(node, verbs.length === 1 ? (verbs[0]?.key as Verb) : undefined);
  }

  private unknownStepKey(key: string, span: Span, hasVerb: boolean): undefined {
    const meant = didYouMean(key, hasVerb ? MODIFIER_NAMES : [...VERBS, ...MODIFIER_NAMES]);
    const list = hasVerb
      ? `A step takes its verb and ${MODIFIER_NAMES.join(', ')}.`
      : `The verbs are ${VERBS.join(', ')}.`;
    this.report(
      span,
      'unknown-key',
      `${quoted(key)} is neither a verb nor a modifier of a step`,
      meant === undefined ? list : `Did you mean ${meant}?`,
    );
  }

  private modifiers(node: MapNode, verb: Verb | undefined): undefined {
    for (const { key, keySpan, value } of node.entries) {
      if (!isModifier(key)) continue;
      const row = verb === undefined ? undefined : stepRow(verb);
      if (row !== undefined && !row.modifiers.includes(key)) {
        this.faulty.add(value);
        this.report(
          keySpan,
          'misplaced-modifier',
          `${quoted(key)} does not suit ${verb}`,
          `${verb} takes ${row.modifiers.join(', ')}.`,
        );
        continue;
      }
      if (key === 'await' && row?.await !== undefined)
        this.word(value, row.await.allowed, { name: `await of ${verb}`, span: keySpan });
      else if (key === 'undo' && row !== undefined && row.undoWords === undefined)
        this.steps(value, { name: `undo of ${verb}`, span: keySpan });
      else this.shape(value, MODIFIERS[key].shape, { name: key, span: keySpan });
    }
  }
}

const SPELLINGS = {
  duration: 'a duration such as 30s',
  time: 'a time such as 2026-01-05T08:00:00Z',
  type: 'a type such as price or list<market>',
} as const;

function own<T>(table: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(table, key) ? table[key] : undefined;
}

function isScalar<T extends ScalarNode['type']>(node: Node, type: T): node is ScalarNode & { readonly type: T } {
  return node.kind === 'scalar' && node.type === type;
}

/** Where to point when a map lacks something and no key holds it: its first key, or the first character. */
function firstKey(node: MapNode | ListNode | ScalarNode): Span {
  const first = node.kind === 'map' ? node.entries[0] : undefined;
  return first?.keySpan ?? { start: node.span.start, end: Math.min(node.span.end, node.span.start + 1) };
}

function describe(node: Node): string {
  if (node.kind === 'map') return 'a map';
  if (node.kind === 'list') return 'a list';
  return node.type === 'text' ? quoted(node.text) : `the ${node.type} ${node.text}`;
}

function quoted(text: string): string {
  return `"${text.length > 60 ? `${text.slice(0, 60)}…` : text}"`;
}

function oneOf(values: readonly string[]): string {
  return values.length === 1 ? (values[0] ?? '') : `one of ${values.join(', ')}`;
}

function article(spelling: string): string {
  return /^any/.test(spelling) ? spelling : `${/^[aeiou]/.test(spelling) ? 'an' : 'a'} ${spelling}`;
}

function capitalised(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
