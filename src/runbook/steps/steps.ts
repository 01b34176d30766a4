/**
 * The step table: everything there is to know of every step of the language. The JSON Schema of runbooks, the checks, the types of
 * step ids, the run, the plan with its bounds, the chart, editor completion and the step reference read it. The engine has a
 * function for a step that does more than make its calls.
 */
import type { EndpointName, WireParams } from '../../venue/catalogue.ts';
import type { OrderDraft } from '../../venue/order/requests.ts';
import type { CheckedStep, StepName } from '../checked.ts';
import { CLOSE_STEPS } from './close.ts';
import { CONTROL_STEPS } from './control.ts';
import { DEADMAN_STEPS } from './deadman.ts';
import { MANAGE_STEPS } from './manage.ts';
import { ORDER_STEPS } from './orders.ts';
import { READING_STEPS } from './readings.ts';
import type { AnyCall, Counts, StepRow, Times, Values } from './row.ts';

export { MODIFIER_NAMES, type Modifier, type StepRow } from './row.ts';

export const STEPS = {
  ...ORDER_STEPS,
  ...MANAGE_STEPS,
  ...CLOSE_STEPS,
  ...READING_STEPS,
  ...DEADMAN_STEPS,
  ...CONTROL_STEPS,
} as const satisfies Record<StepName, StepRow>;

export const STEP_NAMES = Object.keys(STEPS) as readonly StepName[];

/** The row of a step, typed as `StepRow` instead of its literal type. */
export function getStepRow(name: StepName): StepRow {
  return STEPS[name];
}

/** The steps that call the venue. */
export type VenueStepName = {
  [V in StepName]: (typeof STEPS)[V]['group'] extends 'venue' ? V : never;
}[StepName];
export type VenueStep = Extract<CheckedStep, { verb: VenueStepName }>;

export function isVenueStep(step: CheckedStep): step is VenueStep {
  return getStepRow(step.verb).group === 'venue';
}

/** What a step is about, in the words of its author; empty where no argument says it. */
export function describeSubject(step: CheckedStep): string {
  return getStepRow(step.verb).say?.(step.args as never) ?? '';
}

/** Every endpoint that a step may use. */
export function listEndpoints({ calls = [], confirms = [], otherwise = [] }: StepRow): readonly EndpointName[] {
  return [...new Set([...calls, ...confirms, ...otherwise].map(({ endpoint }) => endpoint))];
}

/** What a call says without its step. */
type CallFacts = Pick<AnyCall, 'endpoint' | 'class' | 'when' | 'leg' | 'everyMs' | 'alone' | 'ofStops'>;

/** A request of one step of a runbook. */
export interface StepCall extends CallFacts {
  /** Whether these reads go on for as long as the step waits for the market. */
  readonly waits: boolean;
  /** How often it is sent at most while it gets no answer. */
  readonly sends: number;
  params<U>(values: Values<U>): WireParams<EndpointName, U>;
  times(counts: Counts): Times;
  /** The terms of the order that the request places. */
  readonly draft: (<U>(values: Values<U>) => OrderDraft<U>) | undefined;
}

/** How a step is undone: what its author wrote, else what holds for its row. */
export function findUndo({ verb, undo }: CheckedStep): CheckedStep['undo'] {
  return undo ?? getStepRow(verb).undo?.default;
}

/** The requests that a step makes by what its author wrote, in sequence: one of the three columns of its row. */
export function bindCalls(step: CheckedStep, which: 'calls' | 'confirms' | 'otherwise'): readonly StepCall[] {
  return (getStepRow(step.verb)[which] ?? []).flatMap((call): StepCall[] => {
    const { applies, params, times, draft, waits, sends } = call as unknown as Bindable;
    if (applies !== undefined && !applies(step)) return [];
    return [
      {
        ...call,
        waits: waits?.(step) ?? false,
        sends: sends?.(step) ?? 1,
        params: (values) => params(step.args, values),
        times: (counts) => times?.(step, counts) ?? { min: 1, max: 1 },
        draft: draft && ((values) => draft(step.args, values)),
      },
    ];
  });
}

/** A row's call, whose functions take the step of the row. */
interface Bindable extends CallFacts {
  readonly applies?: (step: CheckedStep) => boolean;
  readonly waits?: (step: CheckedStep) => boolean;
  readonly sends?: (step: CheckedStep) => number;
  readonly params: <U>(args: CheckedStep['args'], values: Values<U>) => WireParams<EndpointName, U>;
  readonly times?: (step: CheckedStep, counts: Counts) => Times;
  readonly draft?: <U>(args: CheckedStep['args'], values: Values<U>) => OrderDraft<U>;
}
