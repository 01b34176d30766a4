/**
 * Collects the rows of a plan: each request with its condition, its number of times, and the verdict of the limits. Holds the
 * conditions and loops around the walk, and the section that it is in; knows no step.
 */
import { isDeepStrictEqual } from 'node:util';
import { type EndpointName, getEndpoint } from '../../venue/catalogue.ts';
import type { LimitRules } from '../../venue/limits/check.ts';
import { PlanLimits, type PlannedDenial, type PlannedWrite } from './limits.ts';
import type { Load } from './load/load.ts';
import type { PlanContext } from './scope.ts';
import { Unknown } from './unknown.ts';

/** One row of a plan. Requests are numbered when they are printed. */
export type PlanRow =
  | {
      readonly kind: 'request';
      readonly step: string;
      readonly method: string;
      readonly path: string;
      /** Values as text; `(known after run)` where only the run will know. */
      readonly params: Readonly<Record<string, string>>;
      /** What such values depend on, and what they would be now; an estimate is not part of the hash. */
      readonly unknown?: Readonly<Record<string, { readonly from: string; readonly about?: string }>>;
      readonly tokens: number;
      /** Made beside what the author wrote: a read that confirms it, a heartbeat. */
      readonly beside?: true;
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

/** What happens only on a failure. */
export interface PlannedSection {
  /** The failure, in words: `if entry times out`. */
  readonly when: string;
  /** `doubt`: an answer is lost or late; `failure`: a handler of the author runs. */
  readonly kind: 'doubt' | 'failure';
  readonly rows: readonly PlanRow[];
  readonly load: Load;
}

/** The limits that apply to the requests of a runbook. */
export interface Bounds {
  readonly rules: LimitRules;
  /** The reference of the price band: undefined without a band, `open` where only the run will know. */
  readonly reference: (market: string | undefined) => string | undefined;
}

/** A request as the walk knows it. */
export interface RequestDetails {
  readonly undo?: string | undefined;
  readonly limits?: string | undefined;
  readonly times?: string | undefined;
  /** Why it may not be made, where the venue decides. */
  readonly when?: string | undefined;
  readonly beside?: boolean;
  readonly allow?: 'reduce' | undefined;
  readonly order?: PlannedWrite['order'];
}

export class PlanRows {
  readonly list: PlanRow[] = [];
  readonly sections: PlannedSection[] = [];
  bounds: Bounds;
  /** Where rows go: undefined outside of a section in a walk that lists only sections. */
  private target: PlanRow[] | undefined;
  /** Whether the walk lists what happens on failures. */
  readonly listsSections: boolean;
  private readonly costOf: PlanContext['costOf'];
  private readonly limits: PlanLimits;
  private conditions: readonly string[] = [];
  private loops: readonly string[] = [];
  /** Depth of parallel branches: another branch may end the run before this one gets anywhere. */
  private branches = 0;

  /** `lists`: what happens without failures, what happens on them, or nothing, where only the figures are wanted. */
  constructor(
    { limits, market, markets, now, costOf, priceFeed }: PlanContext,
    lists: 'path' | 'sections' | 'nothing',
  ) {
    this.costOf = costOf;
    this.bounds = { rules: limits ?? {}, reference: () => undefined };
    this.limits = new PlanLimits({ market, marketsDescribed: markets.length > 0, now, priceFeed: priceFeed === true });
    this.target = lists === 'path' ? this.list : undefined;
    this.listsSections = lists === 'sections';
  }

  addRequest(step: string, name: EndpointName, params: object, details: RequestDetails = {}): void {
    if (this.target === undefined) return;
    const { method, path, parameters } = getEndpoint(name);
    const { undo, limits, allow, order } = details;
    const given = params as Readonly<Record<string, unknown>>;
    // In the sequence of the wire format.
    const named = Object.entries(parameters).flatMap(([key, { secret }]) =>
      given[key] === undefined ? [] : [[key, secret === true ? '[redacted]' : given[key]] as const],
    );
    const written = Object.fromEntries(named.map(([key, value]) => [key, String(value)]));
    const unknown = named.flatMap(([key, value]) =>
      value instanceof Unknown
        ? [[key, { from: value.from, ...(value.about === undefined ? {} : { about: value.about }) }] as const]
        : [],
    );
    const conditions = details.when === undefined ? this.conditions : [...this.conditions, details.when];
    const denied = this.limits.next({
      endpoint: name,
      step,
      params: written,
      order,
      allow,
      certain:
        conditions.length === 0 &&
        this.loops.length === 0 &&
        this.branches === 0 &&
        details.times === undefined &&
        this.target === this.list,
      rules: this.bounds.rules,
      reference: this.bounds.reference(written['market_id']),
    });
    const times = [...this.loops, ...(details.times === undefined ? [] : [details.times])].join('; ');
    this.target.push({
      kind: 'request',
      step,
      method,
      path,
      params: written,
      ...(unknown.length === 0 ? {} : { unknown: Object.fromEntries(unknown) }),
      tokens: this.costOf(name),
      ...(details.beside === true ? { beside: true as const } : {}),
      ...(conditions.length === 0 ? {} : { when: conditions.join(' && ') }),
      ...(times === '' ? {} : { times }),
      ...(undo === undefined ? {} : { undo }),
      ...(limits === undefined ? {} : { limits }),
      ...(denied === undefined ? {} : { denied }),
    });
  }

  addNote(step: string, text: string): void {
    this.target?.push({ kind: 'note', step, text, ...this.when });
  }

  /** Lists what happens only on a failure. */
  inSection(when: string, body: () => Load, kind: PlannedSection['kind'] = 'failure'): Load {
    const { target, conditions, loops } = this;
    // In a walk of the path without failures nothing of it is listed.
    if (target === this.list) return body();
    const rows: PlanRow[] = [];
    this.target = rows;
    this.conditions = [];
    this.loops = [];
    const load = body();
    this.target = target;
    this.conditions = conditions;
    this.loops = loops;
    const isListed = this.sections.some((section) => section.when === when && isDeepStrictEqual(section.rows, rows));
    // A step of a loop is walked for each item, and most of them fail alike.
    if (rows.length > 0 && !isListed) this.sections.push({ when, kind, rows, load });
    return load;
  }

  /** The rows of the section that the walk is in. */
  get section(): readonly PlanRow[] | undefined {
    return this.target === this.list ? undefined : this.target;
  }

  get isInBranch(): boolean {
    return this.branches > 0;
  }

  /** The conditions under which the walk gets here; empty where it always does. */
  get when(): { readonly when?: string } {
    return this.conditions.length === 0 ? {} : { when: this.conditions.join(' && ') };
  }

  /** Lists what happens under a condition; without one, what happens in any case. */
  withCondition<T>(condition: string | undefined, body: () => T): T {
    const outer = this.conditions;
    if (condition !== undefined) this.conditions = [...outer, condition];
    const result = body();
    this.conditions = outer;
    return result;
  }

  /** Lists what happens repeatedly, within a bound. */
  withLoop<T>(bound: string, body: () => T): T {
    return this.inLoops([...this.loops, bound], body);
  }

  /** Lists what happens once, although the walk is inside a loop. */
  outsideLoops<T>(body: () => T): T {
    return this.inLoops([], body);
  }

  /** Lists what happens in parallel with other branches. */
  inBranches<T>(body: () => T): T {
    this.branches += 1;
    const result = body();
    this.branches -= 1;
    return result;
  }

  private inLoops<T>(loops: readonly string[], body: () => T): T {
    const outer = this.loops;
    this.loops = loops;
    const result = body();
    this.loops = outer;
    return result;
  }
}
