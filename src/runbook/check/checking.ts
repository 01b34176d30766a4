/**
 * The state of the check of one file, shared by all its parts. Collects the findings.
 */

import { type Decimal, decimal } from '../../base/decimal.ts';
import type { Diagnostic, SourceText, Span } from '../../base/diagnostic.ts';
import { STOP_ROOM } from '../../venue/profile/profile.ts';
import type { CheckedRunbook, CheckedStep, LimitAmounts, LimitsDeclaration } from '../checked.ts';
import type { CheckCode } from '../codes/codes.ts';
import { type Code, makeFinding } from '../codes/codes.ts';
import { FORBIDDEN_KEYS, type MapNode, type Node } from '../document/nodes.ts';
import { Compiler } from '../expression/compiler.ts';
import { Names, RESERVED_GLOBALS } from '../expression/scope.ts';
import { RESERVED_WORDS } from '../expression/syntax.ts';
import type { RecordValue, ValueType } from '../values.ts';

/** The result of looking up a called runbook. */
export type Callee =
  | { readonly kind: 'checked'; readonly runbook: CheckedRunbook }
  | { readonly kind: 'missing' }
  | { readonly kind: 'cycle'; readonly path: readonly string[] }
  | { readonly kind: 'invalid'; readonly errors: readonly Diagnostic[] };

/** The place of a checked step in the text. */
interface StepPlace {
  readonly node: MapNode;
  /** The step's name in the text. */
  readonly nameSpan: Span;
}

type Loop = 'repeat' | 'for_each' | 'parallel';

/** How a step after a loop, or in another round, gets what a step of a round made. */
const INSTEAD: Readonly<Record<Loop, (id: string) => string>> = {
  repeat: (id) =>
    `Place the order before the repeat and amend it in each round, or keep it in a list: \`orders: orders + [${id}]\` under \`set\`.`,
  for_each: (id) =>
    `Use ${id} in its round, after its step, or keep a value of each round: \`collect: {name: ${id}.filled}\`.`,
  parallel: (id) =>
    `Use ${id} in its round, after its step, or place the order in a branch with a name: \`branches:\`.`,
};

/** The limits that are the same in every run. */
interface ConstantLimits extends LimitAmounts<Decimal> {
  readonly markets?: readonly string[];
  readonly sides?: readonly string[];
  readonly bands?: readonly { readonly market?: string; readonly around?: Decimal; readonly within: Decimal }[];
  readonly mode: NonNullable<LimitsDeclaration['mode']>;
}

export class Checking {
  readonly names = new Names();
  readonly compiler: Compiler;
  readonly places = new Map<CheckedStep, StepPlace>();
  /** Every id of the file with its first place; a second step with the same id is reported at that step. */
  readonly ids = new Map<string, Span>();
  /** The block of each name of the head that may be read before its line. */
  readonly headNames = new Map<string, string>();
  /** Ids of steps that yield nothing, with the name of the step. */
  readonly valueless = new Map<string, string>();
  /** Ids of steps in the body of a loop, with the loop: each round has its own. */
  readonly ofRounds = new Map<string, Loop>();
  readonly vars = new Map<string, ValueType>();
  /** Names of let steps and of top-level lets, defs and vars, with their places, to report the unused ones. */
  readonly lets: { readonly name: string; readonly span: Span }[] = [];
  /** The stop-losses that would close with a gain at the price that they are computed from. */
  readonly stopsOnGain: Node[] = [];
  readonly calls = new Map<string, CheckedRunbook>();
  limits: ConstantLimits = { mode: 'active' };
  /** Set while the steps of `finally` or `undo` are checked. */
  cleanup: 'finally' | 'undo' | undefined;
  needs: readonly string[] = [];
  /** The default values of the inputs; reading an input without a default throws NotKnown. */
  defaults: RecordValue = {};
  /** Inputs with a default, even a wrong one: the caller need not give a value. */
  readonly defaulted = new Set<string>();
  /** Whether an unknown step was left out: then lints about the whole runbook prove nothing. */
  dropped = false;
  /** Least distance of a stop's limit from its trigger, a fraction of it (`stop.room` of the profile). */
  stopRoom: Decimal = decimal(STOP_ROOM);
  readonly source: SourceText;
  readonly findCallee: (name: string) => Callee;
  /** Result types of the profile's requests, when a profile is known. */
  readonly requests: Readonly<Record<string, ValueType>>;
  private readonly found: Diagnostic[] = [];
  private readonly before: readonly Diagnostic[];

  /** `before`: the findings of the stages before: YAML and shape. */
  constructor(
    source: SourceText,
    faulty: ReadonlySet<Node>,
    before: readonly Diagnostic[],
    callee: (name: string) => Callee,
    requests: Readonly<Record<string, ValueType>>,
  ) {
    this.source = source;
    this.before = before;
    this.compiler = new Compiler(source, this.names, faulty);
    this.findCallee = callee;
    this.requests = requests;
  }

