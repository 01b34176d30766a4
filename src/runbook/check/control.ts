/**
 * The verbs that call nothing by themselves: names, conditions, waits, loops, branches, calls of other runbooks, people,
 * ends. One function a verb; lists of steps are checked by whoever passes `steps` in, so that this file knows no modifier.
 */
import type { Decimal } from '../../base/decimal.ts';
import { didYouMean } from '../../base/spelling.ts';
import type { CheckedStep, NamedExpr, Verb } from '../checked.ts';
import type { MapNode, Node } from '../document/nodes.ts';
import { FAULTY } from '../expression/compiler.ts';
import { type Declared, optional } from '../expression/scope.ts';
import { ORDER, recordType } from '../functions/records.ts';
import { DURATION, INTEGER } from '../functions/typing.ts';
import { verbOf } from '../shape/walk.ts';
import { stepRow } from '../steps.ts';
import type { Duration, Expr, RecordValue, Time, Value, ValueType } from '../values.ts';
import type { Built, BuiltStep, Site } from './built-step.ts';
import { call } from './calls.ts';
import type { Checking } from './checking.ts';
import { defined, textOf } from './declarations.ts';
import { fieldsOf, mapShape, mismatch, Reader } from './field-reader.ts';
import { valueText } from './inputs.ts';
import { assume, assured, checkCondition } from './modifiers.ts';

type ControlVerb = Exclude<Verb, keyof typeof import('./arguments.ts')['VENUE_ARGS']>;

const CONTROL = {
  let: letNames,
  set: setVariables,
  assert: (checking, node) => {
    const condition = checkCondition(checking, node, 'assert');
    return { args: { condition }, yields: undefined, assures: assured(condition) };
  },
  wait,
  wait_for: waitFor,
  for_each: forEach,
  repeat,
  parallel,
  switch: switchCases,
  call,
  approve: (checking, node) => {
    const read = new Reader(checking, node, fieldsOf('approve'));
    const by = read.at('by');
    const roles = by?.kind === 'list' ? by.items.map((item) => textOf(item) ?? '') : [];
    const args = {
      ask: read.expr<string>('ask'),
      by: roles,
      within: read.expr<Duration>('within'),
      onTimeout: read.word('on_timeout') === 'fail' ? 'fail' : 'reject',
    } as const;
    return { args, yields: undefined };
  },
  notify: (checking, node) => {
    const read = new Reader(checking, node, fieldsOf('notify'));
    return { args: { to: read.word('to') ?? '', text: read.expr<string>('text') }, yields: undefined };
  },
  stop: (checking, node) => {
    const read = new Reader(checking, node, fieldsOf('stop'));
    return {
      args: { outcome: read.word('outcome') ?? '' },
      yields: undefined,
      ends: true,
      ...defined({ because: read.optional<string>('because') }),
    };
  },
  fail: (checking, node) => ({
    args: {},
    yields: undefined,
    ends: true,
    because: new Reader(checking, node, fieldsOf('fail')).expr<string>('because'),
  }),
} as const satisfies { [V in ControlVerb]: (checking: Checking, node: Node, site: Site) => Built<V> };

export function buildControl(checking: Checking, verb: Verb, node: Node, site: Site): BuiltStep {
  return CONTROL[verb as ControlVerb](checking, node, site);
}

/** Each name sees those before it in the same step. */
function letNames(checking: Checking, node: Node): Built<'let'> {
  const names: NamedExpr[] = [];
  const hoisted: Declared[] = [];
  for (const { key, keySpan, value } of entriesOf(node)) {
    if (!checking.mayDeclare(key, keySpan)) {
      checking.compiler.value(value, 'any');
      continue;
    }
    const expr = checking.compiler.named(key, value);
    names.push({ name: key, value: expr });
    hoisted.push({ name: key, type: expr.type, value: expr });
    checking.lets.push({ name: key, span: keySpan });
  }
  return { args: { names }, yields: undefined, hoisted };
}

function setVariables(checking: Checking, node: Node): Built<'set'> {
  const names: NamedExpr[] = [];
  for (const { key, keySpan, value } of entriesOf(node)) {
    const type = checking.vars.get(key);
    if (type === undefined && !checking.names.unknown.has(key) && !checking.names.lost) {
      const known = [...checking.vars.keys()];
      const meant = didYouMean(key, known);
      const what = checking.names.roots.has(key) ? `${key} is not a variable` : `there is no variable ${key}`;
      checking.report(
        keySpan,
        'unknown-variable',
        `${what}; vars declares ${known.join(', ') || 'none'}`,
        meant && `Did you mean ${meant}?`,
      );
    }
    names.push({ name: key, value: checking.compiler.value(value, type ?? 'any') });
  }
  return { args: { names }, yields: undefined };
}

