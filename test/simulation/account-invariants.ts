/** Invariants about the account and its processes: tokens, the deadman switch, kills, leases, limits, and the journals as such. */
import { planFor } from '../../src/app/plan.ts';
import { type Decimal, decimal } from '../../src/base/decimal.ts';
import { FAULTS } from '../../src/gateway/simulator/config/faults.ts';
import type { WireReply } from '../../src/gateway/transport.ts';
import { verifyChain } from '../../src/journal/chain.ts';
import type { Entry } from '../../src/journal/entry.ts';
import type { CheckedRunbook } from '../../src/runbook/checked.ts';
import type { Plan } from '../../src/runbook/plan/plan.ts';
import type { Value } from '../../src/runbook/values.ts';
import { isPositionStop } from '../../src/venue/order/context.ts';
import { isWorking } from '../../src/venue/order/states.ts';
import { readRetryAfter, readTokenCounts } from '../../src/venue/tokens/headers.ts';
import { isUrgent } from '../../src/venue/tokens/ledger.ts';
import { findExceeded, findUnplanned } from '../plan/against-plan.ts';
import { indexSteps, toStatic } from './completion-invariants.ts';
import { EXCESSIVE } from './drawn-runbook.ts';
import type { Facts } from './facts.ts';
import type { Invariant } from './invariants.ts';
import { REFRESH_TOKEN } from './scenario.ts';
import type { Happened, RunTold } from './world.ts';

/** How soon a kill that a person engaged must have reached a run: the command line looks five times a second. */
const KILL_REACHES_MS = 250;
/** The last reading of a sweep takes no longer, ms. */
const LAST_READING_MS = 3000;
/** How old the answers may be on which a write leaves. */
const GATE_MS = 250;
/** How long a cancel or a heartbeat may wait for tokens, ms. */
const URGENT_WAIT_MS = 2000;

/** What counts as activity for the deadman switch (venue-api.md, rule 1). */
const ACTIVITY: ReadonlySet<string> = new Set([
  'POST /orders',
  'PUT /orders',
  'DELETE /orders',
  'DELETE /orders/cancel_all',
  'POST /cancel_all_after',
]);
/** No undisturbed request takes longer to the venue. */
const LATENCY_MS = 500;

/** A JWT of three seconds costs as much as the heartbeats, and nothing is kept for its renewals. */
function renewsAlways({ venue: { auth } }: Happened['scenario']): boolean {
  return auth?.mode === 'jwt' && (auth.lifeMs ?? 60_000) < 10_000;
}

/** Orders that a run decided to send after it had halted, and that could have enlarged what its own orders hold. */
function* enlargedWhileHalting(facts: Facts, run: RunTold): Iterable<string> {
  const halted = run.entries.find((entry) => entry.type === 'run.moved' && entry.data.event === 'HALTED');
  if (halted === undefined) return;
  for (const { entry, intended } of facts.attempts) {
    const { intent } = intended.data;
    if (entry.run !== run.name || entry.seq < halted.seq || intent === undefined || isPositionStop(intent)) continue;
    const sentAt = facts.at(entry);
    let held = decimal('0');
    for (const { market_id, side, history } of facts.ordersOf(run)) {
      const filled = decimal(history.findLast(({ at }) => at <= sentAt)?.total_filled_size ?? '0');
      if (market_id === intent.market) held = side === 'long' ? held.plus(filled) : held.minus(filled);
    }
    const closable = intent.side === 'short' ? held : held.negated();
    if (closable.lt(decimal(intent.size)))
      yield `the run had halted, and sent ${intent.side} ${intent.size} of ${intent.market} while it held ${held.toFixed()}`;
  }
}

