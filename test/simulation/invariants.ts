/**
 * The invariants of reliability.md, each as a question to what happened: what the journal says, what left the processes, and
 * the venue's own books. None of them believes the engine: where the engine's account and the books disagree, the books
 * are right. Each gives a sentence for every breach.
 */
import { decimal } from '../../src/base/decimal.ts';
import { verifyChain } from '../../src/journal/chain.ts';
import { readRetryAfter } from '../../src/venue/headers.ts';
import { CLIENT_ORDER_PREFIX } from '../../src/venue/identity.ts';
import { exposureOf, isTerminal } from '../../src/venue/order.ts';
import { isPositionStop, TIMINGS } from '../../src/venue/order-context.ts';
import { Facts } from './facts.ts';
import { replayed } from './replay.ts';
import { REFRESH_TOKEN } from './scenario.ts';
import type { Happened } from './world.ts';

export interface Breach {
  readonly invariant: InvariantName | 'ours';
  readonly what: string;
}

/** Every breach there is. `ours`: the engine threw, or a run could not be taken up again. */
export async function breachesOf(happened: Happened): Promise<readonly Breach[]> {
  const facts = new Facts(happened);
  const breaches: Breach[] = [];
  if (happened.broken !== undefined) breaches.push({ invariant: 'ours', what: happened.broken });
  for (const [invariant, { breaches: check }] of Object.entries(INVARIANTS) as [InvariantName, Invariant][]) {
    for (const what of check(facts)) breaches.push({ invariant, what });
  }
  if (happened.broken === undefined && happened.result !== undefined) {
    const divergence = await replayed(happened);
    if (divergence !== undefined) breaches.push({ invariant: 'I17', what: `a replay diverges: ${divergence}` });
  }
  return breaches;
}

interface Invariant {
  readonly name: string;
  readonly breaches: (facts: Facts) => Iterable<string>;
}

/** How soon a kill that a person engaged must have reached a run: the command line looks five times a second. */
const KILL_REACHES_MS = 250;
/** After so many readings, over eight seconds, the fills of an order are all there. */
const FILL_READINGS = 6;
/** How long a cancel or a beat may wait for tokens. */
const URGENT_WAIT_MS = 2000;

