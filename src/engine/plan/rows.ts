/**
 * Collects the rows of a plan: each request with its condition, its number of times, and the verdict of the limits. Holds the
 * conditions and loops around the walk; knows no step.
 */
import { type EndpointName, getEndpoint } from '../../venue/catalogue.ts';
import type { LimitRules } from '../../venue/limits/check.ts';
import { PlanLimits, type PlannedDenial, type PlannedWrite } from './limits.ts';
import type { PlanContext } from './scope.ts';

/** One row of a plan. Requests are numbered when they are printed. */
export type PlanRow =
  | {
      readonly kind: 'request';
      readonly step: string;
      readonly method: string;
      readonly path: string;
      /** Values as text; `(known after run)` where only the run will know. */
      readonly params: Readonly<Record<string, string>>;
      readonly tokens: number;
      /** The condition under which it is sent; absent where it is sent on every path. */
      readonly when?: string;
      readonly times?: string;
      readonly undo?: string;
      readonly limits?: string;
      /** The denial, where it is certain: by limits of profile and runbook, ticks and lots. */
      readonly denied?: PlannedDenial;
    }
  | { readonly kind: 'note'; readonly step: string; readonly text: string; readonly when?: string };
export type PlannedRequest = Extract<PlanRow, { kind: 'request' }>;

/** The limits that apply to the requests of a runbook. */
export interface Bounds {
  readonly rules: LimitRules;
  /** The reference of the price band: undefined without a band, `open` where only the run will know. */
  readonly reference: () => string | undefined;
}

/** Details of a request beside its parameters. */
export interface RequestDetails {
  readonly undo?: string;
  readonly limits?: string;
  readonly times?: string;
  readonly allow?: 'reduce' | undefined;
  readonly order?: PlannedWrite['order'];
}

export class PlanRows {
  readonly list: PlanRow[] = [];
  bounds: Bounds;
  private readonly costOf: PlanContext['costOf'];
  private readonly limits: PlanLimits;
  private readonly conditions: string[] = [];
  private loops: readonly string[] = [];
  /** Depth of parallel branches: another branch may end the run before this one gets anywhere. */
  private branches = 0;

  constructor({ limits, market, markets, now, costOf }: PlanContext) {
    this.costOf = costOf;
    this.bounds = { rules: limits ?? {}, reference: () => undefined };
    this.limits = new PlanLimits({ market, marketsDescribed: markets.length > 0, now });
  }

  addRequest(
    step: string,
    name: EndpointName,
    params: Readonly<Record<string, string>>,
    details: RequestDetails = {},
  ): void {
    const { method, path, parameters } = getEndpoint(name);
    const { undo, limits, allow, order } = details;
    // In the sequence of the wire format.
    const ordered = Object.fromEntries(
      Object.keys(parameters).flatMap((key) => (params[key] === undefined ? [] : [[key, params[key]]])),
    );
    const denied = this.limits.next({
      endpoint: name,
      step,
      params,
      order,
      allow,
      certain:
        this.conditions.length === 0 && this.loops.length === 0 && this.branches === 0 && details.times === undefined,
      rules: this.bounds.rules,
      reference: this.bounds.reference(),
    });
    const times = [...this.loops, ...(details.times === undefined ? [] : [details.times])].join('; ');
    this.list.push({
      kind: 'request',
      step,
      method,
      path,
      params: ordered,
      tokens: this.costOf(name),
      ...this.when,
      ...(times === '' ? {} : { times }),
      ...(undo === undefined ? {} : { undo }),
      ...(limits === undefined ? {} : { limits }),
      ...(denied === undefined ? {} : { denied }),
    });
  }

  addNote(step: string, text: string): void {
    this.list.push({ kind: 'note', step, text, ...this.when });
  }

  /** The conditions under which the walk gets here; empty where it always does. */
  get when(): { readonly when?: string } {
    return this.conditions.length === 0 ? {} : { when: this.conditions.join(' && ') };
  }

  /** Lists what happens under a condition; without one, what happens in any case. */
  withCondition(condition: string | undefined, body: () => void): void {
    if (condition !== undefined) this.conditions.push(condition);
    body();
    if (condition !== undefined) this.conditions.pop();
  }

  /** Lists what happens repeatedly, within a bound. */
  withLoop(bound: string, body: () => void): void {
    this.inLoops([...this.loops, bound], body);
  }

  /** Lists what happens once, although the walk is inside a loop. */
  outsideLoops(body: () => void): void {
    this.inLoops([], body);
  }

  /** Lists what happens in parallel with other branches. */
  inBranches(body: () => void): void {
    this.branches += 1;
    body();
    this.branches -= 1;
  }

  private inLoops(loops: readonly string[], body: () => void): void {
    const outer = this.loops;
    this.loops = loops;
    body();
    this.loops = outer;
  }
}
