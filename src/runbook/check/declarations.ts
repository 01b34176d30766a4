/**
 * Checks the blocks at the head of a file: inputs, feeds, let, def, vars, limits, deadman, concurrency. Each becomes its
 * part of the checked runbook and declares its names. The engine applies them during a run.
 */

import type { Decimal } from '../../base/decimal.ts';
import { omitUndefined } from '../../base/json.ts';
import { hintMeant } from '../../base/spelling.ts';
import { SHORTEST_LIVE_TIMEOUT_MS } from '../../venue/deadman.ts';
import {
  type CheckedRunbook,
  type DeadmanDeclaration,
  type FeedDeclaration,
  type InputDeclaration,
  type LeavesDeclaration,
  type LimitsDeclaration,
  mapLimitAmounts,
  type NamedExpr,
} from '../checked.ts';
import { makeFinding } from '../codes/codes.ts';
import type { ListNode, MapNode, Node } from '../document/nodes.ts';
import { derive, FAULTY } from '../expression/compiler.ts';
import { parseTypeWord, readLiteral } from '../expression/expression.ts';
import { suggestWord } from '../foreign-words.ts';
import { makeRecordType } from '../functions/records.ts';
import { isMarket } from '../functions/term.ts';
import { getElementWord, holdsOrders, TYPE_WORDS, VARIABLE_WORDS } from '../functions/type-words.ts';
import { DURATION, MARKET, NUMBER, PRICE, SIDE, TEXT, TIME } from '../functions/typing.ts';
import { Duration, type Expr, NotKnown, type RecordValue, type Time, type Value, type ValueType } from '../values.ts';
import type { Checking } from './checking.ts';
import { compareValues, findViolation, formatValue, getElementType, isOrdered } from './inputs.ts';

/** Checks the inputs and declares the root `inputs`. */
export function checkInputs(checking: Checking, node: Node | undefined): readonly InputDeclaration[] {
  if (node !== undefined && node.kind !== 'map') checking.names.unknown.add('inputs');
  const inputs: InputDeclaration[] = [];
  for (const { key, value } of listEntries(checking, node)) {
    const declared = readType(checking, value);
    if (declared === undefined || value.kind !== 'map') checking.names.unknown.add(`inputs.${key}`);
    else inputs.push(checkInput(checking, key, declared, value));
  }
  const fields = Object.fromEntries(inputs.map(({ name, type }) => [name, type]));
  checking.defaults = collectDefaults(inputs);
  checking.names.declare('inputs', makeRecordType('Inputs', fields));
  return inputs;
}

function checkInput(checking: Checking, name: string, { type, typeText }: Typed, node: MapNode): InputDeclaration {
  const { source } = checking;
  const element = getElementType(type);
  const word = type.kind === 'list' ? getElementWord(typeText) : typeText;
  const readBound = (key: string, of: ValueType, text: string): Value => {
    const at = node.get(key);
    if (at === undefined || checking.compiler.isFaulty(at)) return undefined;
    const { value, diagnostics } = readLiteral(of, text, at, source);
    checking.add(diagnostics);
    return value;
  };
  const bounded = isOrdered(element);
  for (const key of bounded ? [] : ['min', 'max']) {
    const entry = node.entry(key);
    if (entry !== undefined)
      checking.report(
        entry.keySpan,
        'input-bounds',
        `${name} is a ${typeText}, which is not ordered: ${key} has no meaning`,
      );
  }
  const min = bounded ? readBound('min', element, word) : undefined;
  const max = bounded ? readBound('max', element, word) : undefined;
  if (min !== undefined && max !== undefined && (compareValues(min, max) ?? 0) > 0)
    checking.report(
      node.get('min') ?? node,
      'input-bounds',
      `min of ${name} is ${formatValue(min)}, above its max ${formatValue(max)}`,
    );
  const members = readEnum(checking, node.get('enum'), element, word);
  const byDefault = readBound('default', type, typeText);
  if (node.get('default') !== undefined) checking.defaulted.add(name);
  const bounds = { name, typeText, ...omitUndefined({ min, max, enum: members }) };
  const problem = byDefault === undefined ? undefined : findViolation(bounds, byDefault);
  if (problem !== undefined)
    checking.report(node.get('default') ?? node, problem.code, `the default: ${problem.message}`);
  for (const member of node.get('enum')?.kind === 'list' ? (node.get('enum') as ListNode).items : []) {
    const { value } = readLiteral(element, word, member, source);
    const outside =
      value === undefined ? undefined : findViolation({ name, typeText, ...omitUndefined({ min, max }) }, value);
    if (outside !== undefined) checking.report(member, outside.code, `a member of the enum: ${outside.message}`);
  }
  const narrowed =
    members !== undefined && element.kind === 'text' && element.of === undefined
      ? narrowToMembers(type, members as readonly string[])
      : type;
  return {
    name,
    type: narrowed,
    typeText,
    ...omitUndefined({ default: byDefault, min, max, enum: members, about: getScalarText(node.get('about')) }),
  };
}

