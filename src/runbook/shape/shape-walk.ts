/**
 * Compares values with the shapes they should have, and reports each difference once, at its place, with what was found and
 * what is accepted. Walk extends it with files and steps.
 */
import type { Diagnostic, SourceText, Span } from '../../base/diagnostic.ts';
import { formatList } from '../../base/format.ts';
import { shorten } from '../../base/printable.ts';
import { hintMeant, suggestSpelling } from '../../base/spelling.ts';
import { type CheckCode, makeFinding } from '../codes/codes.ts';
import { isScalar, type ListNode, type MapNode, type Node, type ScalarNode } from '../document/nodes.ts';
import { adviseOnWord, suggestWord } from '../foreign-words.ts';
import { type Fields, type FieldsShape, FREE_NAME_PATTERN, NAME_PATTERN, type Shape } from '../shapes.ts';
import {
  addArticle,
  describe,
  describeMap,
  describeShape,
  formatOneOf,
  quote,
  SPELLINGS,
  suggestForBraces,
  suggestName,
  suggestUnit,
  suggestValue,
  suggestVariant,
} from './shape-words.ts';

const NAME = new RegExp(NAME_PATTERN, 'u');
const FREE_NAME = new RegExp(FREE_NAME_PATTERN, 'u');

/** The owner of a value: its name in messages, and the place to point at when something is missing. */
export interface Owner {
  readonly name: string;
  readonly span: Span;
}

export abstract class ShapeWalk {
  readonly diagnostics: Diagnostic[] = [];
  readonly faulty = new Set<Node>();
  private readonly source: SourceText;

  constructor(source: SourceText) {
    this.source = source;
  }

  protected report(at: Node | Span, code: CheckCode, message: string, hint?: string): undefined {
    this.diagnostics.push(makeFinding(this.source, 'kind' in at ? at.span : at, code, message, hint));
  }

  /** Reports a value of the wrong shape and marks it, so that later checks skip it. A null has been reported before. */
  private refuse(node: Node, code: CheckCode, message: string, hint?: string): undefined {
    this.faulty.add(node);
    if (node.kind !== 'scalar' || node.type !== 'null') this.report(node, code, message, hint);
  }

  protected refuseType(node: Node, owner: Owner, accepts: string, hint?: string): undefined {
    this.refuse(node, 'wrong-type', `${owner.name} takes ${accepts}, found ${describe(node)}`, hint);
  }

  protected checkShape(node: Node, shape: Shape, owner: Owner): undefined {
    switch (shape.kind) {
      case 'value':
        return this.checkValue(node, shape, owner);
      case 'word':
        return this.checkWord(node, shape.values, owner);
      case 'text':
      case 'name':
        return this.checkText(node, shape, owner);
      case 'integer':
      case 'number':
        return this.checkNumber(node, shape, owner);
      case 'flag':
        if (!isScalar(node, 'boolean')) return this.refuseFlag(node, shape, owner);
        return shape.only && node.text !== 'true' ? this.refuseFlag(node, shape, owner) : undefined;
      case 'duration':
      case 'time':
      case 'type':
        if (!isScalar(node, 'text')) this.refuseType(node, owner, SPELLINGS[shape.kind], suggestUnit(node, shape.kind));
        return;
      case 'literal':
        if (node.kind === 'scalar' && node.type === 'null') this.faulty.add(node);
        return;
      case 'steps':
        return this.checkSteps(node, owner);
      case 'step':
        return this.checkStep(node, owner);
      case 'list':
        return this.checkList(node, shape.of, owner);
      case 'names':
        return this.checkNames(node, shape, owner);
      case 'fields':
        return this.checkFields(node, shape, owner);
      case 'variants':
        return this.checkVariants(node, shape, owner);
      case 'choice':
        return this.checkChoice(node, shape, owner);
      default:
        return shape satisfies never;
    }
  }

