/** Invariants about orders: what the journals say of each intent, what left the processes, and the orders the venue has. */

import { type Decimal, decimal } from '../../src/base/decimal.ts';
import { BOOT_GRAIN_MS } from '../../src/base/run-clock.ts';
import { PROTECTIVE_FLUSH_MS } from '../../src/gateway/client.ts';
import { maySkipJournal } from '../../src/gateway/send-checks.ts';
import { getAction } from '../../src/venue/catalogue.ts';
import { isPositionStop, TIMINGS } from '../../src/venue/order/context.ts';
import { CLIENT_ORDER_PREFIX } from '../../src/venue/order/identity.ts';
import { getExposure } from '../../src/venue/order/life.ts';
import { isTerminal } from '../../src/venue/order/states.ts';
import { isFoundMissing, type VenueCall } from '../../src/venue/port.ts';
import { isTerminalStatus, type OrderRecord } from '../../src/venue/records.ts';
import type { Facts, Settled } from './facts.ts';
import type { Invariant } from './invariants.ts';
import { findWrongMoney } from './money.ts';
import type { Sent } from './process-transport.ts';
import { UNDECIDED } from './scenario.ts';
import type { RunTold } from './world.ts';

/** Orders that worked at the venue while a `cancel_all` step said that none is left. */
function* outlivedSweeps(facts: Facts): Iterable<string> {
  const { happened, attempts } = facts;
  for (const swept of happened.entries) {
    if (swept.type !== 'account.swept' || swept.data.left?.length !== 0 || swept.data.unread !== undefined) continue;
    const saidAt = facts.at(swept);
    const readings = attempts.filter(
      ({ entry, intended: { data } }) =>
        entry.run === swept.run &&
        entry.step === swept.step &&
        entry.seq < swept.seq &&
        data.endpoint === 'GET /orders' &&
        data.params['status'] === 'open',
    );
    const last = readings.at(-1);
    if (last === undefined) continue;
    for (const { id, status } of facts.listShown(saidAt, facts.at(last.entry)))
      yield `cancel_all said at ${saidAt} that none is left, and ${id} was ${status}`;
  }
}

/** After so many readings, over eight seconds, the fills of an order are all there. */
const FILL_READINGS = 6;

/** Whether what a run's orders add up to only closes what the account held before, as the run had read in a list of its fills. */
function closesHeld({ happened, settled, intents }: Facts, run: RunTold, market: string, net: Decimal): boolean {
  const positions = happened.scenario.venue.account?.positions ?? [];
  const held = positions.find((position) => position.market === market)?.size ?? '0';
  const side = net.isNegative() ? 'short' : 'long';
  const first = [...intents.values()].find(
    ({ run: of, terms }) => of === run && terms.market === market && terms.side === side,
  );
  const hasRead = settled.some(
    ({ entry, intended }) =>
      entry.run === run.name &&
      entry.seq < (first?.sequence ?? 0) &&
      entry.data.kind === 'confirmed' &&
      intended.data.endpoint === 'GET /fills',
  );
  return hasRead && decimal(held).isNegative() !== net.isNegative() && net.abs().lte(decimal(held).abs());
}

/** Markets in which the venue's books show more of a run than its runbook declares to leave. */
function* findBare(facts: Facts, run: RunTold, allowed: 'none' | 'protected'): Iterable<string> {
  const endedAt = facts.endOf(run) ?? 0;
  const orders = facts.ordersOf(run);
  for (const market of new Set(orders.map(({ market_id }) => market_id))) {
    const here = orders.filter(({ market_id }) => market_id === market);
    const isPart = ({ type }: { readonly type: string }) => type === 'stop_loss' || type === 'take_profit';
    const isUnseen = (order: (typeof here)[number]) => facts.wasHidden(order) || facts.wasShownLate(order, run);
    // A part of the position may have closed what another run opened.
    if (here.some((order) => (isPart(order) && order.filled !== '0') || isUnseen(order))) continue;
    const net = here.reduce(
      (sum, { side, filled }) => (side === 'long' ? sum.plus(filled) : sum.minus(filled)),
      decimal('0'),
    );
    if (net.isZero() || closesHeld(facts, run, market, net)) continue;
    const side = net.isNegative() ? 'short' : 'long';
    const what = `${run.name} left ${side} ${net.abs().toFixed()} ${market}`;
    if (allowed === 'none') yield `${what}, and says that it leaves none`;
    // An outsider, or a fault, may have taken a stop away that the run had seen working.
    else if (facts.wasCalm()) {
      const stops = here.filter((order) => {
        const status = order.history.filter(({ at }) => at <= endedAt).at(-1)?.status;
        return (
          order.side !== side && order.type.startsWith('stop_') && status !== undefined && !isTerminalStatus(status)
        );
      });
      if (stops.length === 0) yield `${what} without a working stop`;
    }
  }
}