/** Narrows a text to the members of its enum, so that a comparison with another text is reported. */
function narrowToMembers(type: ValueType, members: readonly string[]): ValueType {
  if (type.kind === 'list') return { kind: 'list', of: narrowToMembers(type.of, members) };
  return type.kind === 'text' && type.market !== true ? { kind: 'text', of: members } : type;
}

function readEnum(
  checking: Checking,
  node: Node | undefined,
  type: ValueType,
  word: string,
): readonly Value[] | undefined {
  if (node?.kind !== 'list' || checking.compiler.isFaulty(node)) return undefined;
  const members: Value[] = [];
  for (const item of node.items) {
    const { value, diagnostics } = readLiteral(type, word, item, checking.source);
    checking.add(diagnostics);
    if (value !== undefined) members.push(value);
  }
  return members.length === 0 ? undefined : members;
}

/** Checks the feeds and declares the root `feeds`. */
export function checkFeeds(checking: Checking, node: Node | undefined): readonly FeedDeclaration[] {
  if (node !== undefined && node.kind !== 'map') checking.names.unknown.add('feeds');
  const feeds: FeedDeclaration[] = [];
  for (const { key, value } of listEntries(checking, node)) {
    const declared = readType(checking, value);
    if (declared === undefined || value.kind !== 'map') {
      checking.names.unknown.add(`feeds.${key}`);
      continue;
    }
    const { market } = checking.compiler;
    const follows = declared.type.kind !== 'map' && market !== undefined ? { market } : {};
    feeds.push({
      name: key,
      type: declared.type,
      maxAge: readLiteralDuration(checking, value.get('max_age')) ?? new Duration(0),
      ...follows,
    });
  }
  checking.names.declare(
    'feeds',
    makeRecordType('Feeds', Object.fromEntries(feeds.map(({ name, type }) => [name, type]))),
  );
  return feeds;
}

function collectDefaults(inputs: readonly InputDeclaration[]): RecordValue {
  const defaults: Record<string, Value> = Object.create(null);
  for (const { name, default: value } of inputs)
    Object.defineProperty(defaults, name, {
      get() {
        if (value === undefined) throw new NotKnown(`inputs.${name}`);
        return value;
      },
    });
  return defaults;
}

/** Checks the named expressions of `let` or `def`; each may use those before it. */
export function checkNamed(
  checking: Checking,
  node: Node | undefined,
  remember: (name: string, value: Expr) => void = () => {},
): readonly NamedExpr[] {
  const all: NamedExpr[] = [];
  if (node !== undefined && node.kind !== 'map') checking.names.lost = true;
  for (const { key, keySpan, value } of listEntries(checking, node)) {
    if (!checking.mayDeclare(key, keySpan)) {
      checking.compiler.compile(value, 'any');
      continue;
    }
    const expr = checking.compiler.compileNamed(key, value);
    remember(key, expr);
    checking.lets.push({ name: key, span: keySpan });
    all.push({ name: key, value: expr });
  }
  return all;
}