  private refuseFlag(node: Node, shape: Extract<Shape, { kind: 'flag' }>, owner: Owner): undefined {
    this.refuse(
      node,
      shape.code ?? 'wrong-type',
      `${owner.name} must be ${shape.only ? 'true' : 'true or false'}, found ${describe(node)}`,
      shape.code === undefined ? 'Write true or false.' : undefined,
    );
  }

  private checkValue(node: Node, shape: Extract<Shape, { kind: 'value' }>, owner: Owner): undefined {
    const { type, spelling } = shape;
    const takesList = spelling === 'list' || spelling === 'any value' || (type !== 'any' && type.kind === 'list');
    if (node.kind === 'list' && takesList) {
      for (const item of node.items)
        if (item.kind !== 'scalar')
          this.refuseType(item, { ...owner, name: `an item of ${owner.name}` }, 'a literal or an expression');
      return;
    }
    const takesMap = spelling === 'any value' || (type !== 'any' && type.kind === 'map');
    if (node.kind === 'map' && takesMap) {
      for (const { value } of node.entries)
        if (value.kind !== 'scalar')
          this.refuseType(value, { ...owner, name: `a value of ${owner.name}` }, 'a literal or an expression');
      return;
    }
    if (node.kind === 'map') return this.refuseType(node, owner, addArticle(spelling), suggestForBraces(type));
    if (node.kind === 'list')
      return this.refuseType(node, owner, addArticle(spelling), 'Write one value, without [ ].');
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
    this.refuseType(node, owner, addArticle(spelling), suggestValue(node, type));
  }

  protected checkWord(node: Node, values: readonly string[], owner: Owner): undefined {
    if (!isScalar(node, 'text')) return this.refuseType(node, owner, formatOneOf(values));
    if (values.includes(node.text)) return;
    this.refuse(
      node,
      'unknown-word',
      `${owner.name} must be ${formatOneOf(values)}, found ${quote(node.text)}`,
      hintMeant(suggestWord(node.text, values)) ?? adviseOnWord(node.text),
    );
  }

  private checkText(node: Node, shape: Extract<Shape, { kind: 'text' | 'name' }>, owner: Owner): undefined {
    if (!isScalar(node, 'text'))
      return this.refuseType(node, owner, 'a text', node.kind === 'scalar' ? 'Put it in quotes.' : undefined);
    if (shape.kind === 'name') {
      if (!NAME.test(node.text))
        this.refuse(
          node,
          'invalid-name',
          `${owner.name} must be a name of letters, digits and underscores, found ${quote(node.text)}`,
          suggestName(node.text, NAME),
        );
    } else if (shape.pattern !== undefined) {
      const pattern = new RegExp(shape.pattern, 'u');
      if (!pattern.test(node.text))
        this.refuse(
          node,
          'invalid-text',
          `${owner.name} must be ${shape.accepts ?? 'another text'}, found ${quote(node.text)}`,
          suggestName(node.text, pattern),
        );
    }
  }

  private checkNumber(node: Node, shape: Extract<Shape, { kind: 'integer' | 'number' }>, owner: Owner): undefined {
    const whole = shape.kind === 'integer';
    const max = whole ? shape.max : undefined;
    const range =
      max === undefined ? `at least ${shape.min}` : max === shape.min ? `${max}` : `from ${shape.min} to ${max}`;
    const accepts = max === shape.min ? `the number ${max}` : `a ${whole ? 'whole ' : ''}number ${range}`;
    if (!isScalar(node, 'number'))
      return this.refuseType(node, owner, accepts, 'Write a number: this field takes no expressions.');
    const found = Number(node.text);
    if ((whole && !Number.isInteger(found)) || found < shape.min || (max !== undefined && found > max))
      this.refuse(node, 'out-of-range', `${owner.name} must be ${accepts}, found ${node.text}`);
  }

  private checkList(node: Node, of: Shape, owner: Owner): undefined {
    if (node.kind !== 'list') {
      const isItem = of.kind !== 'word' || (node.kind === 'scalar' && of.values.includes(node.text));
      const inList = isItem && node.kind === 'scalar' ? `Put it in a list: [${shorten(node.text)}].` : undefined;
      const hint = of.kind === 'word' ? `Write a list of ${of.values.join(', ')}.` : 'Begin each item with "- ".';
      return this.refuseType(node, owner, 'a list', inList ?? hint);
    }
    for (const item of node.items)
      this.checkShape(item, of, { name: `an item of ${owner.name}`, span: findFirstKey(item) });
  }

