/**
 * Checks a runbook in five stages, all offline: YAML, shape, names, types and units, meaning (language.md, Checks). Returns
 * all findings of a file at once, in reading order, one for each mistake, and the runbook only when it has no error. Never
 * throws because of what an author wrote. Reads no file: `load` returns the texts of called runbooks.
 */

import { type DecimalString, decimal } from '../base/decimal.ts';
import { type Diagnostic, findPosition, type SourceText, type Span, sortForReading } from '../base/diagnostic.ts';
import { sha256 } from '../base/digest.ts';
import { omitUndefined } from '../base/json.ts';
import { findSchemaIssues } from '../base/schema.ts';
import { checkSteps } from './check/blocks.ts';
import { type Callee, Checking } from './check/checking.ts';
import {
  checkConcurrency,
  checkDeadman,
  checkFeeds,
  checkInputs,
  checkLimits,
  checkNamed,
  checkVars,
  findDefaultMarket,
  getScalarText,
  readLeaves,
} from './check/declarations.ts';
import { type Allowance, lintRelease, lintRunbook, lintUnused } from './check/lints.ts';
import { checkSchedule } from './check/schedule-entries.ts';
import type { CheckedRunbook, CheckedStep, NamedExpr } from './checked.ts';
import { type Code, makeFinding } from './codes/codes.ts';
import { nameLookalike } from './document/characters.ts';
import { readDocument } from './document/document.ts';
import { type MapNode, type Node, nodeAt, plainData } from './document/nodes.ts';
import { type ExpressionUse, FAULTY } from './expression/compiler.ts';
import { type Declared, makeOptional } from './expression/scope.ts';
import { RUN, STEP_ERROR } from './functions/records.ts';
import { MARKET, TIME } from './functions/typing.ts';
import { readDocumentedCost, TOKENS_PER_MINUTE } from './plan/steady.ts';
import { buildRunbookSchema } from './schema.ts';
import { FILE } from './shape/grammar.ts';
import { inspectShape, stepNameOf } from './shape/walk.ts';
import type { Expr, ValueType } from './values.ts';

export { readInputs } from './check/inputs.ts';

interface Checked {
  /** The file's tree; undefined where the text is not YAML. */
  readonly root: Node | undefined;
  /** Undefined when there is an error. */
  readonly runbook: CheckedRunbook | undefined;
  readonly diagnostics: readonly Diagnostic[];
}

/** Finds problems of a valid schedule: occurrences, daylight saving, collisions. */
export type ScheduleLint = (runbook: CheckedRunbook) => readonly Diagnostic[];

interface CheckOptions {
  readonly scheduleLint?: ScheduleLint;
  /** Result types of the requests a profile declares, so that expressions may read them. */
  readonly requests?: Readonly<Record<string, ValueType>>;
  /** Least distance of a stop's limit from its trigger, a fraction; 1 % by default. */
  readonly stopRoom?: DecimalString;
  /** Called for each expression of the file itself, not of the runbooks it calls. */
  readonly observe?: (use: ExpressionUse) => void;
}

const DOCUMENTED: Allowance = { costs: readDocumentedCost, tokensPerMinute: TOKENS_PER_MINUTE };

/** Checks a runbook and the runbooks it calls. `load` returns NAME.yaml beside it, or undefined if there is no such file. */
export function checkRunbook(
  source: SourceText,
  load: (name: string) => SourceText | undefined,
  options: CheckOptions = {},
): Checked {
  const stem = /([^/\\]*?)(?:\.ya?ml)?$/.exec(source.file)?.[1] ?? source.file;
  return new Check(load, options).checkFile(source, [stem]);
}

class Check {
  private readonly load: (name: string) => SourceText | undefined;
  private readonly options: CheckOptions;
  private readonly done = new Map<string, Callee>();

  constructor(load: (name: string) => SourceText | undefined, options: CheckOptions) {
    this.load = load;
    this.options = options;
  }