export function checkVars(checking: Checking, node: Node | undefined): CheckedRunbook['vars'] {
  const vars: { name: string; type: ValueType; init: Expr }[] = [];
  if (node !== undefined && node.kind !== 'map') checking.names.lost = true;
  for (const { key, keySpan, value } of listEntries(checking, node)) {
    const declared = readType(checking, value, VARIABLE_WORDS);
    const free = checking.mayDeclare(key, keySpan);
    if (declared === undefined || value.kind !== 'map') checking.names.unknown.add(key);
    else {
      const init = checking.compiler.compile(value.get('init'), declared.type);
      if (!free) continue;
      checking.names.declare(key, declared.type);
      checking.vars.set(key, declared.type);
      checking.lets.push({ name: key, span: keySpan });
      vars.push({ name: key, type: declared.type, init });
    }
  }
  return vars;
}

/** `protected` where the key is missing or refused: the default that hides no bare position. */
export function readLeaves(node: Node | undefined): LeavesDeclaration {
  const field = (key: string) => (node?.kind === 'map' ? getScalarText(node.get(key)) : undefined);
  // What is written and cannot be read has been reported: nothing is to follow from it.
  const position = node === undefined ? 'protected' : field('position');
  return {
    position: position === 'none' || position === 'protected' ? position : 'open',
    ...omitUndefined({ because: field('because') }),
  };
}

export function checkLimits(checking: Checking, node: Node | undefined): LimitsDeclaration | undefined {
  if (node?.kind !== 'map' || checking.compiler.isFaulty(node)) return undefined;
  const { compiler } = checking;
  const compileList = (key: string, type: ValueType): readonly Expr<string>[] | undefined => {
    const at = node.get(key);
    return at?.kind === 'list' ? at.items.map((item) => compiler.compile<string>(item, type)) : undefined;
  };
  const compileAmount = (key: string, type: ValueType): Expr<Decimal> | undefined => {
    const at = node.get(key);
    if (at === undefined) return undefined;
    const expr = compiler.compile<Decimal>(at, type);
    const value = compiler.evaluateConstant(expr);
    if (value !== undefined && !value.greaterThan(0))
      checking.report(at, 'limit-out-of-range', `${key} must be above zero, found ${value.toFixed()}`);
    return expr;
  };
  const bands = listBands(checking, node.get('price_band'));
  const mode = getScalarText(node.get('mode')) as LimitsDeclaration['mode'];
  const limits = omitUndefined({
    markets: compileList('markets', MARKET),
    sides: compileList('sides', SIDE),
    ...mapLimitAmounts((_name, { key, unit }) => compileAmount(key, unit)),
    unknownPrice: getScalarText(node.get('unknown_price')) === 'deny' ? 'deny' : undefined,
    priceBands: bands?.map(({ market, node: at }) => ({
      ...omitUndefined({ market }),
      around: compiler.compile<Decimal>(at.get('around'), PRICE),
      within: compiler.compile<Decimal>(at.get('within'), NUMBER),
    })),
    mode: compiler.isFaulty(node.get('mode')) ? undefined : mode,
  }) as LimitsDeclaration;
  for (const [index, band] of (limits.priceBands ?? []).entries()) {
    const within = compiler.evaluateConstant(band.within);
    if (within !== undefined && !(within.greaterThan(0) && within.lessThan(1)))
      checking.report(
        bands?.[index]?.node.get('within') ?? node,
        'limit-out-of-range',
        `within must be above 0 and below 1, found ${within.toFixed()}: a band as wide as the price limits nothing`,
        within.greaterThan(0) ? `Did you mean ${within.toFixed()}%?` : 'Use a ratio above zero, such as 3%.',
      );
  }
  const leverage = compiler.evaluateConstant(limits.maxLeverage);
  if (leverage?.greaterThan(20))
    checking.report(
      node.get('max_leverage') ?? node,
      'leverage-out-of-range',
      `max_leverage must be a whole number from 1 to 20, found ${leverage.toFixed()}`,
    );
  checking.limits = evaluateConstantLimits(checking, limits);
  return limits;
}