/** What all runs of the account together hold, or have working, beyond the limits of its profile. */
function* exceededTogether({ happened, intents, own }: Facts): Iterable<string> {
  const { profile, venue, outsider, unreadJournal } = happened.scenario;
  const { maxPosition, maxOpenOrders, maxOrderSize } = profile.limits;
  const ours = own.filter(({ client_order_id: id }) => intents.has(id));
  if (maxOpenOrders !== undefined)
    for (const { arrivedAt } of ours) {
      const open = ours.filter((each) => each.arrivedAt <= arrivedAt && endOf(each) > arrivedAt).length;
      if (open > maxOpenOrders) yield `the account had ${open} orders working at ${arrivedAt}, of ${maxOpenOrders}`;
    }
  // What others did to an order or a position is not held to them.
  if (outsider !== undefined) return;
  const isFraction = ({ type }: { readonly type: string }) => type === 'stop_loss' || type === 'take_profit';
  for (const { id, history, ...order } of ours)
    if (maxOrderSize !== undefined && !isFraction(order) && decimal(history[0]?.initial_size ?? '0').gt(maxOrderSize))
      yield `order ${id} is larger than ${maxOrderSize}`;
  if (maxPosition === undefined) return;
  const held = new Set([
    ...(venue.account?.positions ?? []).map(({ market }) => market),
    ...ours.flatMap((order) => (isFraction(order) ? [order.market_id] : [])),
  ]);
  const ids = new Set(ours.map(({ id }) => id));
  const net = new Map<string, Decimal>();
  for (const { market_id: market, order_id: id, side, size } of happened.books.fills) {
    if (!ids.has(id) || held.has(market)) continue;
    const before = net.get(market) ?? decimal('0');
    const now = side === 'long' ? before.plus(size) : before.minus(size);
    net.set(market, now);
    if (now.abs().gt(maxPosition) && now.abs().gt(before.abs()))
      yield `the account held ${now.toFixed()} ${market}, of ${maxPosition}`;
  }
  if (unreadJournal !== undefined && ours.some(({ market_id }) => !held.has(market_id)))
    yield 'an order was sent although a limit depends on what is not known to be held';
}

/**
 * Whether a run halted only when it had disarmed its switch for its end: it reads behind that what became of its orders. Then nothing is
 * left that could stay armed.
 */
function haltsBehindExit({ entries }: RunTold): boolean {
  const moves = entries.filter((entry) => entry.type === 'run.moved');
  const [before, halted] = moves.slice(moves.findLastIndex(({ data }) => data.event === 'HALTED') - 1);
  if (before === undefined || !/^(?:exiting|settling)/.test(halted?.data.from ?? '')) return false;
  return entries.some(
    (entry) => entry.type === 'deadman.moved' && entry.seq > before.seq && entry.data.event === 'disarmed',
  );
}

/** Orders that left although a kill was in force for their run, and runs that it did not end. */
function* findSentBehindKill(facts: Facts): Iterable<string> {
  const { killedAt, releasedAt = Number.POSITIVE_INFINITY, sent, runs, lives, stops } = facts.happened;
  if (killedAt === undefined) return;
  // A run that broke before its first entry has none, and was not there.
  const wasThere = new Map(
    runs.map(({ name, entries: [first] }) => [name, first !== undefined && facts.at(first) <= killedAt]),
  );
  for (const request of sent) {
    if (request.endpoint !== 'POST /orders' && request.endpoint !== 'PUT /orders') continue;
    const isBehind = request.at > killedAt + KILL_REACHES_MS;
    const run = facts.attemptOf(request)?.entry.run ?? '';
    if (isBehind && (request.at < releasedAt || wasThere.get(run) === true))
      yield `${request.endpoint} of ${run} sent ${request.at - killedAt} ms after the kill switch was engaged`;
  }
  for (const run of runs) {
    const endedAt = facts.endOf(run);
    const isTold = run.entries.some(({ type, data }) => type === 'operator.acted' && data.command === 'kill');
    // Nothing was left to do of one that ends in the instant in which its process takes it up, or goes on behind a stop.
    const isOver = lives.some(({ startedAt }) => startedAt === endedAt) || stops.some(({ until }) => until === endedAt);
    if (
      wasThere.get(run.name) &&
      endedAt !== undefined &&
      endedAt > killedAt + 2 * KILL_REACHES_MS &&
      !isTold &&
      !isOver
    )
      yield `${run.name} ended ${endedAt - killedAt} ms after the kill, and did not hear of it`;
  }
}

