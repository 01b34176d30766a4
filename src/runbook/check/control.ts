/**
 * Checks the arguments of the steps that do not call the venue: names, conditions, waits, loops, branches, calls of other
 * runbooks, approvals, ends. One function for each step. The caller passes in `steps`, which checks inner lists of steps.
 */

import type { Decimal } from '../../base/decimal.ts';
import { omitUndefined } from '../../base/json.ts';
import { hintMeant, suggestSpelling } from '../../base/spelling.ts';
import { NOTICE_SEVERITIES } from '../../venue/profile/setting-form.ts';
import type { CheckedStep, NamedExpr, StepName } from '../checked.ts';
import { listEntries, type MapNode, type Node } from '../document/nodes.ts';
import { FAULTY } from '../expression/compiler.ts';
import { findTree, isBare } from '../expression/expression.ts';
import { type Declared, makeOptional } from '../expression/scope.ts';
import { findPath } from '../expression/tree.ts';
import { FIRST_ORDER, makeRecordType, ORDER } from '../functions/records.ts';
import { DURATION, findUnit, INTEGER } from '../functions/typing.ts';
import { stepNameOf } from '../shape/walk.ts';
import { getStepRow, type VenueStepName } from '../steps/steps.ts';
import type { Duration, Expr, RecordValue, Time, Value, ValueType } from '../values.ts';
import type { Built, BuiltStep, Site } from './built-step.ts';
import { checkCall } from './calls.ts';
import type { Checking } from './checking.ts';
import { getScalarText } from './declarations.ts';
import { chooseMapShape, FieldReader, getFieldsShape, reportMismatch } from './field-reader.ts';
import { formatValue } from './inputs.ts';
import { assume, checkCondition, listAssured, listAssuredOtherwise } from './modifiers.ts';

type ControlStepName = Exclude<StepName, VenueStepName>;

const CONTROL = {
  let: letNames,
  set: setVariables,
  assert: (checking, node) => {
    const condition = checkCondition(checking, node, 'assert');
    return { args: { condition }, yields: undefined, assures: listAssured(condition) };
  },
  wait: buildWait,
  wait_for: buildWaitFor,
  for_each: buildForEach,
  repeat: buildRepeat,
  parallel: buildParallel,
  if: buildIf,
  switch: buildSwitch,
  call: checkCall,
  approve: (checking, node) => {
    const read = new FieldReader(checking, node, getFieldsShape('approve'));
    const by = read.find('by');
    const roles = by?.kind === 'list' ? by.items.map((item) => getScalarText(item) ?? '') : [];
    const args = {
      ask: read.compile<string>('ask'),
      by: roles,
      within: read.compile<Duration>('within'),
      onTimeout: read.readWord('on_timeout') === 'fail' ? 'fail' : 'reject',
    } as const;
    return { args, yields: undefined };
  },
  notify: (checking, node) => {
    const read = new FieldReader(checking, node, getFieldsShape('notify'));
    const severity = NOTICE_SEVERITIES.find((each) => each === read.readWord('severity'));
    const args = { to: read.readWord('to') ?? '', text: read.compile<string>('text'), ...omitUndefined({ severity }) };
    return { args, yields: undefined };
  },
  stop: (checking, node) => {
    const read = new FieldReader(checking, node, getFieldsShape('stop'));
    return {
      args: { outcome: read.readWord('outcome') ?? '' },
      yields: undefined,
      ends: true,
      ...omitUndefined({ because: read.compileOptional<string>('because') }),
    };
  },
  fail: (checking, node) => ({
    args: {},
    yields: undefined,
    ends: true,
    because: new FieldReader(checking, node, getFieldsShape('fail')).compile<string>('because'),
  }),
} as const satisfies { [V in ControlStepName]: (checking: Checking, node: Node, site: Site) => Built<V> };

export function buildControl(checking: Checking, stepName: StepName, node: Node, site: Site): BuiltStep {
  return CONTROL[stepName as ControlStepName](checking, node, site);
}

/** Each name can use those before it in the same step. */
function letNames(checking: Checking, node: Node): Built<'let'> {
  const names: NamedExpr[] = [];
  const hoisted: Declared[] = [];
  for (const { key, keySpan, value } of listEntries(node)) {
    if (!checking.mayDeclare(key, keySpan)) {
      checking.compiler.compile(value, 'any');
      continue;
    }
    const expr = checking.compiler.compileNamed(key, value);
    names.push({ name: key, value: expr });
    hoisted.push({ name: key, type: expr.type, value: expr });
    checking.lets.push({ name: key, span: keySpan });
  }
  return { args: { names }, yields: undefined, hoisted };
}