/** The bands as they are written: one for every market, or one by market. */
function listBands(
  checking: Checking,
  node: Node | undefined,
): readonly { readonly market?: string; readonly node: MapNode }[] | undefined {
  if (node?.kind !== 'map' || checking.compiler.isFaulty(node)) return undefined;
  if (node.get('around') !== undefined || node.get('within') !== undefined) return [{ node }];
  return node.entries.flatMap(({ key, keySpan, value }) => {
    if (!isMarket(key))
      checking.add([
        makeFinding(
          checking.source,
          keySpan,
          'market-form',
          `a market id is <BASE>-<QUOTE>, found ${JSON.stringify(key)}`,
        ),
      ]);
    return value.kind === 'map' && !checking.compiler.isFaulty(value) ? [{ market: key, node: value }] : [];
  });
}

function evaluateConstantLimits(checking: Checking, limits: LimitsDeclaration): Checking['limits'] {
  const { compiler } = checking;
  const all = (exprs: readonly Expr<string>[] | undefined): readonly string[] | undefined => {
    const values = exprs?.map((expr) => compiler.evaluateConstant(expr));
    return values?.every((value) => value !== undefined) ? values : undefined;
  };
  const bands = limits.priceBands?.flatMap(({ market, ...band }) => {
    const around = compiler.evaluateConstant(band.around);
    const within = compiler.evaluateConstant(band.within);
    return within === undefined ? [] : [{ ...omitUndefined({ market, around }), within }];
  });
  return omitUndefined({
    bands,
    markets: all(limits.markets),
    sides: all(limits.sides),
    ...mapLimitAmounts((name) => compiler.evaluateConstant(limits[name])),
    mode: limits.mode ?? 'active',
  }) as Checking['limits'];
}

export function checkDeadman(checking: Checking, root: MapNode): DeadmanDeclaration | undefined {
  const entry = root.entry('deadman');
  const node = entry?.value;
  if (entry === undefined || node?.kind !== 'map' || checking.compiler.isFaulty(node)) return undefined;
  const { compiler } = checking;
  const timeoutAt = node.get('timeout');
  const timeout = compiler.compile<Duration>(timeoutAt, DURATION);
  const keepAliveAt = node.get('keep_alive');
  const keepAlive = keepAliveAt === undefined ? undefined : compiler.compile<Duration>(keepAliveAt, DURATION);
  const onExit = getScalarText(node.get('on_exit'));
  const length = compiler.evaluateConstant(timeout);
  const pause = compiler.evaluateConstant(keepAlive);
  checkTimeout(checking, timeoutAt, length);
  if (length !== undefined && pause !== undefined && keepAliveAt !== undefined && pause.ms >= length.ms)
    checking.report(
      keepAliveAt,
      'deadman-keep-alive',
      `keep_alive ${formatValue(pause)} is not shorter than the timeout ${formatValue(length)}`,
    );
  return {
    market: compiler.compile<string>(node.get('market'), MARKET),
    timeout,
    ...omitUndefined({ keepAlive, releaseAfter: getScalarText(node.get('release_after')) }),
    onExit: onExit === 'leave_armed' ? onExit : 'disarm',
    span: entry.span,
  };
}

export function checkTimeout(checking: Checking, at: Node | undefined, timeout: Duration | undefined): void {
  if (at === undefined || timeout === undefined) return;
  if (timeout.ms < 1)
    checking.report(at, 'deadman-timeout', `the deadman timeout must be at least 1ms, found ${formatValue(timeout)}`);
  else if (timeout.ms < SHORTEST_LIVE_TIMEOUT_MS)
    checking.report(
      at,
      'deadman-timeout-short',
      `a deadman timeout of ${formatValue(timeout)} is refused in a live run, which needs at least 5s`,
    );
}