  checkFile(source: SourceText, stack: readonly string[]): Checked {
    const document = readDocument(source);
    const { root } = document;
    if (root === undefined) return { root, runbook: undefined, diagnostics: document.diagnostics };
    const shape = inspectShape(root, source);
    const before = [...document.diagnostics, ...shape.diagnostics];
    if (root.kind !== 'map' || shape.faulty.has(root))
      return { root, runbook: undefined, diagnostics: sortForReading(before.map(nameCharacter)) };
    const known = [...dropInner(root, before), ...findSchemaIssue(root, source, before)];

    const checking = new Checking(
      source,
      shape.faulty,
      before,
      (name) => this.findCallee(name, stack),
      this.options.requests ?? {},
    );
    if (this.options.stopRoom !== undefined) checking.stopRoom = decimal(this.options.stopRoom);
    if (stack.length === 1) checking.compiler.observe = this.options.observe;
    const runbook = assemble(checking, root);
    if (!checking.dropped) lintRunbook(checking, runbook, root, DOCUMENTED);
    // A value that cannot be read, has the wrong shape or holds an unknown name may be the use of a name.
    if (before.length === 0 && !checking.diagnostics.some(isMisspelt)) lintUnused(checking, root, runbook);
    const schedule = this.options.scheduleLint?.(runbook) ?? [];
    const diagnostics = sortForReading(
      dropMarketEchoes(root, mergePerName(keepOnePerPlace([...known, ...checking.diagnostics, ...schedule]))).map(
        nameCharacter,
      ),
    );
    return { root, runbook: diagnostics.some(isError) ? undefined : runbook, diagnostics };
  }

  /** Each called runbook is checked once, no matter how often it is called. */
  private findCallee(name: string, stack: readonly string[]): Callee {
    if (stack.includes(name)) return { kind: 'cycle', path: [...stack.slice(stack.indexOf(name)), name] };
    const known = this.done.get(name);
    if (known !== undefined) return known;
    const source = this.load(name);
    const callee = source === undefined ? ({ kind: 'missing' } as const) : this.checkCallee(source, [...stack, name]);
    this.done.set(name, callee);
    return callee;
  }

  private checkCallee(source: SourceText, stack: readonly string[]): Callee {
    const { runbook, diagnostics } = this.checkFile(source, stack);
    return runbook === undefined
      ? { kind: 'invalid', errors: diagnostics.filter(isError) }
      : { kind: 'checked', runbook };
  }
}

function isError(diagnostic: Diagnostic): boolean {
  return diagnostic.severity === 'error';
}

/** Checks the parts of a file in the order in which their names become visible. */
function assemble(checking: Checking, root: MapNode): CheckedRunbook {
  const { compiler, names, source } = checking;
  const needs = root.get('needs');
  checking.needs = needs?.kind === 'list' ? needs.items.map((item) => getScalarText(item) ?? '') : [];
  collectIds(checking, root);

  const name = getScalarText(root.get('runbook')) ?? '';
  checking.names.declare('now', TIME);
  checking.names.declare('run', RUN);
  noteLost(checking, root);
  const inputs = checkInputs(checking, root.get('inputs'));
  compiler.market = findDefaultMarket(
    compileEarly(checking, root, 'limits', 'markets'),
    inputs,
    compileEarly(checking, root, 'deadman', 'market')?.[0],
  );
  const feeds = checkFeeds(checking, root.get('feeds'));
  const lets = checkNamed(checking, root.get('let'));
  const vars = checkVars(checking, root.get('vars'));
  const defs = checkNamed(checking, root.get('def'), (name, value) => checking.names.defs.set(name, value));
  const limits = checkLimits(checking, root.get('limits'));
  const deadman = checkDeadman(checking, root);
  compiler.market = findDefaultMarket(limits?.markets, inputs, deadman?.market);
  const concurrency = checkConcurrency(checking, root.get('concurrency'));
  const schedule = checkSchedule(checking, root.get('schedule'), inputs, name);

  const mark = names.enter();
  const main = checkSteps(checking, root.get('steps'), 'steps');
  const outputs = checkOutputs(checking, root.get('outputs'));
  const declared = names.leave(mark);
  // The run may have failed anywhere, so afterwards every value that a step named may be absent.
  const onError = checkAfterMain(checking, declared, () => {
    names.declare('error', STEP_ERROR);
    return checkSteps(checking, root.get('on_error'), 'on_error').steps;
  });
  checking.cleanup = 'finally';
  const last = checkAfterMain(checking, declared, () => checkSteps(checking, root.get('finally'), 'finally').steps);
  checking.cleanup = undefined;

  lintRelease(checking, root);
  return {
    name,
    dsl: 1,
    source,
    get sha256() {
      return sha256(source.text);
    },
    needs: checking.needs,
    inputs,
    feeds,
    let: lets,
    def: defs,
    vars,
    leaves: readLeaves(root.get('leaves')),
    schedule,
    steps: main.steps,
    onError,
    finally: last,
    outputs,
    calls: Object.fromEntries(checking.calls),
    ...omitUndefined({ about: getScalarText(root.get('about')), limits, deadman, concurrency }),
  };
}