  private checkNames(node: Node, shape: Extract<Shape, { kind: 'names' }>, owner: Owner): undefined {
    if (node.kind !== 'map')
      return this.refuseType(
        node,
        owner,
        'a map from names to values',
        'Write name: value on each line, without a dash.',
      );
    const pattern = shape.free ? FREE_NAME : NAME;
    for (const { key, keySpan, value } of node.entries) {
      if (!pattern.test(key)) {
        this.faulty.add(value);
        this.report(
          keySpan,
          'invalid-name',
          `${quote(key)} in ${owner.name} must be a name of letters, digits and underscores`,
          suggestName(key, pattern),
        );
      }
      this.checkShape(value, shape.of, { name: key, span: keySpan });
    }
  }

  protected checkFields(node: Node, shape: FieldsShape, owner: Owner): undefined {
    if (node.kind !== 'map')
      return this.refuseType(
        node,
        owner,
        Object.keys(shape.fields).length === 0 ? '{}' : 'a map',
        `Write ${describeMap(shape)}.`,
      );
    const codes = shape.codes ?? {};
    for (const { key, keySpan, value } of node.entries) {
      const field = getOwn(shape.fields, key);
      if (field === undefined) this.reportUnknownKey(key, keySpan, Object.keys(shape.fields), owner);
      else this.checkShape(value, field.shape, { name: key, span: keySpan });
    }
    const has = (key: string): boolean => node.get(key) !== undefined;
    for (const [key, field] of Object.entries(shape.fields))
      if (field.required && !has(key) && !node.incomplete && !this.isMisspelt(key, node, shape.fields))
        this.report(
          owner.span,
          codes[key] ?? 'missing-key',
          `${owner.name} needs ${quote(key)}: ${field.doc}`,
          codes[key] === undefined ? `Add ${key}: with ${describeShape(field.shape)}.` : undefined,
        );
    for (const group of shape.atLeastOne ?? [])
      if (!node.incomplete && !group.some(has))
        this.report(
          owner.span,
          codes['atLeastOne'] ?? 'missing-key',
          `${owner.name} needs ${formatList(group.map(quote), 'or')}`,
        );
    for (const group of shape.atMostOne ?? []) {
      const [first, second] = node.entries.filter((entry) => group.includes(entry.key));
      if (first !== undefined && second !== undefined)
        this.report(
          second.keySpan,
          'conflicting-keys',
          `${owner.name} takes ${quote(first.key)} or ${quote(second.key)}, not both`,
        );
    }
    for (const [key, beside] of Object.entries(shape.together ?? {})) {
      const entry = node.entry(key);
      if (entry !== undefined && !node.incomplete && !has(beside))
        this.report(
          entry.keySpan,
          codes[key] ?? 'missing-key',
          `${quote(key)} of ${owner.name} needs ${quote(beside)} beside it`,
          `Add ${beside}: ${getOwn(shape.fields, beside)?.doc ?? 'it goes with the other'}.`,
        );
    }
  }

  private reportUnknownKey(key: string, span: Span, known: readonly string[], owner: Owner): undefined {
    const elsewhere = this.describeElsewhere(key, owner);
    // A word that is known elsewhere is not one of these misspelt.
    const meant = elsewhere === '' ? suggestWord(key, known) : undefined;
    const glued = known.find((each) => key.startsWith(`${each}:`));
    const list = known.length === 0 ? 'It takes no keys.' : `It takes ${known.join(', ')}.`;
    this.report(
      span,
      'unknown-key',
      `${quote(key)} is not a key of ${owner.name}`,
      glued !== undefined
        ? `Put a space after the colon: ${glued}: ${key.slice(glued.length + 1)}`
        : (hintMeant(meant) ?? adviseOnWord(key) ?? `${elsewhere}${list}`),
    );
  }