/**
 * Whether a cancel left as its process went on, whose wait for the attempt was over by then, and the process died, or was frozen until
 * another had taken over, before the disk had that attempt.
 */
function isLostWithStop({ happened }: Facts, { endpoint, life, at }: Sent): boolean {
  const { stops, lives, scenario } = happened;
  // Only the first process is stopped so.
  if (life !== 1 || getAction(endpoint)?.startsWith('cancel') !== true) return false;
  const [first] = lives;
  const isGone = first !== undefined && first.how !== 'ended' && first.endedAt <= at + scenario.commitMs;
  return isGone && stops.some(({ from, until }) => until === at && until - from >= PROTECTIVE_FLUSH_MS);
}

/** Whether a stop was left working as one that covers what the run holds, and the venue's books show such a position. */
function isKeptStop(facts: Facts, run: RunTold, stop: Facts['own'][number]): boolean {
  const isTold = run.entries.some(
    ({ type, data }) =>
      type === 'order.alarmed' && data.alarm === 'StopKept' && data.clientOrderId === stop.client_order_id,
  );
  const held = facts
    .ordersOf(run)
    .filter(({ market_id }) => market_id === stop.market_id)
    .reduce((net, { side, filled }) => (side === stop.side ? net.minus(filled) : net.plus(filled)), decimal('0'));
  return isTold && stop.type.startsWith('stop_') && held.gt(0);
}

/**
 * Orders that a run believes to be refused on words that decide nothing, as the venue said them; and a second order of a `place`
 * that was sent before the first was found or proven absent.
 */
function* findBelieved(facts: Facts): Iterable<string> {
  const { intents, happened } = facts;
  const answers = new Map<string, Sent>();
  for (const request of happened.sent)
    if (request.endpoint === 'POST /orders') answers.set(request.params['client_order_id'] ?? '', request);
  for (const [id, { run, step, sequence, orders, attempts }] of intents) {
    const answer = answers.get(id);
    if (answer === undefined || !isUndecided(answer)) continue;
    const snapshot = run.tracker.get(id)?.snapshot;
    if (snapshot?.state === 'rejected' && snapshot.context.venueId === undefined)
      yield `intent ${id} is called refused on words that decide nothing`;
    const isPlaced = run.entries.some(
      (entry) => entry.type === 'step.started' && entry.step === step && entry.data.verb === 'place',
    );
    const lastSeq = attempts.at(-1)?.entry.seq ?? 0;
    const decided = run.entries.find(
      (entry) =>
        entry.type === 'order.moved' &&
        entry.data.clientOrderId === id &&
        entry.seq > lastSeq &&
        !DOUBTFUL.has(entry.data.to) &&
        (entry.data.to !== 'rejected' || entry.data.orderId !== undefined),
    );
    const [second] = [...intents.values()].filter(
      (other) => other.run === run && other.step === step && other.sequence > sequence && other.attempts.length > 0,
    );
    if (
      isPlaced &&
      second !== undefined &&
      (second.attempts[0]?.entry.seq ?? 0) < (decided?.seq ?? Number.POSITIVE_INFINITY)
    )
      yield `${step} sent another order before it was known whether the venue has ${id}, which it ${orders.length === 0 ? 'has not' : 'has'}`;
  }
}

/** Whether the venue refused a request in words that decide nothing. */
function isUndecided({ reply }: Sent): boolean {
  if (reply?.kind !== 'answer' || reply.status === 401 || reply.status === 429) return false;
  return UNDECIDED.some((words) => reply.body.includes(`"error":"${words}"`));
}