/** Notes blocks that are missing or misspelt, so that the names they would declare are not reported as well. */
function noteLost(checking: Checking, root: MapNode): void {
  const { names } = checking;
  for (const block of ['inputs', 'feeds', 'let', 'def', 'vars']) {
    const at = root.entry(block);
    if (at === undefined || !checking.hasRefusedName(at.span)) continue;
    if (block === 'inputs' || block === 'feeds') names.unknown.add(block);
    else names.lost = true;
  }
  const hasOddKeys = root.incomplete || root.entries.some(({ key }) => !Object.hasOwn(FILE.fields, key));
  if (root.get('steps') === undefined) {
    checking.dropped = true;
    names.lost = true;
  }
  if (!hasOddKeys) return;
  for (const block of ['inputs', 'feeds']) if (root.get(block) === undefined) names.unknown.add(block);
  if (['let', 'def', 'vars'].some((block) => root.get(block) === undefined)) names.lost = true;
}

function checkAfterMain(
  checking: Checking,
  declared: readonly Declared[],
  check: () => readonly CheckedStep[],
): readonly CheckedStep[] {
  const mark = checking.names.enter();
  for (const { name, type } of declared) checking.names.declare(name, makeOptional(type));
  const steps = check();
  checking.names.leave(mark);
  return steps;
}

function checkOutputs(checking: Checking, node: Node | undefined): readonly NamedExpr[] {
  if (node?.kind !== 'map' || checking.compiler.isFaulty(node)) return [];
  return node.entries.map(({ key, value }) => ({ name: key, value: checking.compiler.compile(value, 'any') }));
}

/**
 * Compiles a market named at the head of the file early, for `tick` in a let before it. Only inputs are visible, and nothing
 * is reported: errors are reported when the block itself is checked.
 */
function compileEarly(
  checking: Checking,
  root: MapNode,
  block: string,
  key: string,
): readonly Expr<string>[] | undefined {
  const holder = root.get(block);
  const at = holder?.kind === 'map' ? holder.get(key) : undefined;
  if (at === undefined) return undefined;
  const { compiler } = checking;
  const before = compiler.diagnostics.length;
  const exprs = (at.kind === 'list' ? at.items : [at]).map((item) => compiler.compile<string>(item, MARKET, undefined));
  compiler.diagnostics.length = before;
  return exprs.some((expr) => (expr as Expr) === FAULTY) ? undefined : exprs;
}

/** Collects the names of the head, and the ids of all steps before any is checked: the first step with an id keeps it. */
function collectIds(checking: Checking, root: Node): void {
  const visit = (node: Node): void => {
    if (node.kind === 'list') node.items.forEach(visit);
    if (node.kind !== 'map') return;
    const id = node.get('id');
    if (
      id?.kind === 'scalar' &&
      stepNameOf(node) !== undefined &&
      !checking.compiler.isFaulty(id) &&
      !checking.ids.has(id.text)
    )
      checking.ids.set(id.text, id.span);
    for (const { value } of node.entries) visit(value);
  };
  const find = (key: string) => (root.kind === 'map' ? root.get(key) : undefined);
  for (const key of ['steps', 'on_error', 'finally']) {
    const at = find(key);
    if (at !== undefined) visit(at);
  }
  for (const block of ['let', 'vars', 'def']) {
    const at = find(block);
    if (at?.kind === 'map') for (const { key } of at.entries) checking.headNames.set(key, block);
  }
}

/**
 * Finds what the published schema refuses in a file without errors: otherwise the check would accept a file that every
 * editor marks as wrong.
 */
function findSchemaIssue(root: Node, source: SourceText, before: readonly Diagnostic[]): readonly Diagnostic[] {
  if (before.some(isError)) return [];
  const [issue] = findSchemaIssues('runbook', buildRunbookSchema, plainData(root));
  if (issue === undefined) return [];
  const { span, keySpan } = nodeAt(root, issue.path);
  const message = `runbook.schema.json: ${issue.path.join('.') || 'the file'} ${issue.message}`;
  return [makeFinding(source, keySpan ?? span, 'schema-violation', message)];
}

function touches(one: Span, other: Span): boolean {
  return one.start <= other.end && other.start <= one.end;
}

/** Drops the finding that `tick` has no market if a block that would name the market has an error itself. */
function dropMarketEchoes(root: MapNode, diagnostics: readonly Diagnostic[]): readonly Diagnostic[] {
  const sources = ['inputs', 'limits', 'deadman'].flatMap((key) => root.entry(key)?.span ?? []);
  const echo = (each: Diagnostic): boolean => each.code === ('market-unknown' satisfies Code);
  const cause = diagnostics.some(
    (each) => isError(each) && !echo(each) && sources.some((span) => touches(span, each.span)),
  );
  return cause ? diagnostics.filter((each) => !echo(each)) : diagnostics;
}