export function checkConcurrency(checking: Checking, node: Node | undefined): CheckedRunbook['concurrency'] {
  if (node?.kind !== 'map' || checking.compiler.isFaulty(node)) return undefined;
  const onBusy = getScalarText(node.get('on_busy'));
  const key = checking.compiler.compile<string>(node.get('key'), TEXT);
  // No run would hold a key that is not known yet, and two runs would silently run at the same time.
  const others = (key as Expr) === FAULTY ? [] : key.reads.filter((root) => root !== 'inputs');
  if (others.length > 0)
    checking.report(
      node.get('key') ?? node,
      'concurrency-key',
      `a concurrency key can only read inputs, found ${others.join(', ')}`,
    );
  return {
    key,
    onBusy: onBusy === 'skip' || onBusy === 'fail' ? onBusy : 'queue',
  };
}

/**
 * Finds the default market of `tick`, `lot` and feeds: the only one of `limits.markets`, else the only input of type market,
 * else the deadman's. With two candidates there is no default, because a guess could be wrong.
 */
export function findDefaultMarket(
  limitMarkets: readonly Expr<string>[] | undefined,
  inputs: readonly InputDeclaration[],
  deadmanMarket: Expr<string> | undefined,
): Expr<string> | undefined {
  if (limitMarkets !== undefined && limitMarkets.length > 0)
    return limitMarkets.length === 1 ? dropFaulty(limitMarkets[0]) : undefined;
  const markets = inputs.filter(({ type }) => type.kind === 'text' && type.market === true);
  const [only] = markets;
  if (markets.length === 1 && only !== undefined)
    return derive({ text: `\${inputs.${only.name}}`, type: MARKET, reads: ['inputs'] }, (scope) =>
      String((scope.get('inputs') as RecordValue)[only.name]),
    );
  return dropFaulty(deadmanMarket);
}

function dropFaulty(expr: Expr<string> | undefined): Expr<string> | undefined {
  return (expr as Expr | undefined) === FAULTY ? undefined : expr;
}

interface Typed {
  readonly type: ValueType;
  readonly typeText: string;
}

/** Reads the declared type of an input, feed or variable; reports an unknown word. */
function readType(checking: Checking, node: Node, words = TYPE_WORDS): Typed | undefined {
  const at = node.kind === 'map' ? node.get('type') : undefined;
  if (at?.kind !== 'scalar' || checking.compiler.isFaulty(at)) return undefined;
  const known = parseTypeWord(at.text);
  const type = known !== undefined && words === TYPE_WORDS && holdsOrders(known) ? undefined : known;
  if (type === undefined) {
    const what = known === undefined ? 'is not a type' : 'is a type of variables alone: orders exist only in a run';
    checking.report(
      at,
      'unknown-type',
      `${JSON.stringify(at.text)} ${what}; types are ${words.join(', ')}`,
      hintMeant(known === undefined ? suggestWord(at.text, words) : undefined),
    );
  }
  return type && { type, typeText: at.text.trim() };
}

const makeLiteralReader =
  <T extends Value>(type: ValueType, word: string) =>
  (checking: Checking, node: Node | undefined): T | undefined => {
    if (node === undefined || checking.compiler.isFaulty(node)) return undefined;
    const { value, diagnostics } = readLiteral(type, word, node, checking.source);
    checking.add(diagnostics);
    return value as T | undefined;
  };

export const readLiteralDuration = makeLiteralReader<Duration>(DURATION, 'duration');
export const readLiteralTime = makeLiteralReader<Time>(TIME, 'time');

export function getScalarText(node: Node | undefined): string | undefined {
  return node?.kind === 'scalar' ? node.text : undefined;
}

function listEntries(checking: Checking, node: Node | undefined): MapNode['entries'] {
  return node?.kind === 'map' && !checking.compiler.isFaulty(node) ? node.entries : [];
}