/** Orders that worked when the sweep of a kill had said that nothing is left. */
function* findLeftByKill(facts: Facts): Iterable<string> {
  const { swept } = facts.happened;
  if (swept?.left !== 0) return;
  for (const { id, status } of facts.listShown(swept.at, swept.at - LAST_READING_MS))
    yield `the kill said at ${swept.at} that nothing is left, and ${id} was ${status}`;
}

/** Whether a reply shows that the rate limit refused it; one that is no answer, or never came, may. */
function mayShowLimit(reply: WireReply | undefined): boolean {
  if (reply?.kind !== 'answer') return true;
  const { status, headers } = reply;
  return status === 429 || readRetryAfter(headers) !== undefined || readTokenCounts(headers).remaining === 0;
}

/** Refusals that were taken for one of the rate limit: then the same request is sent again, and others wait. */
function* findTakenForLimit(facts: Facts): Iterable<string> {
  for (const each of facts.settled) {
    if (each.entry.data.failure !== 'rate_limited') continue;
    const { endpoint } = each.intended.data;
    const replies = facts.requestsOf(each).map(({ reply }) => reply);
    if (replies.length > 0 && !replies.some(mayShowLimit))
      yield `${endpoint} was refused without a limit in its answer, and counts as refused for its rate`;
  }
}

/** Steps that were done with an evaluation which spends more than any may: meanwhile no heartbeat can leave. */
function* findExcessive({ happened }: Facts): Iterable<string> {
  for (const run of happened.runs) {
    const steps = indexSteps(run);
    for (const entry of run.entries) {
      if (entry.type !== 'step.ended' || (entry.data.outcome !== 'succeeded' && entry.data.outcome !== 'skipped'))
        continue;
      const step = steps.get(toStatic(entry.step));
      const texts = step === undefined ? [] : [...walkExpressions([step.if, step.args])];
      if (texts.some((text) => (EXCESSIVE as readonly string[]).includes(text)))
        yield `${entry.step} ${entry.data.outcome} with an evaluation that spends more than it may`;
    }
  }
}

/** The texts of the expressions in a value, but for those of steps in it. */
function* walkExpressions(value: unknown): Iterable<string> {
  if (typeof value !== 'object' || value === null || 'verb' in value) return;
  if ('evaluate' in value && 'text' in value) yield value.text as string;
  else for (const each of Object.values(value)) yield* walkExpressions(each);
}