/** Values of a fixed form: a character in one that only looks like the ordinary one is the whole mistake, and cannot be seen. */
const OF_FORM: readonly string[] = [
  'duration-form',
  'time-form',
  'literal-form',
  'market-form',
  'not-a-member',
  'unknown-key',
  'unknown-word',
  'wrong-type',
] satisfies Code[];

function nameCharacter(found: Diagnostic): Diagnostic {
  const { code, source, span, hint } = found;
  const text = source.text.slice(span.start, span.end);
  const named = OF_FORM.includes(code) && !text.includes('\n') ? nameLookalike(text) : undefined;
  return named === undefined ? found : { ...found, hint: hint === undefined ? named : `${named} ${hint}` };
}

/** Whether an unknown name may be a misspelt declared one. */
function isMisspelt({ code }: Diagnostic): boolean {
  return (['unknown-name', 'unknown-field'] satisfies Code[] as string[]).includes(code);
}

/** Drops nulls and odd keys inside a value of the wrong shape, or behind an unknown key: they belong to the outer mistake. */
function dropInner(root: Node, diagnostics: readonly Diagnostic[]): readonly Diagnostic[] {
  const inner: readonly string[] = ['yaml-null', 'yaml-complex-key', 'yaml-key-form'] satisfies Code[];
  const whole: readonly string[] = ['wrong-type', 'unknown-key', 'invalid-name'] satisfies Code[];
  const refused = diagnostics.filter(({ code }) => whole.includes(code)).map(({ span }) => findEntryAround(root, span));
  return diagnostics.filter(
    ({ code, span }) =>
      !inner.includes(code) || !refused.some((each) => each.start <= span.start && span.end <= each.end),
  );
}

/** The span from a key to the end of its value; any other span is returned unchanged. */
function findEntryAround(node: Node, span: Span): Span {
  for (const entry of node.kind === 'map' ? node.entries : []) {
    if (entry.keySpan.start === span.start && entry.keySpan.end === span.end) return entry.span;
    if (entry.value.span.start <= span.start && span.end <= entry.value.span.end)
      return findEntryAround(entry.value, span);
  }
  for (const item of node.kind === 'list' ? node.items : [])
    if (item.span.start <= span.start && span.end <= item.span.end) return findEntryAround(item, span);
  return span;
}

/**
 * Keeps one finding for each place: the same finding twice is one mistake, and a finding of a later stage about a value that
 * an earlier stage refused follows from the first.
 */
function keepOnePerPlace(diagnostics: readonly Diagnostic[]): readonly Diagnostic[] {
  const kept: Diagnostic[] = [];
  const at = new Map<string, Diagnostic[]>();
  const notation: readonly string[] = [
    'yaml-number-form',
    'yaml-number-too-long',
    'yaml-boolean-form',
    'yaml-comma',
  ] satisfies Code[];
  const misread = diagnostics.filter(({ code }) => notation.includes(code));
  for (const each of diagnostics) {
    const place = `${each.span.start} ${each.span.end}`;
    const before = at.get(place) ?? [];
    const again = before.some(({ code, message }) => code === each.code && message === each.message);
    const follows =
      before.some((other) => isError(other) && other.code !== each.code) ||
      misread.some(({ span, code }) => code !== each.code && touches(span, each.span));
    if (again || follows) continue;
    kept.push(each);
    at.set(place, [...before, each]);
  }
  return kept;
}

/** Merges the uses of an undeclared name into one finding at the first use, which lists the lines of the others. */
function mergePerName(diagnostics: readonly Diagnostic[]): readonly Diagnostic[] {
  const repeated: readonly string[] = [
    'unknown-name',
    'unknown-field',
    'unknown-variable',
    'id-outside-its-round',
    'optional-unhandled',
  ] satisfies Code[];
  const uses = new Map<string, Diagnostic[]>();
  const key = ({ code, message }: Diagnostic): string => `${code} ${message}`;
  for (const each of diagnostics)
    if (repeated.includes(each.code)) uses.set(key(each), [...(uses.get(key(each)) ?? []), each]);
  return diagnostics.flatMap((each) => {
    const [first, ...others] = sortForReading(uses.get(key(each)) ?? [each]);
    if (each !== first) return [];
    const lineOf = ({ source, span }: Diagnostic): number => findPosition(source.text, span.start).line;
    const lines = [...new Set(others.map(lineOf))].filter((line) => line !== lineOf(each));
    const shown = `${lines.slice(0, 8).join(', ')}${lines.length > 8 ? ', …' : ''}`;
    return [lines.length === 0 ? each : { ...each, message: `${each.message}; also in line ${shown}` }];
  });
}
