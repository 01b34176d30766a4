/** Invariants about what a step hands out: an order is complete, and an order that a step ends has ended (orders.md, Completion). */
import { decimal } from '../../src/base/decimal.ts';
import type { Entry, EntryOf } from '../../src/journal/entry.ts';
import type { CheckedStep } from '../../src/runbook/checked.ts';
import { endsAtOnce, findAwaited } from '../../src/runbook/steps/awaited.ts';
import { walkSteps } from '../../src/runbook/steps/walk.ts';
import { computeAveragePrice, sumFills } from '../../src/venue/order/fills.ts';
import { isTerminal } from '../../src/venue/order/states.ts';
import { type FillRecord, isTerminalStatus } from '../../src/venue/records.ts';
import type { Facts } from './facts.ts';
import type { Invariant } from './invariants.ts';
import type { RunTold } from './world.ts';

/** An order of the run as a step's value in the journal. */
interface HandedOut {
  readonly id: string;
  readonly client_order_id: string;
  readonly filled: string;
  readonly total_filled_size: string;
  readonly avg_price: string | null;
  readonly estimated?: true;
}

function* findOrders(value: unknown): Iterable<HandedOut> {
  if (typeof value !== 'object' || value === null) return;
  if ('client_order_id' in value && 'avg_price' in value) yield value as HandedOut;
  else for (const each of Object.values(value)) yield* findOrders(each);
}

/**
 * The fills that a run has read, by the venue's order id and their own, filled in as its entries are walked. Those of an order whose id it
 * did not know yet are not its own for it: they are read again.
 */
class ReadFills {
  private readonly endpoints = new Map<string, string>();
  private readonly ids = new Set<string>();
  private readonly fills = new Map<string, Map<string, FillRecord>>();

  apply(entry: Entry): void {
    if (entry.type === 'call.intended') this.endpoints.set(entry.data.call, entry.data.endpoint);
    if (entry.type !== 'call.settled' || entry.data.kind !== 'confirmed') return;
    const rows = entry.data.result as unknown as readonly { readonly id: string }[];
    if (this.endpoints.get(entry.data.call)?.startsWith('GET /fills') !== true) {
      if (Array.isArray(rows)) for (const { id } of rows) this.ids.add(id);
      return;
    }
    for (const fill of rows as readonly FillRecord[]) {
      if (!this.ids.has(fill.order_id)) continue;
      const known = this.fills.get(fill.order_id) ?? new Map<string, FillRecord>();
      this.fills.set(fill.order_id, known.set(fill.id, fill));
    }
  }

  of(orderId: string): readonly FillRecord[] {
    return [...(this.fills.get(orderId)?.values() ?? [])];
  }
}

/** What is wrong with an order that a step handed out. */
function* findFlaws(order: HandedOut, fills: readonly FillRecord[]): Iterable<string> {
  const average = computeAveragePrice(fills);
  const sum = sumFills(fills);
  if (!decimal(sum).eq(decimal(order.filled))) yield `${order.filled} filled, and its fills add up to ${sum}`;
  if (!decimal(order.total_filled_size).eq(decimal(order.filled)))
    yield `${order.filled} filled beside a record of ${order.total_filled_size}`;
  if ((order.avg_price === null) !== (average === undefined)) yield `an average price of ${order.avg_price}`;
  else if (average !== undefined && order.avg_price !== null && !decimal(average).eq(decimal(order.avg_price)))
    yield `an average of ${order.avg_price}, and its fills have ${average}`;
}

/** Steps that gave up on fills before their time; a wait, or a step with a timeout of its own, may be shorter than the window. */
function* findHasty(run: RunTold, windowMs: number): Iterable<string> {
  const { entries } = run;
  const steps = indexSteps(run);
  const startedAt = new Map<string, number>();
  for (const entry of entries) {
    if (entry.type === 'step.started') startedAt.set(entry.step, entry.at);
    if (entry.type !== 'step.ended' || entry.data.verb === 'wait_for') continue;
    const { error } = entry.data;
    if (error?.kind !== 'transport' || !error.message.startsWith('the fills of order') || error.step !== entry.step)
      continue;
    const step = steps.get(toStatic(entry.step));
    if (step === undefined || step.timeout !== undefined) continue;
    const tookMs = entry.at - (startedAt.get(entry.step) ?? 0);
    if (tookMs < windowMs) yield `${entry.step} gave up after ${tookMs} ms: ${error.message}`;
  }
}

/** The path of a step in the file. */
export const toStatic = (path: string): string => path.replaceAll(/\[\d+\]|~\d+/g, '');

/** The steps of a runbook by their paths, without those of the runbooks that it calls. */
export function indexSteps({ shape: { runbook } }: RunTold): ReadonlyMap<string, CheckedStep> {
  const all = [...walkSteps([...runbook.steps, ...runbook.onError, ...runbook.finally])];
  return new Map(all.map((step) => [step.path, step]));
}

/** The client order ids that a step has sent a write about. */
function listWritten({ entries }: RunTold, ended: EntryOf<'step.ended'>, endpoint: string): readonly string[] {
  return entries.flatMap((entry) =>
    entry.type === 'call.intended' &&
    entry.step === ended.step &&
    entry.seq < ended.seq &&
    entry.data.endpoint === endpoint &&
    entry.data.clientOrderId !== undefined
      ? [entry.data.clientOrderId]
      : [],
  );
}