/** Orders that a run leaves in doubt although their look-ups prove that the venue has none. */
function* findProvable(facts: Facts): Iterable<string> {
  for (const [id, intent] of facts.intents) {
    const { result, tracker } = intent.run;
    const snapshot = tracker.get(id)?.snapshot;
    if (result?.outcome !== 'halted' || snapshot?.state !== 'quarantined' || intent.attempts.length === 0) continue;
    const { venueId, confirmedAt, fills, unknownStatus, absence } = snapshot.context;
    const isShown = venueId !== undefined || confirmedAt !== undefined || unknownStatus !== undefined || fills.size > 0;
    // Said to be there, or asked for at a venue that ignores ids: nothing proves it absent.
    if (isShown || absence.duplicateSeen || facts.wasAnsweredBeside(id)) continue;
    const why = facts.findProvable(intent);
    if (why !== undefined) yield `the run ${intent.run.name} halted with ${id} in doubt, and ${why}`;
  }
}

/** Amends that a run calls lost, or of which it never learned what became, although the venue has shown the order with their terms. */
function* findUnseenAmends(facts: Facts): Iterable<string> {
  const { happened } = facts;
  for (const entry of happened.entries) {
    const isUnknown = entry.type === 'order.moved' && entry.data.from === 'amending' && entry.data.to === 'quarantined';
    if (!isUnknown && !(entry.type === 'order.alarmed' && entry.data.alarm === 'AmendLost')) continue;
    const { clientOrderId: id } = entry.data;
    const until = facts.at(entry);
    const order = facts.intents.get(id)?.orders[0];
    const amend = happened.sent.findLast(
      ({ endpoint, params, at }) => endpoint === 'PUT /orders' && params['order_id'] === order?.id && at <= until,
    );
    if (order === undefined || amend === undefined) continue;
    const meant = happened.entries.findLast(
      (each) =>
        each.type === 'call.intended' &&
        each.data.endpoint === 'PUT /orders' &&
        each.data.clientOrderId === id &&
        facts.at(each) <= until,
    );
    // Its process died before a byte left: what was sent is the amend before it.
    if (meant !== undefined && amend.at < facts.at(meant)) continue;
    const shown = happened.sent.filter(
      (each) =>
        each.at > amend.at &&
        (each.repliedAt ?? Number.POSITIVE_INFINITY) < until &&
        facts.listRows(each).some((row) => row.id === order.id && row.status === 'open' && hasTerms(row, amend)),
    );
    // Some may have reached a process that died with them.
    const life = happened.lives.filter(({ startedAt }) => startedAt <= until).length;
    const known = new Set(facts.settled.flatMap((each) => facts.requestsOf(each)));
    if (shown.filter((each) => each.life === life || known.has(each)).length > 1)
      yield `${entry.run} does not know the terms of ${id}, and the venue has shown those of its amend`;
  }
}

/** Whether a record has the terms of an amend: its size is what remains and what has filled, or the size that it began with. */
function hasTerms(row: OrderRecord, { params: { price, size } }: Sent): boolean {
  const total = decimal(row.size).plus(decimal(row.total_filled_size));
  return (
    price !== undefined &&
    decimal(price).eq(decimal(row.price)) &&
    (size === undefined || total.eq(decimal(size)) || decimal(row.initial_size).eq(decimal(size)))
  );
}

/** Whether a run that halted for something unknown had anything of which that is true: an order, a cancel, or a request about none. */
function hadUnknown({ settled }: Facts, run: RunTold): boolean {
  const { entries, name } = run;
  const resumed = entries.findLastIndex(
    ({ type }, index) => type === 'run.resumed' && entries[index - 1]?.type === 'run.ended',
  );
  const isLater = (seq: number) => seq > (entries[resumed]?.seq ?? 0);
  const isWorking = run.tracker
    .orders()
    .some(({ snapshot: { state } }) => DOUBTFUL.has(state) || state === 'canceling');
  return (
    isWorking ||
    entries.some(
      (entry) =>
        isLater(entry.seq) &&
        ((entry.type === 'order.moved' && entry.data.to === 'quarantined') ||
          (entry.type === 'order.concluded' && entry.data.event === 'T_CONFIRM') ||
          (entry.type === 'order.alarmed' && entry.data.alarm === 'CancelLost')),
    ) ||
    settled.some(
      ({ entry, intended: { data } }) =>
        entry.run === name &&
        isLater(entry.seq) &&
        entry.data.kind !== 'confirmed' &&
        !isFoundMissing(entry.data) &&
        (data.endpoint !== 'POST /orders' || entry.data.code !== undefined),
    )
  );
}