function setVariables(checking: Checking, node: Node): Built<'set'> {
  const names: NamedExpr[] = [];
  for (const { key, keySpan, value } of listEntries(node)) {
    const type = checking.vars.get(key);
    if (type === undefined && !checking.names.unknown.has(key) && !checking.names.lost) {
      const known = [...checking.vars.keys()];
      const what = checking.names.roots.has(key) ? `${key} is not a variable` : `there is no variable ${key}`;
      checking.report(
        keySpan,
        'unknown-variable',
        `${what}; vars declares ${known.join(', ') || 'none'}`,
        hintMeant(suggestSpelling(key, known)),
      );
    }
    names.push({ name: key, value: checking.compiler.compile(value, type ?? 'any') });
  }
  return { args: { names }, yields: undefined };
}

function buildWait(checking: Checking, node: Node): Built<'wait'> {
  if (node.kind !== 'map')
    return { args: { kind: 'for', for: checking.compiler.compile<Duration>(node, DURATION) }, yields: undefined };
  const read = new FieldReader(checking, node, chooseMapShape('wait', node));
  if (node.get('until') !== undefined)
    return { args: { kind: 'until', until: read.compile<Time>('until') }, yields: undefined };
  return { args: { kind: 'for', for: read.compile<Duration>('for') }, yields: undefined };
}

function buildWaitFor(checking: Checking, node: Node, site: Site): Built<'wait_for'> {
  if (node.kind !== 'map') return { args: { kind: 'order', order: FAULTY, is: 'live', within: FAULTY }, yields: ORDER };
  const read = new FieldReader(checking, node, chooseMapShape('wait_for', node));
  if (node.get('read') !== undefined) return buildWaitForRead(checking, node, read, site);
  if (node.get('order') === undefined && node.get('any') === undefined && node.get('until') !== undefined)
    return buildWaitForCondition(checking, read);
  const is = (read.readWord('is') ?? 'live') as 'live' | 'any_fill' | 'filled' | 'terminal';
  const within = read.compile<Duration>('within');
  const shows = is === 'any_fill' || is === 'filled';
  if (node.get('any') !== undefined) {
    const id = getScalarText(site.node.get('id'));
    return {
      args: { kind: 'any', any: read.compile<readonly RecordValue[]>('any'), is, within },
      yields: FIRST_ORDER,
      assures: shows && id !== undefined ? [`${id}.order.avg_price`] : [],
    };
  }
  const order = read.compile<RecordValue>('order');
  // Facts can be recorded about an order that is given by a path of names.
  const tree = findTree(order);
  const path = tree && findPath(tree);
  const assures = shows && path !== undefined ? [`${path}.avg_price`] : [];
  return { args: { kind: 'order', order, is, within }, yields: ORDER, early: true, assures };
}

function buildWaitForCondition(checking: Checking, read: FieldReader): Built<'wait_for'> {
  const every = read.compileOptional<Duration>('every');
  checkPositiveDuration(checking, read.find('every'), every, 'every');
  const until = checkCondition(checking, read.find('until'), 'until');
  return {
    args: { kind: 'until', until, ...omitUndefined({ every }), within: read.compile<Duration>('within') },
    yields: undefined,
    assures: listAssured(until),
  };
}

function buildWaitForRead(checking: Checking, node: MapNode, fields: FieldReader, site: Site): Built<'wait_for'> {
  const inner = node.get('read');
  const stepName = inner?.kind === 'map' ? stepNameOf(inner) : undefined;
  const every = fields.compile<Duration>('every');
  const within = fields.compile<Duration>('within');
  checkPositiveDuration(checking, fields.find('every'), every, 'every');
  if (inner?.kind !== 'map' || stepName === undefined) {
    const id = inner?.kind === 'map' ? getScalarText(inner.get('id')) : undefined;
    if (id !== undefined) checking.names.unknown.add(id);
    return { args: { kind: 'order', order: FAULTY, is: 'live', within }, yields: undefined };
  }
  const { retry, yields } = getStepRow(stepName);
  if (retry !== 'read' || yields === 'nothing')
    checking.report(
      inner.entry(stepName)?.keySpan ?? inner,
      'read-not-a-read',
      `wait_for repeats a read, and ${stepName} is not one`,
    );
  const read = checking.names.enter();
  const step = site.steps.one(checking, inner, stepName, site.path);
  const until = checkCondition(checking, node.get('until'), 'until');
  const hoisted = checking.names.leave(read);
  for (const { name, type } of hoisted) checking.names.declare(name, type);
  return {
    args: { kind: 'read', read: step, until, every, within },
    yields: hoisted[0]?.type,
    hoisted,
    early: true,
    assures: listAssured(until),
  };
}