  report(at: Span | Node, code: CheckCode, message: string, hint?: string): void {
    this.found.push(makeFinding(this.source, 'kind' in at ? at.span : at, code, message, hint));
  }

  add(diagnostics: readonly Diagnostic[]): void {
    this.found.push(...diagnostics);
  }

  get diagnostics(): readonly Diagnostic[] {
    return [...this.found, ...this.compiler.diagnostics.map((each) => this.explain(each))];
  }

  /** Counts the errors found so far inside a range of the text. */
  countErrors(span: Span): number {
    return [...this.found, ...this.compiler.diagnostics].filter((each) => isErrorIn(each, span)).length;
  }

  /** All errors inside a range, those of the stages before among them. */
  listErrors(span: Span): readonly Diagnostic[] {
    return [...this.before, ...this.found, ...this.compiler.diagnostics].filter((each) => isErrorIn(each, span));
  }

  /**
   * Records the names that a wrong part of the text uses: that part may have assured their values, for example by a condition that
   * cannot be read. A name in it may be a `def` or `let`, which stands for what it reads; a misspelt one may be any.
   */
  doubt(span: Span): void {
    const misspelt = this.listErrors(span).some(({ code }) => code === ('unknown-name' satisfies Code));
    if (misspelt) for (const name of this.names.roots.keys()) this.names.doubted.add(name);
    for (const [word] of this.source.text.slice(span.start, span.end).matchAll(/[A-Za-z_]\w*/g)) {
      if (RESERVED_GLOBALS.some((name) => name === word)) continue;
      this.names.doubted.add(word);
      const { reads = [] } = this.names.defs.get(word) ?? this.names.lets.get(word) ?? {};
      for (const read of reads) if (!read.includes('.')) this.names.doubted.add(read);
    }
  }

  /** Whether something inside a range could not be read, or has the wrong shape. */
  isMisshapen(span: Span): boolean {
    return this.before.some((each) => isErrorIn(each, span));
  }

  /** Whether a key inside a range was refused because of its name, so that its declaration is not known. */
  hasRefusedName(span: Span): boolean {
    const codes: readonly string[] = [
      'invalid-name',
      'yaml-key-form',
      'yaml-forbidden-key',
      'yaml-hidden-character',
    ] satisfies Code[];
    return this.before.some((each) => codes.includes(each.code) && isErrorIn(each, span));
  }

  /** Records the ids that a loop's body declared and forgets after each round. */
  forgetRound(loop: Loop, declared: readonly { readonly name: string }[]): void {
    for (const { name } of declared) if (this.ids.has(name)) this.ofRounds.set(name, loop);
  }

  /** Whether a new name may be declared; reports one that may not. */
  mayDeclare(name: string, at: Span): boolean {
    if (FORBIDDEN_KEYS.has(name)) this.report(at, 'forbidden-name', `${name} cannot be a name`);
    else if ((RESERVED_GLOBALS as readonly string[]).includes(name))
      this.report(at, 'reserved-name', `${name} has a meaning of its own: ${RESERVED_GLOBALS.join(', ')} are reserved`);
    else if (RESERVED_WORDS.has(name)) this.report(at, 'reserved-name', `${name} is a keyword of expressions`);
    else if (this.names.roots.has(name))
      this.report(at, 'name-taken', `${name} already means something else, which it would hide`);
    else return true;
    return false;
  }

  /** Explains an unknown name that is known elsewhere in the file. */
  private explain(diagnostic: Diagnostic): Diagnostic {
    if (diagnostic.code !== ('unknown-name' satisfies Code)) return diagnostic;
    const name = this.source.text.slice(diagnostic.span.start, diagnostic.span.end);
    const stepName = this.valueless.get(name);
    if (stepName === 'request')
      return makeFinding(
        this.source,
        diagnostic.span,
        'untyped-result',
        `${name} is the result of a request, and only a profile declares its type`,
      );
    if (stepName !== undefined)
      return { ...diagnostic, hint: `The step ${name} is a ${stepName}, which yields nothing.` };
    const loop = this.ofRounds.get(name);
    if (loop !== undefined)
      return makeFinding(
        this.source,
        diagnostic.span,
        'id-outside-its-round',
        `${name} is the id of a step in the body of a ${loop}, which is known only in its round`,
        INSTEAD[loop](name),
      );
    const block = this.headNames.get(name);
    if (block !== undefined)
      return {
        ...diagnostic,
        hint: `${name} is declared in ${block}, further on: a name is known behind its line, and let is read before vars, vars before def.`,
      };
    const at = this.ids.get(name);
    if (at === undefined) return diagnostic;
    const hint =
      at.start > diagnostic.span.start
        ? `The step ${name} comes later.`
        : `The step ${name} is known only inside its block.`;
    return { ...diagnostic, hint };
  }
}

function isErrorIn({ severity, span }: Diagnostic, around: Span): boolean {
  return severity === 'error' && around.start <= span.start && span.start <= around.end;
}