export const ACCOUNT_INVARIANTS = {
  I10: {
    name: 'the budget',
    asks: 'the venue refuses nothing for want of tokens, no minute holds more than the limit, nothing is sent before a Retry-After is over, no cancel waits for two seconds; no refusal counts as one of the limit that shows none in its status or headers',
    against: ['books', 'wire', 'journal'],
    *breaches(facts) {
      yield* findTakenForLimit(facts);
      const { happened, attempts } = facts;
      const { books, scenario, sent } = happened;
      const { tokens } = scenario.venue;
      const limit = tokens?.limit ?? 1200;
      const isAlone = (tokens?.foreign ?? []).length === 0 && scenario.outsider === undefined;
      if (isAlone) {
        // A sliding counter is met by bounded probes (budget.md, What it promises).
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
      for (const [index, refused] of sent.entries()) {
        const { reply, repliedAt = 0, endpoint } = refused;
        if (reply?.kind !== 'answer' || reply.status !== 429 || endpoint.startsWith('GET')) continue;
        // No one has heard of one that came as its process died.
        if (
          happened.lives.some(
            ({ life, endedAt, how }) => life === refused.life && how === 'dies' && endedAt === repliedAt,
          )
        )
          continue;
        const waitMs = readRetryAfter(reply.headers) ?? 0;
        const early = sent
          .slice(index + 1)
          .find((each) => each.endpoint === endpoint && each.at >= repliedAt && each.at < repliedAt + waitMs);
        const attempt = early === undefined ? undefined : facts.attemptOf(early);
        // A process died before what it had heard was written down.
        if (early !== undefined && early.life !== refused.life && !facts.wasWritten(refused)) continue;
        // One that was on its way to the disk when the refusal came is not called back, nor one that had its tokens in the same instant.
        const isLater = attempt === undefined || facts.at(attempt.entry) > repliedAt;
        // What renews a switch that may be armed does not wait behind a refused arming, which queued with its order.
        const overtakes = attempt !== undefined && isOrdinary(facts.attemptOf(refused)) && !isOrdinary(attempt);
        if (early !== undefined && isLater && !overtakes)
          yield `${endpoint} sent ${early.at - repliedAt} ms after a refusal that asked for ${waitMs} ms`;
      }
      const undisturbed =
        isAlone &&
        happened.stops.length === 0 &&
        !(scenario.venue.faults ?? []).some((fault) => fault.do === 'rate_limited');
      // Each heartbeat without a readable answer is sent again at once.
      const repeatsHeartbeats = (scenario.venue.faults ?? []).some(
        ({ on, do: does, when }) =>
          (on === '*' || on === 'POST /cancel_all_after') &&
          (does === 'error' || (when?.probability !== undefined && does !== 'delay' && FAULTS[does] !== 'orders')),
      );
      // Under a sliding counter with a small limit a heartbeat may have to be a probe, and wait for its turn as one.
      const probes = tokens?.algorithm === 'sliding_counter' && limit < 1200;
      // Tokens are kept for one renewal of the session: a process that begins anew has none, and soon after another it takes those of others.
      const renewals = sent.filter(({ endpoint }) => endpoint === 'POST /jwt');
      const isRenewedByOne = (entry: Entry, waitedMs: number) => {
        const at = facts.at(entry);
        const counted = renewals.filter((each) => each.at <= at && each.at > at - waitedMs - LATENCY_MS - 60_000);
        return new Set(counted.map(({ life }) => life)).size < 2;
      };
      for (const { entry, intended } of attempts) {
        // With a small limit the reserve holds for few cancels; heartbeats have one of their own, for one in each interval.
        const isHeartbeat = intended.data.purpose === 'keep-alive';
        const reserved = isHeartbeat ? !repeatsHeartbeats && !renewsAlways(scenario) && !probes : limit >= 1200;
        const { waitedMs } = entry.data;
        if (!undisturbed || !reserved || intended.data.class !== 'protect' || waitedMs <= URGENT_WAIT_MS) continue;
        if (isRenewedByOne(entry, waitedMs)) yield `${intended.data.endpoint} waited ${waitedMs} ms for tokens`;
      }
    },
  },
  I11: {
    name: 'deadman liveness',
    asks: 'no order leaves a guarded run while the switch is off; the switch never fires, and is renewed within half its time, while a process is there and the venue answers; an evaluation that would hold up the heartbeats fails its step',
    against: ['books', 'wire', 'journal'],
    *breaches(facts) {
      yield* findExcessive(facts);
      const { happened, intents } = facts;
      const guarded = happened.runs.find(({ shape }) => shape.deadman !== undefined);
      const { deadman } = guarded?.shape ?? {};
      if (deadman === undefined || !facts.isSwitchOfOne()) return;
      for (const { endpoint, params, at } of happened.sent) {
        if (endpoint !== 'POST /orders' || facts.wasArmed(at)) continue;
        if (intents.get(params['client_order_id'] ?? '')?.run === guarded)
          yield `an order was sent at ${at} with no deadman switch armed`;
      }
      // A run that has ended, or halted, renews nothing: left armed, the switch fires.
      const guards = (from: number, until: number) => facts.wasUnderWay(guarded as RunTold, from, until);
      for (const { event, at } of happened.books.deadman.events) {
        if (event === 'fired' && guards(at - deadman.timeoutMs, at) && facts.wasHealthy(at - deadman.timeoutMs, at))
          yield `the deadman switch fired at ${at} although a process was there and all was well`;
      }
      if (renewsAlways(happened.scenario)) return;
      const active = happened.sent.filter(({ endpoint }) => ACTIVITY.has(endpoint));
      for (const [index, { at, life }] of active.entries()) {
        const before = active[index - 1];
        if (
          before?.life !== life ||
          !guards(before.at, at) ||
          !facts.wasArmed(before.at + LATENCY_MS) ||
          !facts.wasArmed(at)
        )
          continue;
        const gapMs = at - before.at;
        // Where tokens are short a heartbeat may wait for them as long as I10 lets it, after its answer came.
        if (gapMs > deadman.timeoutMs / 2 + LATENCY_MS && facts.wasHealthy(before.at, at))
          yield `nothing renewed the deadman switch of ${deadman.timeoutMs} ms for ${gapMs} ms before ${at}`;
      }
    },
  },
  I12: {
    name: 'deadman closure',
    asks: 'the switch ends as declared, a GET has seen it, and no heartbeat is sent after the end',
    against: ['books', 'wire'],
    *breaches(facts) {
      const { happened } = facts;
      const guarded = happened.runs.find(({ shape }) => shape.deadman !== undefined);
      const { deadman } = guarded?.shape ?? {};
      const endedAt = guarded === undefined ? undefined : facts.endOf(guarded);
      if (deadman === undefined || !facts.isSwitchOfOne()) return;
      if (endedAt === undefined || guarded?.result === undefined) return;
      const { outcome, error } = guarded.result;
      const about = happened.sent.filter(({ endpoint }) => endpoint.endsWith('/cancel_all_after'));
      const late = about.find(({ method, at }) => method === 'POST' && at > endedAt);
      if (late !== undefined) yield `a heartbeat was sent ${late.at - endedAt} ms after the run had ended`;
      const events = happened.books.deadman.events;
      const last = events.at(-1)?.event;
      if (outcome !== 'halted' && deadman.onExit === 'disarm') {
        if (last === 'armed' || last === 'renewed' || events.some(({ at, event }) => at > endedAt && event === 'fired'))
          yield `the run ${outcome} and left the deadman switch armed`;
        const given = about.findLast(({ method }) => method === 'DELETE');
        const seen = about.some(({ method, at }) => method === 'GET' && at >= (given?.at ?? 0) && at <= endedAt);
        if (given !== undefined && !seen) yield `the run ${outcome}, and nothing has read whether the switch is off`;
      }
      // It halts also where it could not be seen that the switch is off; then it was tried, by this process or an earlier one.
      const hasTried = guarded.entries.some(
        (entry) => entry.type === 'run.ended' && entry.data.error?.step === 'deadman',
      );
      // Where only stops of the run work, or may, the switch would take nothing else away: it is disarmed as declared.
      const working = guarded.tracker.unfinished().filter(({ snapshot }) => isWorking(snapshot.state));
      const isForStops = working.length > 0 && working.every(({ intent }) => /^stop_|^take_profit/.test(intent.type));
      const left =
        (outcome === 'halted' && error?.step !== 'deadman' && !hasTried && !isForStops && !haltsBehindExit(guarded)) ||
        (outcome !== 'halted' && deadman.onExit === 'leave_armed');
      if (left && last === 'disarmed') yield `the run ${outcome} and disarmed the switch that it was to leave armed`;
    },
  },
  I13: {
    name: 'kill',
    asks: 'a quarter of a second after a kill no POST or PUT of orders leaves any process until it is released, nor, of a run that was there then, ever; each such run ends by it; when its sweep says that nothing is left, each order that the venue showed by then was over; behind a cancel by a person none leaves that the steps of the run had wanted before',
    against: ['books', 'wire', 'journal'],
    *breaches(facts) {
      const { happened, attempts } = facts;
      const { sent, entries } = happened;
      const cancelledAt = new Map<string, number>();
      const exits = new Set<string>();
      const when = (entry: Entry) => happened.venueTime(entry, entry.at);
      for (const entry of entries)
        if (entry.type === 'operator.acted' && entry.data.command === 'cancel' && !cancelledAt.has(entry.run))
          cancelledAt.set(entry.run, when(entry));
        else if (entry.type === 'step.started' && (entry.data.verb === 'manage' || entry.data.verb === 'close'))
          exits.add(`${entry.run} ${entry.step}`);
      for (const { entry, intended } of attempts) {
        const at = cancelledAt.get(entry.run);
        if (intended.data.endpoint !== 'POST /orders' || at === undefined || when(intended) >= at) continue;
        // A run that is cleaning up goes on with it, and an exit of `manage` or `close` with what it has decided: nothing cancels it.
        if (/^(?:on_error|finally)\//.test(entry.step)) continue;
        if (intended.data.intent?.type === 'market' && exits.has(`${entry.run} ${entry.step}`)) continue;
        for (const request of sent)
          if (
            request.endpoint === 'POST /orders' &&
            request.at > at &&
            request.at >= when(entry) &&
            request.params['client_order_id'] === intended.data.clientOrderId
          )
            yield `order ${intended.data.clientOrderId} left ${request.at - at} ms after the run was cancelled`;
      }
      yield* findSentBehindKill(facts);
      yield* findLeftByKill(facts);
    },
  },
  I14: {
    name: 'single writer',
    asks: 'epochs never fall, and no process sends a write once a later one has written',
    against: ['wire', 'journal'],
    *breaches({ happened }) {
      const { entries, sent, lives } = happened;
      /** The newest epoch that anybody had written in, by how many entries were durable. */
      const newestAt = [0];
      for (const { epoch } of entries) newestAt.push(Math.max(epoch, newestAt.at(-1) ?? 0));
      const epochs = new Map<string, number>();
      for (const { run, epoch, seq } of entries) {
        const newest = epochs.get(run) ?? 0;
        if (epoch < newest) yield `entry ${seq} of epoch ${epoch} comes after one of ${newest}`;
        epochs.set(run, Math.max(epoch, newest));
      }
      for (const request of sent) {
        // A read changes nothing, and a session belongs to any process with the account's secrets.
        if (request.method === 'GET' || request.endpoint === 'POST /jwt') continue;
        const own = lives.find(({ life }) => life === request.life)?.epoch ?? Number.POSITIVE_INFINITY;
        const newest = newestAt[request.durable] ?? 0;
        if (newest > own)
          yield `life ${request.life} sent ${request.endpoint} at ${request.at}, when the account had passed on`;
      }
    },
  },
  I15: {
    name: 'limits',
    asks: 'no run has more orders working than it may, nor sends more writes, nor do all runs of the account together hold or have working more than its profile allows; none that halts sends an order that could enlarge its position',
    against: ['books', 'wire', 'journal'],
    *breaches(facts) {
      yield* exceededTogether(facts);
      const left = [...facts.listLeft()];
      for (const run of facts.happened.runs) {
        const { maxOpenOrders, maxWrites } = run.shape;
        const own = facts.ordersOf(run);
        for (const order of own) {
          const open = own.filter((each) => each.arrivedAt <= order.arrivedAt && endOf(each) > order.arrivedAt).length;
          if (open > maxOpenOrders) {
            yield `${open} orders worked at ${order.arrivedAt}; at most ${maxOpenOrders} were allowed`;
            break;
          }
        }
        // One of which no byte left changes nothing, and does not count.
        const writes = left.filter(
          ({ entry: { run: of, data } }) =>
            of === run.name &&
            (data.method === 'POST' || data.method === 'PUT') &&
            // Neither the switch nor the session is a write of the account's orders or settings.
            !['/cancel_all_after', '/jwt'].includes(data.path),
        );
        if (writes.length > maxWrites) yield 'more writes than the runbook allows';
        yield* enlargedWhileHalting(facts, run);
      }
    },
  },
  I17: {
    name: 'replay',
    asks: 'each run that ended is executed again from its journal, and does the same',
    against: ['journal'],
    *breaches() {},
  },
  I18: {
    name: 'audit',
    asks: 'every chain verifies, without a gap',
    against: ['journal'],
    *breaches({ happened }) {
      for (const { name, stored } of happened.runs) {
        const verdict = verifyChain(stored);
        if (!verdict.ok) yield `the chain of ${name} does not verify: ${verdict.problem.detail}`;
        if (stored.some(({ seq }, index) => seq !== index + 1)) yield `the numbers of ${name} have gaps`;
      }
    },
  },
  I19: {
    name: 'secrecy',
    asks: 'no token is in any line of a journal',
    against: ['journal'],
    *breaches({ happened }) {
      if (happened.scenario.profile.auth.mode !== 'jwt') return;
      for (const { seq, line } of happened.stored) {
        if (line.includes(REFRESH_TOKEN) || line.includes('simulated-refresh-') || line.includes('.simulated"'))
          yield `entry ${seq} holds a token`;
      }
    },
  },
  I21: {
    name: 'the plan',
    asks: 'every request of a run is a row of its plan, with the parameters that the plan knows; no run exceeds a bound of its plan',
    against: ['wire', 'journal'],
    *breaches(facts) {
      const { happened } = facts;
      const { profile } = happened.scenario;
      // The ledger had their tokens back, also where the process died before it wrote that they had found no connection.
      const unsent = new Set<Entry | undefined>(
        happened.sent.flatMap((request) =>
          request.reply?.kind === 'failure' && !request.reply.sent ? [facts.attemptOf(request)?.entry] : [],
        ),
      );
      const told = {
        timeOf: (entry: Entry) => happened.venueTime(entry, entry.at),
        wasUnsent: (entry: Entry) => unsent.has(entry),
      };
      let renewals = 0;
      for (const { name, setup, entries } of happened.runs) {
        const plan = planOf(setup.runbook, setup.inputs, profile);
        const exceeded = findExceeded(plan, entries, told);
        for (const what of [...exceeded, ...findUnplanned(plan, entries)]) yield `${name}: ${what}`;
        const starts = 1 + entries.filter(({ type }) => type === 'run.resumed').length;
        renewals += starts * (plan.bounds.requests['POST /jwt']?.max ?? Number.POSITIVE_INFINITY);
      }
      // One session serves all runs.
      const renewed = happened.sent.filter(({ endpoint }) => endpoint === 'POST /jwt').length;
      if (profile.auth.mode === 'jwt' && renewed > renewals) yield `POST /jwt: ${renewed} of at most ${renewals}`;
    },
  },
  I25: {
    name: 'the last gate',
    asks: 'no write leaves on answers older than a quarter of a second, whenever its process was stopped, nor on a connection that was idle for longer than the profile allows',
    against: ['wire'],
    *breaches({ happened }) {
      const { sent, scenario, stops, clockPuts } = happened;
      // Of a machine whose clock was set back while it slept no process can tell for how long.
      const isMeasured = stops.length === 0 || clockPuts.length === 0;
      for (const { method, endpoint, askedMs, idleMs, life, at } of sent) {
        if (method === 'GET') continue;
        if (endpoint !== 'POST /jwt' && askedMs > GATE_MS)
          yield `life ${life} sent ${endpoint} at ${at}, ${askedMs} ms after it had last asked whether it may`;
        if (isMeasured && idleMs > scenario.profile.socketIdleMs)
          yield `life ${life} sent ${endpoint} at ${at} on a connection that was idle for ${idleMs} ms`;
      }
    },
  },
} as const satisfies Record<string, Invariant>;

/** Plans of runbooks that many simulations share; drawn runbooks share none, and a night has a million of them. */
const PLANS = new Map<string, Plan>();
const MOST_PLANS = 1000;
function planOf(
  runbook: CheckedRunbook,
  inputs: Readonly<Record<string, Value>>,
  profile: Happened['scenario']['profile'],
): Plan {
  const key = JSON.stringify([runbook.sha256, profile.rateLimit.tokens, profile.limits, inputs]);
  const known = PLANS.get(key) ?? planFor(runbook, inputs, { profile, now: 0 });
  if (PLANS.size >= MOST_PLANS) PLANS.clear();
  PLANS.set(key, known);
  return known;
}

/** Whether an attempt queued for tokens with the ordinary requests. */
function isOrdinary(attempt: ReturnType<Facts['attemptOf']>): boolean {
  return attempt !== undefined && !isUrgent(attempt.intended.data.class);
}

/** When an order stopped working. */
function endOf({ terminal, history }: Facts['own'][number]): number {
  return terminal ? (history.at(-1)?.at ?? 0) : Number.POSITIVE_INFINITY;
}