function buildForEach(checking: Checking, node: Node, site: Site): Built<'for_each'> {
  const fields = new FieldReader(checking, node, getFieldsShape('for_each'));
  const list = compileList(checking, fields);
  const each = fields.readWord('each') ?? '';
  const at = fields.readWord('at');
  const kept = fields.find('collect');
  let collect: readonly NamedExpr[] | undefined;
  const block = site.steps.inner(
    checking,
    fields.find('do'),
    `${site.path}/do`,
    () => {
      declareItem(checking, fields.find('each'), each, list.item);
      if (list.bare) checking.names.bare.add(each);
      if (at !== undefined) declareItem(checking, fields.find('at'), at, INTEGER);
    },
    () => {
      if (kept !== undefined)
        collect = listEntries(kept).map(({ key, value }) => ({
          name: key,
          value: checking.compiler.compile(value, 'any'),
        }));
    },
  );
  checking.forgetRound('for_each', block.declared);
  const record =
    collect &&
    makeRecordType(`round of ${site.path}`, Object.fromEntries(collect.map(({ name, value }) => [name, value.type])));
  const sound = collect?.every(({ value }) => value !== FAULTY) ?? true;
  return {
    args: { each, in: list.expr, do: block.steps, ...omitUndefined({ at, collect }) },
    yields: record && (sound ? { kind: 'list', of: record } : FAULTY.type),
  };
}

function buildRepeat(checking: Checking, node: Node, site: Site): Built<'repeat'> {
  const fields = new FieldReader(checking, node, getFieldsShape('repeat'));
  const every = fields.compileOptional<Duration>('every');
  const bound = fields.compileOptional<Duration>('for');
  const max = fields.compileOptional<Decimal>('max');
  checkPositiveDuration(checking, fields.find('every'), every, 'every');
  checkPositiveDuration(checking, fields.find('for'), bound, 'for');
  checkPositiveCount(checking, fields.find('max'), max, 'max of repeat');
  const condition =
    fields.find('while') === undefined ? undefined : checkCondition(checking, fields.find('while'), 'while');
  let until: Expr<boolean> | undefined;
  const block = site.steps.inner(
    checking,
    fields.find('do'),
    `${site.path}/do`,
    () => condition && assume(checking, condition),
    () => {
      until = fields.find('until') === undefined ? undefined : checkCondition(checking, fields.find('until'), 'until');
    },
  );
  checking.forgetRound('repeat', block.declared);
  return {
    args: { ...omitUndefined({ every, for: bound, max, while: condition, until }), do: block.steps },
    yields: undefined,
  };
}

function buildParallel(checking: Checking, node: Node, site: Site): Built<'parallel'> {
  if (node.kind !== 'map')
    return { args: { kind: 'branches', branches: [], join: 'all', onFail: 'cancel_others' }, yields: undefined };
  const fields = new FieldReader(checking, node, chooseMapShape('parallel', node));
  const onFail = fields.readWord('on_fail') === 'let_others_finish' ? 'let_others_finish' : 'cancel_others';
  if (node.get('branches') === undefined) {
    const list = compileList(checking, fields);
    const each = fields.readWord('each') ?? '';
    const max = fields.compile<Decimal>('max');
    checkPositiveCount(checking, fields.find('max'), max, 'max of parallel');
    const block = site.steps.inner(checking, fields.find('do'), `${site.path}/do`, () => {
      declareItem(checking, fields.find('each'), each, list.item);
      if (list.bare) checking.names.bare.add(each);
    });
    checking.forgetRound('parallel', block.declared);
    return { args: { kind: 'each', each, in: list.expr, max, do: block.steps, onFail }, yields: undefined };
  }
  const join = fields.readWord('join') === 'any' ? 'any' : 'all';
  const certain = join === 'all' && onFail === 'cancel_others';
  const hoisted: Declared[] = [];
  let ends = false;
  const branches = listEntries(fields.find('branches')).map(({ key, value }) => {
    const block = site.steps.inner(checking, value, `${site.path}/branches/${key}`);
    ends ||= block.ends && join === 'all';
    hoisted.push(...block.declared.map(({ name, type }) => ({ name, type: certain ? type : makeOptional(type) })));
    return { name: key, do: block.steps };
  });
  return {
    args: { kind: 'branches', branches, join, onFail },
    yields: undefined,
    hoisted: pickIds(checking, hoisted),
    ends,
  };
}