  /** Whether a missing key is there but misspelt, which has been reported. */
  private isMisspelt(key: string, node: MapNode, known: Fields): boolean {
    return node.entries.some(
      (entry) =>
        getOwn(known, entry.key) === undefined &&
        (entry.key.startsWith(`${key}:`) || suggestWord(entry.key, Object.keys(known)) === key),
    );
  }

  private checkVariants(node: Node, shape: Extract<Shape, { kind: 'variants' }>, owner: Owner): undefined {
    const words = Object.keys(shape.variants);
    if (node.kind !== 'map') return this.refuseType(node, owner, 'a map', suggestVariant(shape.by, words, node));
    const chosen = node.get(shape.by);
    if (chosen === undefined)
      return this.report(owner.span, 'missing-key', `${owner.name} needs ${quote(shape.by)}: ${words.join(', ')}`);
    const variant = chosen.kind === 'scalar' ? getOwn(shape.variants, chosen.text) : undefined;
    if (variant === undefined) {
      this.faulty.add(node);
      return this.checkWord(chosen, words, { name: shape.by, span: chosen.span });
    }
    this.checkFields(node, variant, {
      name: `${owner.name} of ${shape.by} ${chosen.kind === 'scalar' ? chosen.text : ''}`,
      span: owner.span,
    });
  }

  private checkChoice(node: Node, shape: Extract<Shape, { kind: 'choice' }>, owner: Owner): undefined {
    const maps = shape.maps ?? [];
    if (node.kind === 'scalar' && shape.scalar !== undefined) {
      const alone =
        shape.list?.kind === 'list' && shape.list.of.kind === 'word' && shape.list.of.values.includes(node.text);
      return alone
        ? this.refuseType(node, owner, shape.accepts, `Put it in a list: [${node.text}].`)
        : this.checkShape(node, shape.scalar, owner);
    }
    if (node.kind === 'list' && shape.list !== undefined) return this.checkShape(node, shape.list, owner);
    if (node.kind === 'map' && maps.length > 0) {
      const chosen = maps.length === 1 && shape.otherwise === undefined ? maps[0] : this.chooseMap(node, maps);
      if (chosen !== undefined) return this.checkShape(node, chosen.shape, owner);
      if (shape.otherwise !== undefined) return this.checkShape(node, shape.otherwise, owner);
      this.faulty.add(node);
      const known = maps.map(({ by }) => by);
      return this.report(
        owner.span,
        'missing-key',
        `${owner.name} takes ${shape.accepts}; it has neither ${known.map(quote).join(' nor ')}`,
        `Add ${formatList(
          known.map((each) => `${each}:`),
          'or',
        )}.`,
      );
    }
    const [first] = maps;
    const map = first?.shape.kind === 'fields' ? `Write ${describeMap(first.shape)}.` : undefined;
    this.refuseType(node, owner, shape.accepts, map);
  }

  private chooseMap<M extends { readonly by: string }>(node: MapNode, maps: readonly M[]): M | undefined {
    const near = (by: string): boolean => node.entries.some((entry) => suggestSpelling(entry.key, [by]) === by);
    return maps.find(({ by }) => node.get(by) !== undefined) ?? maps.find(({ by }) => near(by));
  }

  protected abstract checkSteps(node: Node, owner: Owner): undefined;
  protected abstract checkStep(node: Node, owner: Owner): undefined;
  /** Where a key that is not allowed here belongs; empty if nowhere. */
  protected abstract describeElsewhere(key: string, owner: Owner): string;
}

function getOwn<T>(table: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(table, key) ? table[key] : undefined;
}

/** The place to point at when a map lacks something: its first key, or the first character. */
export function findFirstKey(node: MapNode | ListNode | ScalarNode): Span {
  const first = node.kind === 'map' ? node.entries[0] : undefined;
  return first?.keySpan ?? { start: node.span.start, end: Math.min(node.span.end, node.span.start + 1) };
}