export const INVARIANTS = {
  I1: {
    name: 'no duplicate',
    *breaches({ intents }) {
      for (const [id, { orders }] of intents) {
        if (orders.length > 1)
          yield `${orders.length} orders at the venue for the one intent ${id}: ${orders.map((order) => order.id).join(', ')}`;
      }
    },
  },
  I2: {
    name: 'write-ahead',
    *breaches({ attempts, happened }) {
      const { sent, lives, scenario } = happened;
      const matched = new Map<string, number>();
      for (const request of sent) {
        if (request.method === 'GET' || request.endpoint === 'POST /jwt') continue;
        // What only protects still goes when the disk takes nothing any more.
        if (request.life === 1 && scenario.fullAfter !== undefined && /^DELETE|cancel_all_after/.test(request.endpoint))
          continue;
        const epoch = lives.find(({ life }) => life === request.life)?.epoch;
        const key = `${request.life} ${request.endpoint} ${request.digest}`;
        const before = matched.get(key) ?? 0;
        matched.set(key, before + 1);
        const durable = attempts.filter(
          ({ entry }) =>
            entry.seq <= request.durable &&
            entry.data.epoch === epoch &&
            `${entry.data.method} ${entry.data.path}` === request.endpoint &&
            entry.data.digest === request.digest,
        );
        if (durable.length <= before)
          yield `life ${request.life} sent ${request.endpoint} ${JSON.stringify(request.params)} with no durable attempt of it`;
      }
    },
  },
  I3: {
    name: 'no invention',
    *breaches({ own, intents, happened }) {
      for (const order of own) {
        if (!order.client_order_id.startsWith(CLIENT_ORDER_PREFIX)) continue;
        const intent = intents.get(order.client_order_id);
        if (intent === undefined)
          yield `order ${order.id} at the venue carries ${order.client_order_id}, which is no intent of the journal`;
        else if (
          order.side !== intent.terms.side ||
          order.market_id !== intent.terms.market ||
          order.type !== intent.terms.type
        ) {
          yield `order ${order.id} is not what intent ${order.client_order_id} says`;
        }
      }
      for (const order of happened.books.orders) {
        if (order.client_order_id === '' && order.arrivedAt > happened.scenario.startMs)
          yield `order ${order.id} came without a client order id`;
      }
    },
  },
  I4: {
    name: 'nothing lost',
    *breaches({ intents, happened, own, settled }) {
      const { book, result, scenario } = happened;
      if (result === undefined) return;
      const askedFor = happened.entries.some((entry) => entry.type === 'run.ended' && entry.data.outcome === 'halted');
      const doubtful = new Set(['submitting', 'unknown', 'quarantined', 'amending']);
      for (const [id, { attempts, terms }] of intents) {
        const lastCall = attempts.at(-1)?.intended.data.call;
        const unanswered =
          settled.find((each) => each.intended.data.call === lastCall)?.entry.data.kind === 'unresolved';
        const state = book.get(id)?.snapshot.state;
        if (state === undefined) yield `intent ${id} is in no state`;
        else if (state === 'draft' && attempts.length > 0 && result.outcome !== 'halted')
          yield `intent ${id} was sent, and the run ends with it as a draft`;
        else if (result.outcome !== 'halted' && doubtful.has(state))
          yield `the run ${result.outcome} with intent ${id} ${state}`;
        else if (state === 'absent' && unanswered && terms.onAmbiguous === 'halt' && !askedFor)
          yield `the run ${result.outcome} with intent ${id} absent, and nobody was asked`;
        else if (state === 'submitting') yield `the run halted with intent ${id} in flight`;
      }
      for (const order of own) {
        const known = book.get(order.client_order_id);
        if (known === undefined || order.terminal) continue;
        const { state, context } = known.snapshot;
        if (isTerminal(state)) yield `order ${order.id} works at the venue, and the journal says ${state}`;
        else if (context.venueId !== undefined && context.venueId !== order.id)
          yield `order ${order.id} is taken for ${context.venueId}`;
      }
      // Undoing what a failed run placed: with a venue that behaves, nothing of it may be left working.
      const calm =
        (scenario.venue.faults ?? []).length === 0 &&
        scenario.killAfterMs === undefined &&
        scenario.fullAfter === undefined;
      if (result.outcome !== 'failed' || !calm || result.error?.kind === 'denied') return;
      for (const order of own) {
        const { terms } = intents.get(order.client_order_id) ?? {};
        const kept = terms === undefined || isPositionStop(terms) || scenario.shape.text.includes('undo: keep');
        if (!order.terminal && !kept)
          yield `the run failed and left order ${order.id} of ${order.client_order_id} working`;
      }
    },
  },
  I5: {
    name: 'evidence for negatives',
    *breaches(facts) {
      const { intents, happened } = facts;
      for (const [id, intent] of intents) {
        const order = happened.book.get(id);
        const { state } = order?.snapshot ?? {};
        const negative =
          state === 'absent' ||
          state === 'denied' ||
          (state === 'rejected' && order?.snapshot.context.venueId === undefined) ||
          state === 'draft';
        if (negative && intent.orders.length > 0)
          yield `intent ${id} is called ${state}, and the venue has ${intent.orders.map((each) => each.id).join(', ')}`;
      }
      for (const entry of happened.entries) {
        if (entry.type !== 'order.moved' || entry.data.to !== 'absent') continue;
        const id = entry.data.clientOrderId;
        const last = intents
          .get(id)
          ?.attempts.filter((each) => each.entry.seq < entry.seq)
          .at(-1);
        if (last === undefined) continue;
        const settledAt =
          facts.settled.find(({ intended }) => intended.data.call === last.intended.data.call)?.entry.at ??
          last.entry.at;
        const negative = facts
          .lookups(id)
          .filter(
            (each) =>
              each.entry.seq > last.entry.seq &&
              each.entry.seq < entry.seq &&
              (each.entry.data.sentAt ?? 0) >= settledAt,
          );
        const lastSentAt = Math.max(0, ...negative.map((each) => each.entry.data.sentAt ?? 0));
        const pages = facts.settled.filter(
          (each) =>
            each.entry.seq < entry.seq &&
            each.entry.seq > last.entry.seq &&
            each.intended.data.endpoint === 'GET /orders' &&
            (each.intended.data.params as { p_limit?: number }).p_limit === 1000 &&
            each.intended.data.purpose === 'lookup',
        );
        if (negative.length < TIMINGS.absenceReads)
          yield `intent ${id} is called absent after ${negative.length} look-ups`;
        if (lastSentAt < last.entry.at + happened.scenario.profile.ambiguityWindowMs)
          yield `intent ${id} is called absent ${lastSentAt - last.entry.at} ms after its attempt`;
        if (pages.length === 0) yield `intent ${id} is called absent without a page of the market`;
      }
      for (const entry of happened.entries) {
        if (entry.type !== 'order.concluded' || entry.data.event !== 'REFUSED') continue;
        const last = intents
          .get(entry.data.clientOrderId)
          ?.attempts.filter((each) => each.entry.seq < entry.seq)
          .at(-1);
        if (
          !facts
            .lookups(entry.data.clientOrderId)
            .some((each) => each.entry.seq > (last?.entry.seq ?? 0) && each.entry.seq < entry.seq)
        ) {
          yield `intent ${entry.data.clientOrderId} is called refused on a text nobody knows, with no look-up`;
        }
      }
    },
  },
  I6: {
    name: 'identity',
    *breaches({ intents, attempts }) {
      for (const [id, intent] of intents) {
        const digests = new Set(intent.attempts.map(({ entry }) => entry.data.digest));
        if (digests.size > 1) yield `the attempts of intent ${id} differ`;
        const steps = new Set(intent.attempts.map(({ intended }) => intended.step));
        if (steps.size > 1) yield `intent ${id} belongs to ${[...steps].join(' and ')}`;
      }
      for (const { entry, intended } of attempts) {
        if (intended.data.endpoint !== 'POST /orders') continue;
        if (entry.data.params['client_order_id'] !== intended.data.clientOrderId)
          yield `call ${entry.data.call} was attempted under another client order id than intended`;
      }
    },
  },
  I7: {
    name: 'one mutation in flight',
    *breaches({ happened }) {
      const open = (each: (typeof happened.sent)[number], at: number) =>
        each.at <= at && (each.repliedAt === undefined || each.repliedAt > at);
      for (const [index, request] of happened.sent.entries()) {
        const { endpoint, life, at, params } = request;
        const others = happened.sent.slice(0, index).filter((each) => each.life === life && open(each, at));
        if (
          endpoint === 'PUT /orders' &&
          others.some((each) => each.endpoint === endpoint && each.params['order_id'] === params['order_id'])
        )
          yield `two amends of ${params['order_id']} in flight`;
        if (endpoint.endsWith('/cancel_all_after') && endpoint !== 'GET /cancel_all_after') {
          if (others.some((each) => each.endpoint.endsWith('/cancel_all_after') && each.method !== 'GET'))
            yield `two requests about the deadman switch in flight at ${at}`;
        }
        if (endpoint === 'POST /orders' || endpoint === 'PUT /orders') {
          if (others.some((each) => each.endpoint === 'DELETE /orders/cancel_all'))
            yield `${endpoint} sent while cancel_all is in flight`;
        }
      }
    },
  },
  I8: {
    name: 'the order machine only goes forward',
    *breaches({ happened }) {
      const filled = new Map<string, string>();
      let resurrected = new Set<string>();
      for (const entry of happened.entries) {
        if (entry.type === 'order.alarmed' && (entry.data.alarm === 'Resurrected' || entry.data.alarm === 'Reappeared'))
          resurrected.delete(entry.data.clientOrderId);
        if (entry.type !== 'order.moved') continue;
        const { clientOrderId: id, from, to, event, filled: now } = entry.data;
        const ends = ['closed', 'canceled', 'rejected', 'denied', 'absent'];
        // One end may correct another: `closed` outranks `canceled`.
        if (ends.includes(from) && !ends.includes(to) && event !== 'SUBMIT') resurrected.add(id);
        const before = filled.get(id) ?? '0';
        if (decimal(now).lt(decimal(before))) yield `the fills of ${id} went from ${before} back to ${now}`;
        filled.set(id, now);
      }
      for (const id of resurrected) yield `order ${id} left its end without an alarm`;
      resurrected = new Set();
      for (const { snapshot, intent } of happened.book.orders()) {
        const { authorised, filled: sum } = snapshot.context;
        if (authorised !== undefined && decimal(sum).gt(decimal(authorised)) && !snapshot.context.overfilled)
          yield `${intent.clientOrderId} has filled ${sum} of ${authorised}`;
      }
    },
  },
  I9: {
    name: 'fills once',
    *breaches({ happened, own, settled }) {
      const fills = new Map(happened.books.fills.map((fill) => [fill.id, fill]));
      for (const { snapshot, intent } of happened.book.orders()) {
        const { context } = snapshot;
        let sum = decimal('0');
        for (const [id, fill] of context.fills) {
          const true_ = fills.get(id);
          if (true_ === undefined || true_.order_id !== context.venueId || true_.size !== fill.size)
            yield `fill ${id} of ${intent.clientOrderId} is not the venue's`;
          sum = sum.plus(decimal(fill.size));
        }
        if (!sum.eq(decimal(context.filled)))
          yield `${intent.clientOrderId} counts ${context.filled} filled; its fills are ${sum.toFixed()}`;
        const order = own.find((each) => each.id === context.venueId);
        if (order === undefined) continue;
        const most = exposureOf(snapshot).filled;
        if (decimal(most).gt(decimal(order.filled)))
          yield `${intent.clientOrderId} counts ${most} filled, the venue ${order.filled}`;
        const isFinal = ['closed', 'canceled', 'rejected'].includes(snapshot.state) && happened.result !== undefined;
        const readings = settled.filter(
          (each) =>
            each.entry.data.kind === 'confirmed' &&
            each.intended.data.endpoint === 'GET /fills/order' &&
            (each.intended.data.params as { order_id?: string }).order_id === order.id,
        );
        if (readings.length >= FILL_READINGS && decimal(context.filled).lt(decimal(context.recordFilled)))
          yield `${intent.clientOrderId} has ${context.filled} of ${context.recordFilled} filled after its fills were read ${readings.length} times`;
        if (isFinal && order.terminal && !decimal(most).eq(decimal(order.filled)))
          yield `${intent.clientOrderId} ended with ${most} filled, at the venue with ${order.filled}`;
      }
    },
  },
  I10: {
    name: 'the budget',
    *breaches({ happened, attempts }) {
      const { books, scenario, sent } = happened;
      const { tokens } = scenario.venue;
      const limit = tokens?.limit ?? 1200;
      const isAlone = (tokens?.foreign ?? []).length === 0;
      if (isAlone) {
        // A sliding counter is met by bounded probes (budget.md, contract for users).
        if (books.tokens.refused > 0 && tokens?.algorithm !== 'sliding_counter')
          yield `the venue refused ${books.tokens.refused} requests for want of tokens`;
        const charged = books.requests
          .filter((request) => request.tokens > 0 && request.fault !== 'delay')
          .sort((a, b) => (a.arrivedAt ?? 0) - (b.arrivedAt ?? 0));
        let [first, used] = [0, 0];
        for (const request of charged) {
          used += request.tokens;
          for (; (charged[first]?.arrivedAt ?? 0) <= (request.arrivedAt ?? 0) - 60_000; first += 1)
            used -= charged[first]?.tokens ?? 0;
          if (used > limit) {
            yield `${used} tokens within a minute before ${request.arrivedAt}, of ${limit}`;
            break;
          }
        }
      }
      for (const [index, { reply, repliedAt = 0, endpoint }] of sent.entries()) {
        if (reply?.kind !== 'answer' || reply.status !== 429 || endpoint.startsWith('GET')) continue;
        const waitMs = readRetryAfter(reply.headers) ?? 0;
        const early = sent
          .slice(index + 1)
          .find((each) => each.endpoint === endpoint && each.at >= repliedAt && each.at < repliedAt + waitMs);
        if (early !== undefined)
          yield `${endpoint} sent ${early.at - repliedAt} ms after a refusal that asked for ${waitMs} ms`;
      }
      const roomy =
        isAlone && limit >= 1200 && !(scenario.venue.faults ?? []).some((fault) => fault.do === 'rate_limited');
      for (const { entry, intended } of attempts) {
        if (roomy && intended.data.class === 'protect' && entry.data.waitedMs > URGENT_WAIT_MS)
          yield `${intended.data.endpoint} waited ${entry.data.waitedMs} ms for tokens`;
      }
    },
  },
  I11: {
    name: 'deadman liveness',
    *breaches(facts) {
      const { happened } = facts;
      const { deadman } = happened.scenario.shape;
      if (deadman === undefined) return;
      for (const request of happened.sent) {
        if (request.endpoint === 'POST /orders' && !facts.wasArmed(request.at))
          yield `an order was sent at ${request.at} with no deadman switch armed`;
      }
      for (const { event, at } of happened.books.deadman.events) {
        if (event === 'fired' && facts.wasHealthy(at - deadman.timeoutMs, at))
          yield `the deadman switch fired at ${at} although a process was there and all was well`;
      }
    },
  },
  I12: {
    name: 'deadman closure',
    *breaches({ happened, endedAt }) {
      const { deadman } = happened.scenario.shape;
      if (deadman === undefined || endedAt === undefined || happened.result === undefined) return;
      const { outcome } = happened.result;
      const late = happened.sent.filter((each) => each.endpoint === 'POST /cancel_all_after' && each.at > endedAt);
      if (late.length > 0) yield `a beat was sent ${(late[0]?.at ?? 0) - endedAt} ms after the run had ended`;
      const events = happened.books.deadman.events;
      const last = events.at(-1)?.event;
      if (
        outcome !== 'halted' &&
        deadman.onExit === 'disarm' &&
        (last === 'armed' || last === 'renewed' || events.some((each) => each.at > endedAt && each.event === 'fired'))
      ) {
        yield `the run ${outcome} and left the deadman switch armed`;
      }
      // It halts also where it could not be seen that the switch was given back; then that was tried.
      const left =
        (outcome === 'halted' && happened.result.error?.step !== 'deadman') ||
        (outcome !== 'halted' && deadman.onExit === 'leave_armed');
      if (left && last === 'disarmed') yield `the run ${outcome} and disarmed the switch that it was to leave armed`;
    },
  },
  I13: {
    name: 'kill',
    *breaches({ happened }) {
      const { killedAt, sent } = happened;
      if (killedAt === undefined) return;
      for (const request of sent) {
        if (
          (request.endpoint === 'POST /orders' || request.endpoint === 'PUT /orders') &&
          request.at > killedAt + KILL_REACHES_MS
        )
          yield `${request.endpoint} sent ${request.at - killedAt} ms after the kill switch was engaged`;
      }
    },
  },
  I14: {
    name: 'single writer',
    *breaches({ happened }) {
      const { entries, sent, lives } = happened;
      let epoch = 0;
      for (const entry of entries) {
        if (entry.epoch < epoch) yield `entry ${entry.seq} of epoch ${entry.epoch} stands behind one of ${epoch}`;
        epoch = Math.max(epoch, entry.epoch);
      }
      for (const request of sent) {
        // A read changes nothing, and a session belongs to whoever has the account's secrets.
        if (request.method === 'GET' || request.endpoint === 'POST /jwt') continue;
        const own = lives.find(({ life }) => life === request.life)?.epoch ?? Number.POSITIVE_INFINITY;
        const newest = entries[request.durable - 1]?.epoch ?? 0;
        if (newest > own)
          yield `life ${request.life} sent ${request.endpoint} at ${request.at}, when the account had passed on`;
      }
    },
  },
  I15: {
    name: 'limits',
    *breaches({ happened, own, attempts }) {
      const { maxOpenOrders } = happened.scenario.shape;
      for (const order of own) {
        const open = own.filter((each) => each.arrivedAt <= order.arrivedAt && endOf(each) > order.arrivedAt).length;
        if (open > maxOpenOrders) {
          yield `${open} orders worked at ${order.arrivedAt}; at most ${maxOpenOrders} were allowed`;
          break;
        }
      }
      if (
        attempts.filter(({ entry }) => entry.data.method !== 'GET' && !entry.data.path.endsWith('cancel_all_after'))
          .length > 200
      )
        yield 'more writes than the runbook allows';
    },
  },
  I17: {
    name: 'replay',
    *breaches() {},
  },
  I18: {
    name: 'audit',
    *breaches({ happened }) {
      const verdict = verifyChain(happened.stored);
      if (!verdict.ok) yield `the chain does not verify: ${verdict.problem.detail}`;
      if (happened.entries.some(({ seq }, index) => seq !== index + 1)) yield 'the numbers have gaps';
    },
  },
  I19: {
    name: 'secrecy',
    *breaches({ happened }) {
      if (happened.scenario.profile.auth.mode !== 'jwt') return;
      for (const { seq, line } of happened.stored) {
        if (line.includes(REFRESH_TOKEN) || line.includes('simulated-refresh-') || line.includes('.simulated"'))
          yield `entry ${seq} holds a token`;
      }
    },
  },
  I20: {
    name: 'exact numbers',
    *breaches({ intents, happened }) {
      for (const [id, { terms, attempts, orders }] of intents) {
        const wanted = { size: terms.size, price: terms.price, trigger_price: terms.trigger };
        for (const [name, text] of Object.entries(wanted)) {
          for (const { entry } of attempts) {
            if (entry.data.params[name] !== text)
              yield `${name} of ${id} was approved as ${text} and attempted as ${String(entry.data.params[name])}`;
          }
          for (const request of happened.sent) {
            if (
              request.params['client_order_id'] === id &&
              request.endpoint === 'POST /orders' &&
              request.params[name] !== text
            )
              yield `${name} of ${id} was approved as ${text} and left as ${request.params[name]}`;
          }
        }
        const [order] = orders;
        if (
          order !== undefined &&
          !isPositionStop(terms) &&
          !decimal(order.history[0]?.initial_size ?? '0').eq(decimal(terms.size))
        )
          yield `order ${order.id} arrived with another size than ${terms.size}`;
      }
    },
  },
} as const satisfies Record<string, Invariant>;
export type InvariantName = keyof typeof INVARIANTS;

/** When an order stopped working. */
function endOf({ terminal, history }: Facts['own'][number]): number {
  return terminal ? (history.at(-1)?.at ?? 0) : Number.POSITIVE_INFINITY;
}