function buildIf(checking: Checking, node: Node, site: Site): Built<'if'> {
  const when = checkCondition(checking, node, 'if');
  const otherwise = site.node.get('else');
  const taken = site.steps.inner(checking, site.node.get('do'), `${site.path}/do`, () =>
    assume(checking, when, site.guarded),
  );
  const not = listAssuredOtherwise(when);
  const other =
    otherwise &&
    site.steps.inner(checking, otherwise, `${site.path}/else`, () => {
      for (const path of not) checking.names.assume(path);
    });
  const ids = pickIds(checking, taken.declared);
  // Behind a block that ends the run, the other one was taken.
  const assures = taken.ends ? [...not, ...(other?.present ?? [])] : other?.ends ? [...(taken.present ?? [])] : [];
  return {
    args: { cases: [{ when, do: taken.steps }], ...omitUndefined({ else: other?.steps }) },
    yields: undefined,
    hoisted: [
      ...(other?.ends ? ids : ids.map(loosen)),
      ...pickIds(checking, other?.declared ?? []).map(taken.ends ? (each) => each : loosen),
    ],
    assures,
    guards: { condition: when, names: ids.map(({ name }) => name) },
    ends: taken.ends && other?.ends === true,
  };
}

/** The same name, which may be absent. */
function loosen({ name, type }: Declared): Declared {
  return { name, type: makeOptional(type) };
}

function buildSwitch(checking: Checking, node: Node, site: Site): Built<'switch'> {
  const cases: { when: Expr<boolean>; do: readonly CheckedStep[] }[] = [];
  const hoisted: Declared[] = [];
  const not: string[] = [];
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
        for (const path of not) checking.names.assume(path);
        if (when !== undefined) assume(checking, when);
      },
    );
    hoisted.push(...block.declared.map(loosen));
    ends &&= block.ends;
    if (when === undefined) otherwise ??= block.steps;
    else {
      cases.push({ when, do: block.steps });
      not.push(...listAssuredOtherwise(when));
    }
  }
  return {
    args: { cases, ...omitUndefined({ else: otherwise }) },
    yields: undefined,
    hoisted: pickIds(checking, hoisted),
    ends: ends && otherwise !== undefined,
  };
}

/** Only ids stay visible after their block; the names of lets do not. */
function pickIds(checking: Checking, declared: readonly Declared[]): readonly Declared[] {
  return declared.filter(({ name }) => checking.ids.has(name));
}

/** Compiles the list of a loop; also returns the type of its items. */
function compileList(
  checking: Checking,
  fields: FieldReader,
): { readonly expr: Expr<readonly Value[]>; readonly item: ValueType | undefined; readonly bare: boolean } {
  const expr = fields.compile<readonly Value[]>('in');
  if ((expr as Expr) === FAULTY) return { expr, item: undefined, bare: false };
  // A bare number takes the unit that its place asks for, as a literal does.
  if (expr.type.kind === 'list')
    return { expr, item: expr.type.of, bare: isBare(expr) && findUnit(expr.type.of) !== undefined };
  reportMismatch(checking, fields.locate('in'), 'in takes a list', expr.type);
  return { expr: FAULTY, item: undefined, bare: false };
}

function declareItem(checking: Checking, at: Node | undefined, name: string, type: ValueType | undefined): void {
  if (name === '' || at === undefined || !checking.mayDeclare(name, at.span)) return;
  checking.names.declare(name, type ?? FAULTY.type);
  if (type === undefined) checking.names.unknown.add(name);
  else checking.names.unknown.delete(name);
}

function checkPositiveDuration(
  checking: Checking,
  at: Node | undefined,
  expr: Expr<Duration> | undefined,
  what: string,
): void {
  const value = checking.compiler.evaluateConstant(expr);
  if (at !== undefined && value !== undefined && value.ms <= 0)
    checking.report(at, 'duration-not-positive', `${what} must be longer than 0s, found ${formatValue(value)}`);
}

function checkPositiveCount(
  checking: Checking,
  at: Node | undefined,
  expr: Expr<Decimal> | undefined,
  what: string,
): void {
  const value = checking.compiler.evaluateConstant(expr);
  if (at && value?.lessThan(1))
    checking.report(at, 'out-of-range', `${what} must be at least 1, found ${value.toFixed()}`);
  if (at && value?.greaterThan(Number.MAX_SAFE_INTEGER))
    checking.report(at, 'out-of-range', `${what} is too large a count: ${value.toFixed()}`);
}