/** Whether the step's own kind promises that its orders have ended. */
function promisesEnd(step: CheckedStep | undefined): 'POST /orders' | 'DELETE /orders' | undefined {
  if (step?.verb === 'cancel') return findAwaited(step) === 'terminal' ? 'DELETE /orders' : undefined;
  return step?.verb === 'place' && step.await === undefined && endsAtOnce(step.args) ? 'POST /orders' : undefined;
}

function* findUnended(facts: Facts, run: RunTold): Iterable<string> {
  const steps = indexSteps(run);
  for (const ended of run.entries) {
    if (ended.type !== 'step.ended' || ended.data.outcome !== 'succeeded' || ended.data.error !== undefined) continue;
    const endpoint = promisesEnd(steps.get(toStatic(ended.step)));
    if (endpoint === undefined) continue;
    for (const id of new Set(listWritten(run, ended, endpoint))) {
      for (const order of facts.intents.get(id)?.orders ?? []) {
        const shown = order.history.filter(({ at }) => at <= facts.at(ended)).at(-1);
        if (shown !== undefined && !isTerminalStatus(shown.status))
          yield `${ended.step} was done at ${ended.at}, and ${order.id} was ${shown.status}`;
      }
    }
  }
}

/** Steps that succeeded in placing an order that the venue did not have by then. */
function* findUnplaced(facts: Facts, run: RunTold): Iterable<string> {
  for (const ended of run.entries) {
    if (ended.type !== 'step.ended' || ended.data.verb !== 'place') continue;
    if (ended.data.outcome !== 'succeeded' || ended.data.error !== undefined) continue;
    const id = listWritten(run, ended, 'POST /orders').at(-1);
    const [order] = facts.intents.get(id ?? '')?.orders ?? [];
    if (order === undefined || order.arrivedAt > facts.at(ended))
      yield `${ended.step} was done at ${ended.at}, and the venue had no order ${id ?? 'of it'}`;
  }
}

/** Pages of a market that were not read although every row of ours in them could be: those of other programs decide nothing about it. */
function* findUnreadPages(facts: Facts): Iterable<string> {
  for (const each of facts.settled) {
    const { endpoint, params, purpose } = each.intended.data;
    if (endpoint !== 'GET /orders' || each.entry.data.kind !== 'unresolved') continue;
    // A list that a step hands out lacks no row.
    if (purpose === undefined || params['market_id'] === undefined || params['p_limit'] === undefined) continue;
    const replies = facts.requestsOf(each).map(({ reply }) => reply);
    const areLists = replies.every((reply) => reply?.kind === 'answer' && isList(reply.body));
    if (replies.length > 0 && areLists && each.entry.data.status === 200)
      yield `a page of ${String(params['market_id'])} at ${each.entry.at} was not read: ${each.entry.data.message}`;
  }
}

function isList(body: string): boolean {
  try {
    const { success, result } = JSON.parse(body) as { readonly success?: unknown; readonly result?: unknown };
    return success === true && Array.isArray(result);
  } catch {
    return false;
  }
}

export const COMPLETION_INVARIANTS = {
  I22: {
    name: 'orders are handed out complete',
    asks: 'each order that a step hands out has the sum of the fills that were read as its filled size, that of its record, and their average; no step gives fills up before its time; a run that ends has the fills of each order that has ended, or says that they are not shown',
    against: ['books', 'journal'],
    *breaches(facts) {
      const { intents, happened } = facts;
      for (const run of happened.runs) {
        const read = new ReadFills();
        const told = new Set<string>();
        for (const entry of run.entries) {
          read.apply(entry);
          if (entry.type === 'order.alarmed' && entry.data.alarm === 'FillsIncomplete')
            told.add(entry.data.clientOrderId);
          if (entry.type !== 'step.ended') continue;
          for (const order of findOrders(entry.data.value)) {
            if (order.estimated === true || intents.get(order.client_order_id)?.run !== run) continue;
            for (const what of findFlaws(order, read.of(order.id)))
              yield `${entry.step} hands out ${order.id} with ${what}`;
          }
        }
        yield* findHasty(run, happened.scenario.profile.fillsWindowMs);
        if (run.result === undefined || run.result.outcome === 'halted') continue;
        for (const { intent, snapshot } of run.tracker.orders()) {
          const [order] = intents.get(intent.clientOrderId)?.orders ?? [];
          if (order?.terminal !== true || !isTerminal(snapshot.state) || told.has(intent.clientOrderId)) continue;
          if (facts.wasHidden(order) || facts.wasShownLate(order, run)) continue;
          const sum = sumFills(read.of(order.id));
          if (!decimal(sum).eq(decimal(order.filled)))
            yield `${run.name} ends with ${sum} of ${order.filled} in the fills of ${order.id}`;
        }
      }
    },
  },
  I23: {
    name: 'ends are known',
    asks: 'when a `place` has succeeded, the venue has its order; when a cancel, or the placing of an order that never rests, has, the order has ended there; a page of a market is read whatever the rows of other programs look like',
    against: ['books', 'wire', 'journal'],
    *breaches(facts) {
      yield* findUnreadPages(facts);
      for (const run of facts.happened.runs) {
        yield* findUnended(facts, run);
        yield* findUnplaced(facts, run);
      }
    },
  },
} as const satisfies Record<string, Invariant>;