function wait(checking: Checking, node: Node): Built<'wait'> {
  if (node.kind !== 'map')
    return { args: { kind: 'for', for: checking.compiler.value<Duration>(node, DURATION) }, yields: undefined };
  const read = new Reader(checking, node, mapShape('wait', node));
  if (node.get('until') !== undefined)
    return { args: { kind: 'until', until: read.expr<Time>('until') }, yields: undefined };
  return { args: { kind: 'for', for: read.expr<Duration>('for') }, yields: undefined };
}

/** An order named by a path of names, so that what is known of it can be noted. */
const PLAIN_PATH = /^[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*$/;

function waitFor(checking: Checking, node: Node, site: Site): Built<'wait_for'> {
  if (node.kind !== 'map') return { args: { kind: 'order', order: FAULTY, is: 'live', within: FAULTY }, yields: ORDER };
  const read = new Reader(checking, node, mapShape('wait_for', node));
  if (node.get('read') !== undefined) return waitForRead(checking, node, read, site);
  const order = read.expr<RecordValue>('order');
  const is = (read.word('is') ?? 'live') as 'live' | 'any_fill' | 'filled' | 'terminal';
  const path = order.text.trim();
  const assures = (is === 'any_fill' || is === 'filled') && PLAIN_PATH.test(path) ? [`${path}.avg_price`] : [];
  return { args: { kind: 'order', order, is, within: read.expr<Duration>('within') }, yields: ORDER, assures };
}

function waitForRead(checking: Checking, node: MapNode, fields: Reader, site: Site): Built<'wait_for'> {
  const inner = node.get('read');
  const verb = inner?.kind === 'map' ? verbOf(inner) : undefined;
  const every = fields.expr<Duration>('every');
  const within = fields.expr<Duration>('within');
  positiveDuration(checking, fields.at('every'), every, 'every');
  if (inner?.kind !== 'map' || verb === undefined) {
    const id = inner?.kind === 'map' ? textOf(inner.get('id')) : undefined;
    if (id !== undefined) checking.names.unknown.add(id);
    return { args: { kind: 'order', order: FAULTY, is: 'live', within }, yields: undefined };
  }
  if (stepRow(verb).retry !== 'read' || verb === 'refresh_session')
    checking.report(
      inner.entry(verb)?.keySpan ?? inner,
      'read-not-a-read',
      `wait_for repeats a read, and ${verb} is none`,
    );
  const read = checking.names.enter();
  const step = site.steps.one(checking, inner, verb, site.path);
  const until = checkCondition(checking, node.get('until'), 'until');
  const hoisted = checking.names.leave(read);
  for (const { name, type } of hoisted) checking.names.declare(name, type);
  return {
    args: { kind: 'read', read: step, until, every, within },
    yields: hoisted[0]?.type,
    hoisted,
    assures: assured(until),
  };
}

function forEach(checking: Checking, node: Node, site: Site): Built<'for_each'> {
  const fields = new Reader(checking, node, fieldsOf('for_each'));
  const list = listOf(checking, fields);
  const each = fields.word('each') ?? '';
  const at = fields.word('at');
  const kept = fields.at('collect');
  let collect: readonly NamedExpr[] | undefined;
  const block = site.steps.inner(
    checking,
    fields.at('do'),
    `${site.path}/do`,
    () => {
      declareItem(checking, fields.at('each'), each, list.item);
      if (at !== undefined) declareItem(checking, fields.at('at'), at, INTEGER);
    },
    () => {
      if (kept !== undefined)
        collect = entriesOf(kept).map(({ key, value }) => ({
          name: key,
          value: checking.compiler.value(value, 'any'),
        }));
    },
  );
  const record =
    collect &&
    recordType(`round of ${site.path}`, Object.fromEntries(collect.map(({ name, value }) => [name, value.type])));
  const sound = collect?.every(({ value }) => value !== FAULTY) ?? true;
  return {
    args: { each, in: list.expr, do: block.steps, ...defined({ at, collect }) },
    yields: record && (sound ? { kind: 'list', of: record } : FAULTY.type),
  };
}

function repeat(checking: Checking, node: Node, site: Site): Built<'repeat'> {
  const fields = new Reader(checking, node, fieldsOf('repeat'));
  const every = fields.optional<Duration>('every');
  const bound = fields.optional<Duration>('for');
  const max = fields.optional<Decimal>('max');
  positiveDuration(checking, fields.at('every'), every, 'every');
  positiveDuration(checking, fields.at('for'), bound, 'for');
  positiveCount(checking, fields.at('max'), max, 'max of repeat');
  const condition =
    fields.at('while') === undefined ? undefined : checkCondition(checking, fields.at('while'), 'while');
  let until: Expr<boolean> | undefined;
  const block = site.steps.inner(
    checking,
    fields.at('do'),
    `${site.path}/do`,
    () => condition && assume(checking, condition),
    () => {
      until = fields.at('until') === undefined ? undefined : checkCondition(checking, fields.at('until'), 'until');
    },
  );
  return {
    args: { ...defined({ every, for: bound, max, while: condition, until }), do: block.steps },
    yields: undefined,
  };
}

function parallel(checking: Checking, node: Node, site: Site): Built<'parallel'> {
  if (node.kind !== 'map')
    return { args: { kind: 'branches', branches: [], join: 'all', onFail: 'cancel_others' }, yields: undefined };
  const fields = new Reader(checking, node, mapShape('parallel', node));
  const onFail = fields.word('on_fail') === 'let_others_finish' ? 'let_others_finish' : 'cancel_others';
  if (node.get('branches') === undefined) {
    const list = listOf(checking, fields);
    const each = fields.word('each') ?? '';
    const max = fields.expr<Decimal>('max');
    positiveCount(checking, fields.at('max'), max, 'max of parallel');
    const block = site.steps.inner(checking, fields.at('do'), `${site.path}/do`, () =>
      declareItem(checking, fields.at('each'), each, list.item),
    );
    return { args: { kind: 'each', each, in: list.expr, max, do: block.steps, onFail }, yields: undefined };
  }
  const join = fields.word('join') === 'any' ? 'any' : 'all';
  const certain = join === 'all' && onFail === 'cancel_others';
  const hoisted: Declared[] = [];
  let ends = false;
  const branches = entriesOf(fields.at('branches')).map(({ key, value }) => {
    const block = site.steps.inner(checking, value, `${site.path}/branches/${key}`);
    ends ||= block.ends && join === 'all';
    hoisted.push(...block.declared.map(({ name, type }) => ({ name, type: certain ? type : optional(type) })));
    return { name: key, do: block.steps };
  });
  return {
    args: { kind: 'branches', branches, join, onFail },
    yields: undefined,
    hoisted: idsAmong(checking, hoisted),
    ends,
  };
}

function switchCases(checking: Checking, node: Node, site: Site): Built<'switch'> {
  const cases: { when: Expr<boolean>; do: readonly CheckedStep[] }[] = [];
  const hoisted: Declared[] = [];
  let otherwise: readonly CheckedStep[] | undefined;
  let ends = true;
  for (const [index, item] of (node.kind === 'list' ? node.items : []).entries()) {
    if (item.kind !== 'map') continue;
    if (otherwise !== undefined)
      checking.report(
        item.entries[0]?.keySpan ?? item,
        'else-not-last',
        '`else` must be the last case, and the only one of its kind',
      );
    const when = item.get('when') === undefined ? undefined : checkCondition(checking, item.get('when'), 'when');
    const block = site.steps.inner(
      checking,
      item.get(when === undefined ? 'else' : 'do'),
      when === undefined ? `${site.path}/else` : `${site.path}/case/${index + 1}`,
      () => {
        if (when !== undefined) assume(checking, when);
      },
    );
    hoisted.push(...block.declared.map(({ name, type }) => ({ name, type: optional(type) })));
    ends &&= block.ends;
    if (when === undefined) otherwise ??= block.steps;
    else cases.push({ when, do: block.steps });
  }
  return {
    args: { cases, ...defined({ else: otherwise }) },
    yields: undefined,
    hoisted: idsAmong(checking, hoisted),
    ends: ends && otherwise !== undefined,
  };
}

/** Only ids are known after the block they stand in; names of lets are not. */
function idsAmong(checking: Checking, declared: readonly Declared[]): readonly Declared[] {
  return declared.filter(({ name }) => checking.ids.has(name));
}

/** The list a loop goes over, and what its items are. */
function listOf(
  checking: Checking,
  fields: Reader,
): { readonly expr: Expr<readonly Value[]>; readonly item: ValueType | undefined } {
  const expr = fields.expr<readonly Value[]>('in');
  if ((expr as Expr) === FAULTY) return { expr, item: undefined };
  if (expr.type.kind === 'list') return { expr, item: expr.type.of };
  mismatch(checking, fields.need('in'), 'in takes a list', expr.type);
  return { expr: FAULTY, item: undefined };
}

function declareItem(checking: Checking, at: Node | undefined, name: string, type: ValueType | undefined): void {
  if (name === '' || at === undefined || !checking.mayDeclare(name, at.span)) return;
  checking.names.declare(name, type ?? FAULTY.type);
  if (type === undefined) checking.names.unknown.add(name);
  else checking.names.unknown.delete(name);
}

function positiveDuration(
  checking: Checking,
  at: Node | undefined,
  expr: Expr<Duration> | undefined,
  what: string,
): void {
  const value = checking.compiler.constant(expr);
  if (at !== undefined && value !== undefined && value.ms <= 0)
    checking.report(at, 'duration-not-positive', `${what} must be longer than nothing, found ${valueText(value)}`);
}

function positiveCount(checking: Checking, at: Node | undefined, expr: Expr<Decimal> | undefined, what: string): void {
  const value = checking.compiler.constant(expr);
  if (at && value?.lessThan(1))
    checking.report(at, 'out-of-range', `${what} must be at least 1, found ${value.toFixed()}`);
}

function entriesOf(node: Node | undefined): MapNode['entries'] {
  return node?.kind === 'map' ? node.entries : [];
}