const DOUBTFUL: ReadonlySet<string> = new Set(['submitting', 'unknown', 'quarantined', 'amending']);

export const ORDER_INVARIANTS = {
  I1: {
    name: 'no duplicate',
    asks: 'no client order id has two orders',
    against: ['books'],
    *breaches({ intents }) {
      for (const [id, { orders }] of intents) {
        if (orders.length > 1)
          yield `${orders.length} orders at the venue for the one intent ${id}: ${orders.map((order) => order.id).join(', ')}`;
      }
    },
  },
  I2: {
    name: 'write-ahead',
    asks: 'each mutating request that left has a durable attempt of its own: same life, same epoch, same bytes; a heartbeat has at least one before it',
    against: ['wire', 'journal'],
    *breaches(facts) {
      const { attempts, happened } = facts;
      const { sent, lives, scenario } = happened;
      const { fullAfter, fullLater, diskHangs } = scenario;
      const matched = new Map<string, number>();
      for (const request of sent) {
        if (request.method === 'GET' || request.endpoint === 'POST /jwt') continue;
        // What only protects still goes when the disk takes nothing any more.
        const isFull =
          (request.life === 1 && (fullAfter ?? diskHangs) !== undefined) || request.life === fullLater?.life;
        if (isFull && /^DELETE|cancel_all_after/.test(request.endpoint)) continue;
        const epoch = lives.find(({ life }) => life === request.life)?.epoch;
        const key = `${request.life} ${request.endpoint} ${request.digest}`;
        const before = matched.get(key) ?? 0;
        matched.set(key, before + 1);
        const own = attempts.filter(
          ({ entry }) =>
            entry.data.epoch === epoch &&
            `${entry.data.method} ${entry.data.path}` === request.endpoint &&
            entry.data.digest === request.digest,
        );
        const durable = own.filter(({ position }) => position <= request.durable);
        // Nor does a store that does not answer, or a process that stood still before its commit, hold up what only protects.
        const isLate = own.some(
          ({ entry, intended: { data } }) =>
            maySkipJournal(data as unknown as VenueCall) && request.at - facts.at(entry) >= PROTECTIVE_FLUSH_MS,
        );
        if (isLate || isLostWithStop(facts, request)) continue;
        const isHeartbeat = own.some(({ intended: { data } }) => data.purpose === 'keep-alive');
        if (durable.length <= (isHeartbeat ? 0 : before))
          yield `life ${request.life} sent ${request.endpoint} ${JSON.stringify(request.params)} with no durable attempt of it`;
      }
    },
  },
  I3: {
    name: 'no invention',
    asks: 'each order is an intent of a journal, with its market, side and type',
    against: ['books', 'journal'],
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
    asks: 'each intent is in one state, none in doubt where the run has not halted; an order that is proven absent fails its step, which sends no other, but for a stop or target of `manage`, which only reduces, and one more exit; a run halts only where something went wrong, and for an unknown outcome only where something is unknown: neither an order that look-ups and the page of its market prove absent nor an amend whose terms the venue has shown; what a failed run placed is taken away',
    against: ['books', 'wire', 'journal'],
    *breaches(facts) {
      const { intents, happened, own, settled } = facts;
      const left = facts.listLeft();
      for (const [id, { attempts, terms, run, step, sequence }] of intents) {
        const { result, tracker, entries } = run;
        if (result === undefined) continue;
        const isOf = (verb: string) =>
          entries.some((entry) => entry.type === 'step.started' && entry.step === step && entry.data.verb === verb);
        const holds = isOf('manage');
        // A step of several orders fails with the first of its errors.
        const closes = holds || isOf('close');
        // One that failed is cancelled where the block around it ends while the fills of its other order are read.
        const isOneOfSeveral = [...intents.values()].some(
          (other) => other.step === step && other.run === run && other.sequence !== sequence,
        );
        const saysSo = (kind: string | undefined) => kind === 'not_placed' || (kind === 'cancelled' && isOneOfSeveral);
        const isReported = entries.some(
          (entry) =>
            (entry.type === 'run.ended' && entry.data.outcome === 'halted') ||
            (entry.type === 'step.ended' &&
              entry.step === step &&
              (closes ? entry.data.error !== undefined : saysSo(entry.data.error?.kind))),
        );
        // Of `manage`: the exit that follows a stop or target which is not there closes what is held.
        const onlyReduces = (type: string) => holds && (type === 'stop_loss' || type === 'take_profit');
        const later = [...intents.values()].filter(
          (other) =>
            other.step === step && other.run === run && other.sequence > sequence && !onlyReduces(other.terms.type),
        );
        // An exit that is proven absent is followed by one more: what is open must not stay so.
        const isExit = closes && terms.type === 'market';
        const [first] = attempts;
        const attemptedAt = first === undefined ? Number.POSITIVE_INFINITY : facts.at(first.entry);
        // A stop or target that was put back meanwhile may have closed it.
        const isClosed =
          isExit &&
          [...intents.values()].some(
            (other) =>
              other.step === step &&
              other.run === run &&
              onlyReduces(other.terms.type) &&
              other.orders.some(({ filled, history }) => filled !== '0' && (history.at(-1)?.at ?? 0) > attemptedAt),
          );
        const sentLater = later.filter((other) => other.attempts.length > 0);
        // One of which no byte left is certainly not there: the exit tries again, and may place that one more.
        const exits = sentLater.filter(
          (other) => other.terms.type === 'market' && other.attempts.some((attempt) => left.has(attempt)),
        );
        const isSentAgain = isExit ? exits.length > 1 : sentLater.length > 0;
        const last = attempts.at(-1)?.intended;
        const unanswered = settled.find((each) => each.intended === last)?.entry.data.kind === 'unresolved';
        const state = tracker.get(id)?.snapshot.state;
        if (state === undefined) yield `intent ${id} is in no state`;
        else if (state === 'draft' && attempts.length > 0 && result.outcome !== 'halted')
          yield `intent ${id} was sent, and the run ends with it as a draft`;
        else if (result.outcome !== 'halted' && DOUBTFUL.has(state))
          yield `the run ${result.outcome} with intent ${id} ${state}`;
        else if (
          state === 'absent' &&
          unanswered &&
          terms.onAmbiguous === 'halt' &&
          !onlyReduces(terms.type) &&
          (isSentAgain || (!isReported && !isClosed && later.length === 0))
        )
          yield `the run ${result.outcome} with intent ${id} absent, ${isReported ? 'and its step sent another' : 'and its step does not say so'}`;
        else if (state === 'submitting') yield `the run halted with intent ${id} in flight`;
      }
      for (const order of own) {
        const known = facts.orderOf(order.client_order_id);
        if (known === undefined || order.terminal || facts.wasHidden(order)) continue;
        if (intents.get(order.client_order_id)?.run.result === undefined) continue;
        const { state, context } = known.snapshot;
        if (isTerminal(state)) yield `order ${order.id} works at the venue, and the journal says ${state}`;
        else if (context.venueId !== undefined && context.venueId !== order.id)
          yield `order ${order.id} is taken for ${context.venueId}`;
      }
      yield* findProvable(facts);
      yield* findUnseenAmends(facts);
      const { faults = [] } = happened.scenario.venue;
      const { killAfterMs, fullAfter, fullLater } = happened.scenario;
      for (const run of happened.runs) {
        const { result, shape } = run;
        const doubted = run.tracker.orders().filter(({ snapshot }) => snapshot.state === 'quarantined');
        const isUnprovable =
          doubted.length > 0 && doubted.every(({ intent }) => facts.wasAnsweredBeside(intent.clientOrderId));
        if (result?.outcome === 'halted' && result.error?.kind === 'unknown_outcome' && !hadUnknown(facts, run))
          yield `the run ${run.name} halted, and nothing of it is unknown: ${result.reason ?? 'no reason'}`;
        if (result?.outcome === 'halted' && facts.wasCalm() && !isUnprovable)
          yield `the run ${run.name} halted although nothing went wrong: ${result.reason ?? 'no reason'}`;
        // Undoing what a failed run placed: with a venue that behaves, nothing of it may be left working.
        const calm = faults.length === 0 && killAfterMs === undefined && (fullAfter ?? fullLater) === undefined;
        const kind = result?.error?.kind;
        // A run that leaves too much undoes nothing.
        if (result?.outcome !== 'failed' || !calm || kind === 'denied' || kind === 'unprotected_position') continue;
        // Steps that were all done are not undone: what they left resting stays, also where `finally` fails.
        if (run.entries.some(({ type, data }) => type === 'run.moved' && data.event === 'COMPLETED')) continue;
        for (const order of facts.ordersOf(run)) {
          const { terms } = intents.get(order.client_order_id) ?? {};
          const kept =
            terms === undefined || isPositionStop(terms) || !shape.undoesAll || isKeptStop(facts, run, order);
          if (!order.terminal && !kept)
            yield `the run failed and left order ${order.id} of ${order.client_order_id} working`;
        }
      }
    },
  },
  I5: {
    name: 'evidence for negatives',
    asks: 'what is called absent, denied or refused is not at the venue; absent only after five look-ups, the window and a page of the market; never refused on words that decide nothing, behind which no step places again before the order is found or proven absent',
    against: ['books', 'wire', 'journal'],
    *breaches(facts) {
      const { intents, happened } = facts;
      for (const [id, intent] of intents) {
        const order = facts.orderOf(id);
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
        const settled = facts.settled.find(({ intended }) => intended === last.intended);
        const settledAt = facts.at(settled?.entry ?? last.entry);
        const between = (each: Settled) =>
          each.entry.run === entry.run && each.entry.seq > last.entry.seq && each.entry.seq < entry.seq;
        const negative = facts.lookups(id).filter((each) => between(each) && facts.sentAt(each) >= settledAt);
        const lastSentAt = Math.max(0, ...negative.map((each) => facts.sentAt(each)));
        const pages = facts.settled.filter(
          (each) =>
            between(each) &&
            each.intended.data.endpoint === 'GET /orders' &&
            (each.intended.data.params as { p_limit?: number }).p_limit === 1000 &&
            each.intended.data.purpose === 'lookup',
        );
        const afterMs = lastSentAt - facts.at(last.entry);
        if (negative.length < TIMINGS.absenceReads)
          yield `intent ${id} is called absent after ${negative.length} look-ups`;
        // How long no process was there is known to a grain, and counts as the longer time: a switch may have fired.
        const resumes = happened.entries.filter(
          (each) => each.run === entry.run && each.type === 'run.resumed' && each.seq < entry.seq,
        );
        if (afterMs + resumes.length * BOOT_GRAIN_MS < happened.scenario.profile.ambiguityWindowMs)
          yield `intent ${id} is called absent ${afterMs} ms after its attempt`;
        if (pages.length === 0) yield `intent ${id} is called absent without a page of the market`;
      }
      yield* findBelieved(facts);
    },
  },
  I6: {
    name: 'identity',
    asks: 'the attempts of an intent are the same bytes, of one step, under the client order id that was intended',
    against: ['journal'],
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
    asks: 'no two amends of one order and no two writes about the switch at once; no POST or PUT of orders by any run of a process while its cancel_all is out; where a cancel_all step said that none is left, each order that the venue showed by then was over',
    against: ['wire', 'books'],
    *breaches(facts) {
      const { happened } = facts;
      yield* outlivedSweeps(facts);
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
        // Steps that arm or disarm it beside a `deadman` block do not wait for a heartbeat.
        if (facts.isSwitchOfOne() && endpoint.endsWith('/cancel_all_after') && endpoint !== 'GET /cancel_all_after') {
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
    asks: 'an end is left only with an alarm, fills never fall and never exceed what was authorised',
    against: ['journal'],
    *breaches(facts) {
      const { happened } = facts;
      const filled = new Map<string, string>();
      let late = new Set<string>();
      for (const entry of happened.entries) {
        if (entry.type === 'order.alarmed' && (entry.data.alarm === 'LateOrder' || entry.data.alarm === 'Reappeared'))
          late.delete(entry.data.clientOrderId);
        if (entry.type !== 'order.moved') continue;
        const { clientOrderId: id, from, to, event, filled: now } = entry.data;
        const ends = ['closed', 'canceled', 'rejected', 'denied', 'absent'];
        // One end may correct another: `closed` outranks `canceled`.
        if (ends.includes(from) && !ends.includes(to) && event !== 'SUBMIT') late.add(id);
        const before = filled.get(id) ?? '0';
        if (decimal(now).lt(decimal(before))) yield `the fills of ${id} went from ${before} back to ${now}`;
        filled.set(id, now);
      }
      for (const id of late) yield `order ${id} left its end without an alarm`;
      late = new Set();
      for (const { snapshot, intent } of facts.bookOrders()) {
        const { authorised, filled: sum } = snapshot.context;
        if (authorised !== undefined && decimal(sum).gt(decimal(authorised)) && !snapshot.context.overfilled)
          yield `${intent.clientOrderId} has filled ${sum} of ${authorised}`;
      }
    },
  },
  I9: {
    name: 'fills once',
    asks: 'each fill is the venue’s, counted once; an order that ended has the fills that the venue has; position, realised PnL and fees of the account’s ledger are what exact fractions make of the venue’s fills',
    against: ['books', 'journal'],
    *breaches(facts) {
      yield* findWrongMoney(facts);
      const { happened, own, settled, intents } = facts;
      const fills = new Map(happened.books.fills.map((fill) => [fill.id, fill]));
      for (const { snapshot, intent } of facts.bookOrders()) {
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
        const most = getExposure(snapshot).filled;
        if (decimal(most).gt(decimal(order.filled)))
          yield `${intent.clientOrderId} counts ${most} filled, the venue ${order.filled}`;
        const run = intents.get(intent.clientOrderId)?.run;
        const isFinal =
          ['closed', 'canceled', 'rejected'].includes(snapshot.state) &&
          run?.result !== undefined &&
          !facts.wasHidden(order) &&
          !facts.wasShownLate(order, run);
        const readings = settled.filter(
          (each) =>
            each.entry.data.kind === 'confirmed' &&
            each.intended.data.endpoint === 'GET /fills/order' &&
            (each.intended.data.params as { order_id?: string }).order_id === order.id,
        );
        const mayLag = (happened.scenario.venue.fillLagMs ?? 0) > 1500;
        if (!mayLag && readings.length >= FILL_READINGS && decimal(context.filled).lt(decimal(context.recordFilled)))
          yield `${intent.clientOrderId} has ${context.filled} of ${context.recordFilled} filled after its fills were read ${readings.length} times`;
        if (isFinal && order.terminal && !decimal(most).eq(decimal(order.filled)))
          yield `${intent.clientOrderId} ended with ${most} filled, at the venue with ${order.filled}`;
      }
    },
  },
  I24: {
    name: 'what is left',
    asks: 'a run that succeeded or was stopped says what it left, and left no more than its runbook declares: with none, its orders add up to nothing for ever; with protected, what they add up to had a working stop when it ended',
    against: ['books', 'journal'],
    *breaches(facts) {
      for (const run of facts.happened.runs) {
        const { result, shape, entries } = run;
        const { leaves } = shape.runbook;
        if (result?.outcome !== 'succeeded' && result?.outcome !== 'stopped') continue;
        const said = entries.findLast((entry) => entry.type === 'run.residual');
        if (said?.type !== 'run.residual' || said.data.when !== 'end' || !said.data.ok)
          yield `${run.name} ${result.outcome} and its journal does not say that it left what it declares`;
        // A switch that stays armed may cancel an order only after it has filled.
        if (leaves.position === 'open' || /leave_armed|\barm_deadman:/.test(shape.text)) continue;
        yield* findBare(facts, run, leaves.position);
      }
    },
  },
  I20: {
    name: 'exact numbers',
    asks: 'decimals are the same texts as approved, as attempted and as sent, and arrive as the same size',
    against: ['books', 'wire', 'journal'],
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
