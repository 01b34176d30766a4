/**
 * Protocols that are broken on purpose, each in a way that somebody could really write, and made without touching the
 * product: a part is replaced where the world is put together. The simulation must catch every one of them; a mutant that
 * lives shows an invariant that does not bite.
 */

import type { Clock } from '../../src/base/clock.ts';
import { decimal } from '../../src/base/decimal.ts';
import { Halt } from '../../src/engine/interruption.ts';
import type { RunJournal } from '../../src/engine/ports.ts';
import { refer } from '../../src/engine/readings/parts.ts';
import { LOOK_BACK_MS } from '../../src/engine/readings/watch.ts';
import { CancelAllBarrier } from '../../src/gateway/cancel-all-barrier.ts';
import { VenueClient } from '../../src/gateway/client.ts';
import type { ClientParts } from '../../src/gateway/client-parts.ts';
import type { Transport, WireAnswer, WireReply, WireRequest } from '../../src/gateway/transport.ts';
import type { DataOf } from '../../src/journal/entry.ts';
import type { EndpointName } from '../../src/venue/catalogue.ts';
import { isPositionStop, TIMINGS } from '../../src/venue/order/context.ts';
import { makeCancelParams } from '../../src/venue/order/requests.ts';
import type { CallOutcome, VenueCall } from '../../src/venue/port.ts';
import { SIMULATED_PROFILE } from '../../src/venue/profile/profile.ts';
import { toWireRequest } from '../../src/venue/wire/request.ts';
import type { InvariantName } from './invariants.ts';
import type { Around, Protocol } from './protocol.ts';
import { REFRESH_TOKEN } from './scenario.ts';
import { AT_AN_EVALUATION, makeThrowing, withEvaluation } from './throwing.ts';

export interface Mutant {
  /** What somebody got wrong. */
  readonly name: string;
  /** Invariants that may be the first to notice. */
  readonly caughtBy: readonly (InvariantName | 'ours')[];
  /** Its seeds are those of drawn worlds: no fixed one shows what it is about. */
  readonly drawn?: true;
  readonly protocol: Protocol;
}

export const MUTANTS: readonly Mutant[] = [
  // What a run leaves.
  {
    name: 'does not hold a run to what it says it leaves',
    caughtBy: ['I24', 'I17'],
    protocol: { runbook: (runbook) => ({ ...runbook, leaves: { position: 'open' } }) },
  },
  // The journal.
  {
    name: 'sends before the attempt is synced: no flush',
    caughtBy: ['I2', 'I1'],
    protocol: { flush: () => async () => {} },
  },
  {
    name: 'starts the sync and does not wait for it',
    caughtBy: ['I2'],
    protocol: {
      flush: (flush) => async () => {
        flush().catch(() => {});
      },
    },
  },
  {
    name: 'takes a failed sync for a good one',
    caughtBy: ['I2', 'I1'],
    protocol: { flush: (flush) => () => flush().catch(() => {}) },
  },
  {
    name: 'writes another figure than it sealed',
    caughtBy: ['I18', 'I17', 'ours'],
    protocol: {
      store: (store) => ({
        ...store,
        append: (entries, options) =>
          store.append(
            entries.map((entry) => ({ ...entry, line: entry.line.replace('"size":"0.01"', '"size":"0.1"') })),
            options,
          ),
      }),
    },
  },
  {
    name: 'journals a secret',
    caughtBy: ['I19'],
    protocol: {
      client: (parts) => ({
        ...parts,
        log: {
          ...parts.log,
          append: (type, data, step) =>
            parts.log.append(
              type,
              type === 'call.settled'
                ? (Object.assign(data, { message: `after ${REFRESH_TOKEN}` }) as unknown as typeof data)
                : data,
              step,
            ),
        },
      }),
    },
  },
  // Recovery.
  {
    name: 'sends an open POST again when it takes a run up',
    caughtBy: ['I1', 'I4'],
    protocol: { continueCall: (client) => (call) => client.continueCall(call, 0) },
  },
  {
    name: 'sends an open POST again under a new client order id',
    caughtBy: ['I3', 'I6', 'I4'],
    protocol: {
      continueCall: (client) => (call, attempts) => {
        const params = call.params as { readonly client_order_id?: string };
        if (params.client_order_id === undefined || attempts === 0 || call.endpoint !== 'POST /orders')
          return client.continueCall(call, attempts);
        return client.continueCall(
          {
            ...call,
            params: { ...call.params, client_order_id: `${params.client_order_id.slice(0, -1)}2` },
          } as typeof call,
          0,
        );
      },
    },
  },
  {
    name: 'takes an open POST for one that never left',
    caughtBy: ['I4', 'I5'],
    protocol: {
      continueCall: (client) => async (call, attempts) => {
        const outcome = await client.continueCall(call, attempts);
        return outcome.kind === 'unresolved'
          ? { ...outcome, kind: 'rejected', failure: 'transport', definite: true }
          : outcome;
      },
    },
  },
  {
    name: 'does not remember attempts that have no answer',
    caughtBy: ['I1', 'I2', 'ours'],
    protocol: {
      read: (lines) =>
        lines.map((line) =>
          line.type === 'call.attempted'
            ? { ...line, line: line.line.replace('"call.attempted"', '"call.checked"') }
            : line,
        ),
    },
  },
  {
    name: 'plays the record out of order',
    caughtBy: ['ours'],
    protocol: {
      read: (lines) => {
        const at = lines.findLastIndex(({ type }) => type === 'call.settled');
        if (at < 1 || at === lines.length - 1) return lines;
        const swapped = [...lines];
        [swapped[at - 1], swapped[at]] = [
          swapped[at] as (typeof lines)[number],
          swapped[at - 1] as (typeof lines)[number],
        ];
        return swapped;
      },
    },
  },
  // Orders whose fate is not known.
  {
    name: 'has a window of a second',
    caughtBy: ['I5', 'I1'],
    protocol: { absenceHorizonMs: 900 },
  },
  { name: 'has a window shorter than requests are late', caughtBy: ['I5', 'I1'], protocol: { absenceHorizonMs: 4000 } },
  {
    name: 'skips the look-up and says that nothing was found',
    caughtBy: ['I5', 'I1'],
    protocol: {
      transport: intercepting((request) => (findLookedUp(request) === undefined ? undefined : success('[]'))),
    },
  },
  {
    name: 'remembers the first look-up and never looks again',
    caughtBy: ['I5', 'I1'],
    protocol: {
      transport: (road, { clock }) => {
        const known = new Map<string, WireReply>();
        return {
          async send(request, options) {
            const id = findLookedUp(request);
            if (id === undefined) return road.send(request, options);
            const before = known.get(id);
            if (before !== undefined) return new Promise((resolve) => clock.arrive(() => resolve(before)));
            const reply = await road.send(request, options);
            known.set(id, reply);
            return reply;
          },
        };
      },
    },
  },
  {
    name: 'takes the first row of a look-up for the order, whatever its id is',
    caughtBy: ['I3', 'I4', 'I5', 'I8', 'I9', 'I22', 'I23'],
    protocol: {
      transport: answering((request, answer) => {
        const id = request.endpoint === 'GET /orders' ? request.params['client_order_id']?.text : undefined;
        return id === undefined
          ? answer
          : results(answer, ([first]) => (first === undefined ? [] : [{ ...first, client_order_id: id }]));
      }),
    },
  },
  {
    name: 'trusts a 404 that some proxy gave',
    caughtBy: ['I5', 'I4', 'I1'],
    protocol: {
      profile: definiteToo,
      transport: answering((request, answer) =>
        request.endpoint === 'POST /orders' && answer.status === 404 ? refusal(400, 'MUTANT_SAYS_NO') : answer,
      ),
    },
  },
  {
    name: 'takes a 5xx for a refusal',
    caughtBy: ['I5', 'I4', 'I1'],
    protocol: {
      profile: definiteToo,
      transport: answering((request, answer) =>
        request.endpoint === 'POST /orders' && answer.status >= 500 ? refusal(400, 'MUTANT_SAYS_NO') : answer,
      ),
    },
  },
  {
    name: 'takes an answer that cannot be read for a refusal',
    caughtBy: ['I5', 'I4', 'I1'],
    protocol: {
      profile: definiteToo,
      transport: answering((request, answer) =>
        request.endpoint === 'POST /orders' && !isEnvelope(answer) ? refusal(400, 'MUTANT_SAYS_NO') : answer,
      ),
    },
  },
  {
    name: 'takes a time-out for a request that never left',
    caughtBy: ['I5', 'I4', 'I1'],
    protocol: {
      transport: (road) => ({
        async send(request, options) {
          const reply = await road.send(request, options);
          return reply.kind === 'failure' && request.endpoint === 'POST /orders' ? { ...reply, sent: false } : reply;
        },
      }),
    },
  },
  {
    name: 'calls an outcome that is not known a failure',
    caughtBy: ['I4', 'I1', 'I17'],
    protocol: {
      venue: (port) => ({
        ...portOf(port),
        call: async (call) => {
          const outcome = await port.call(call);
          return outcome.kind === 'unresolved' && call.endpoint === 'POST /orders'
            ? { ...outcome, kind: 'rejected', failure: 'rejected', definite: true }
            : outcome;
        },
      }),
    },
  },
  {
    name: 'lets the HTTP layer retry',
    caughtBy: ['I1', 'I2'],
    protocol: {
      transport: (road) => ({
        async send(request, options) {
          const reply = await road.send(request, options);
          return reply.kind === 'failure' || reply.status >= 500 ? road.send(request, options) : reply;
        },
      }),
    },
  },
  {
    name: 'mixes up milliseconds and microseconds in how far a look-up looks back',
    caughtBy: ['I5', 'I1', 'I4'],
    protocol: { transport: rewriting((request) => shifted(request, (us) => us + LOOK_BACK_MS * 1000 - LOOK_BACK_MS)) },
  },
  {
    name: 'asks for orders since the intent to the second, though clocks differ',
    caughtBy: ['I5', 'I1', 'I4'],
    protocol: { transport: rewriting((request) => shifted(request, (us) => us + LOOK_BACK_MS * 1000)) },
  },
  {
    name: 'leaves the client order id out',
    caughtBy: ['I2', 'I3'],
    protocol: {
      transport: rewriting((request) =>
        request.endpoint === 'POST /orders' ? without(request, 'client_order_id') : request,
      ),
    },
  },
  // Cancels, amends, fills.
  {
    name: 'takes the acknowledgement of a cancel for the cancel',
    caughtBy: ['I4', 'I9', 'I23'],
    protocol: {
      transport: answering((request, answer) =>
        request.endpoint === 'DELETE /orders'
          ? { ...answer, body: answer.body.replace('"status":"canceling"', '"status":"canceled"') }
          : answer,
      ),
    },
  },
  {
    name: 'sends an amend twice',
    caughtBy: ['I7', 'I2'],
    protocol: {
      transport: (road) => ({
        send(request, options) {
          if (request.endpoint === 'PUT /orders') void road.send(request, options);
          return road.send(request, options);
        },
      }),
    },
  },
  {
    name: 'drops a fill',
    caughtBy: ['I9'],
    protocol: {
      transport: answering((request, answer) =>
        request.endpoint.startsWith('GET /fills') ? results(answer, (fills) => fills.slice(1)) : answer,
      ),
    },
  },
  {
    name: 'counts a fill twice when a page repeats it',
    caughtBy: ['I9', 'I8'],
    protocol: {
      transport: answering((request, answer) =>
        request.endpoint.startsWith('GET /fills')
          ? results(answer, (fills) => fills.flatMap((fill) => [fill, { ...fill, id: `${String(fill['id'])}0` }]))
          : answer,
      ),
    },
  },
  // What a step hands out.
  { name: 'gives up fills that lag after two seconds', caughtBy: ['I22'], protocol: { fillsWindowMs: 2000 } },
  {
    name: 'takes the filled size of an ended record for nothing',
    caughtBy: ['I22'],
    protocol: {
      transport: answering((request, answer) =>
        request.endpoint === 'GET /orders'
          ? results(answer, (records) =>
              records.map((each) =>
                ['closed', 'canceled'].includes(String(each['status'])) ? { ...each, total_filled_size: '0' } : each,
              ),
            )
          : answer,
      ),
    },
  },
  {
    name: 'takes canceling for canceled',
    caughtBy: ['I23'],
    protocol: {
      transport: answering((_request, answer) => ({
        ...answer,
        body: answer.body.replaceAll('"status":"canceling"', '"status":"canceled"'),
      })),
    },
  },
  // Numbers.
  {
    name: 'writes decimals through a JavaScript number',
    caughtBy: ['I2', 'I20', 'ours'],
    protocol: {
      transport: rewriting((request) => ({
        ...request,
        params: Object.fromEntries(
          Object.entries(request.params).map(([key, value]) => [
            key,
            value.as === 'number' ? { ...value, text: String(Number(value.text)) } : value,
          ]),
        ),
      })),
    },
  },
  // Tokens.
  {
    name: 'frees tokens when a request is sent',
    caughtBy: ['I10'],
    protocol: {
      budget: (budget) => ({
        weightOf: (endpoint) => budget.weightOf(endpoint),
        standDown: (of) => budget.standDown(of),
        async acquire(request) {
          const answer = await budget.acquire(request);
          if (answer.kind === 'refused') return answer;
          answer.ticket.notSent();
          return { ...answer, ticket: { answered() {}, aborted() {}, notSent() {} } };
        },
      }),
    },
  },
  {
    name: 'begins with a full window after every start',
    caughtBy: ['I10'],
    protocol: { freshBudget: true },
  },
  {
    name: 'ignores Retry-After',
    caughtBy: ['I10'],
    protocol: {
      transport: answering((_, answer) => {
        const { 'x-ratelimit-retry-after': _x, 'retry-after': _plain, ...headers } = answer.headers;
        return { ...answer, headers };
      }),
    },
  },
  // A run that halts.
  {
    name: 'sends what may enlarge the position while it halts',
    caughtBy: ['I15'],
    protocol: {
      venue: (port) => ({
        ...portOf(port),
        call: ({ limits: { mode: _, ...limits } = {}, ...call }) => port.call({ ...call, limits } as typeof call),
      }),
    },
  },
  // The deadman switch.
  {
    name: 'never arms the switch, and believes that it did',
    caughtBy: ['I11'],
    protocol: {
      transport: intercepting((request) =>
        request.endpoint === 'POST /cancel_all_after'
          ? success(
              `{"market_id":"${request.params['market_id']?.text}","profile_id":1,"timeout":${request.params['timeout']?.text},"last_updated":1,"status":"active"}`,
            )
          : undefined,
      ),
    },
  },
  {
    name: 'renews the switch from a timer that runs freely',
    caughtBy: ['I7', 'I12', 'ours'],
    protocol: { makeClient: (parts) => new Metronome(parts) },
  },
  {
    name: 'believes that the switch is off without reading it back',
    caughtBy: ['I12'],
    protocol: {
      transport: intercepting((request) => (request.endpoint === 'GET /cancel_all_after' ? success('{}') : undefined)),
    },
  },
  {
    // Neither of the two that hold it back: its step gets the interruption that the switch fired, and the gate knows that it may have.
    name: 'sends an order that has waited for longer than the switch lasts',
    caughtBy: ['I11'],
    protocol: {
      venue: (port) => ({ ...portOf(port), call: ({ wanted: _, ...call }) => port.call(call) }),
      gate: (gate) => {
        const apply = gate.apply.bind(gate);
        gate.apply = (entry) => {
          if (entry.type !== 'deadman.moved') apply(entry);
        };
        return gate;
      },
    },
  },
  {
    name: 'believes the wall clock about how long no process ran',
    caughtBy: ['I11'],
    protocol: {
      awaySince: (last, { at }) => ({ ms: Math.max(0, at - (last.at(-1)?.at ?? at)), by: 'machine' }),
    },
  },
  {
    name: 'waits for the answer to a heartbeat for as long as for that to an order',
    caughtBy: ['I11'],
    protocol: { venue: heartbeatsWithout('answerMs') },
  },
  {
    name: 'keeps no tokens for heartbeats',
    caughtBy: ['I10', 'I11'],
    protocol: { venue: heartbeatsWithout('repeatsMs') },
  },
  {
    name: 'lets what disarms the switch wait for its store behind the last heartbeat',
    caughtBy: ['I11'],
    protocol: {
      venue: (port) => ({
        ...portOf(port),
        call: (call) => {
          const { deadlineAt: _, ...rest } = call;
          return port.call(call.purpose === 'disarm' ? (rest as typeof call) : call);
        },
      }),
    },
  },
  {
    name: 'lets an arming that may have reached the venue wait for its store',
    caughtBy: ['I11'],
    protocol: {
      venue: (port) => ({
        ...portOf(port),
        call: (call) => {
          const isRepeated = call.purpose === 'keep-alive' && call.step.startsWith('steps/');
          return port.call(isRepeated ? { ...call, purpose: 'arm', class: 'enter' } : call);
        },
      }),
    },
  },
  {
    name: 'holds back orders of the run alone that cancels all',
    caughtBy: ['I7'],
    protocol: { client: (parts) => ({ ...parts, barrier: new CancelAllBarrier() }) },
  },
  {
    name: 'takes a cancel_all for the end of all orders, and does not read back what it left',
    caughtBy: ['I7', 'I13'],
    protocol: {
      transport: intercepting(({ endpoint, params }) =>
        endpoint === 'GET /orders' && 'p_limit' in params && !('market_id' in params) ? success('[]') : undefined,
      ),
    },
  },
  // Limits, kill switch, lease.
  {
    name: 'asks no limits',
    caughtBy: ['I15', 'I11'],
    protocol: {
      gate: (gate) => {
        gate.check = () => ({ ok: true, considered: {} });
        return gate;
      },
    },
  },
  {
    name: 'forgets orders whose fate is not known when it counts exposure',
    caughtBy: ['I15'],
    protocol: {
      gate: (gate) => {
        const own = gate['own'];
        const list = own.listWorking.bind(own);
        own.listWorking = (summed) => list(summed).filter(({ orderId }) => orderId !== undefined);
        return gate;
      },
    },
  },
  { name: 'counts limits of the account for each run alone', caughtBy: ['I15'], protocol: { noLedger: true } },
  { name: 'does not hear the kill switch', caughtBy: ['I13'], protocol: { deaf: true } },
  {
    name: 'takes a kill that was released meanwhile for none',
    caughtBy: ['I13'],
    protocol: { forgetsReleased: true },
  },
  {
    name: 'has no last gate: what was asked before a stop counts after it',
    caughtBy: ['I25', 'I14', 'I13', 'I11'],
    protocol: {
      transport: (road) => ({ send: (request, { mayLeave: _, ...options }) => road.send(request, options) }),
    },
  },
  {
    name: 'believes the monotonic clock about how long it was stopped',
    caughtBy: ['I25'],
    protocol: {
      client: (parts) => {
        const { clock } = parts;
        for (const name of ['read', 'readAtTurn'] as const) {
          const read = clock[name].bind(clock);
          clock[name] = () => ({ ...read(), wallMs: 0 });
        }
        return parts;
      },
    },
  },
  {
    name: 'does not ask whether the account is still its own',
    caughtBy: ['I14', 'I2', 'I12'],
    protocol: { lease: () => ({ holds: async () => true }) },
  },
  // Orders of other programs, words of refusals, idle connections, mistakes of our own, evaluations.
  {
    name: 'reads one page of a market, and takes it for all of its orders',
    caughtBy: ['I4'],
    protocol: {
      // A page that is not full is followed by no other reading.
      transport: answering(({ endpoint, params }, answer) =>
        endpoint === 'GET /orders' && params['market_id'] !== undefined && params['p_limit']?.text === '1000'
          ? results(answer, (rows) => rows.slice(0, 999))
          : answer,
      ),
    },
  },
  {
    name: 'takes a page for unreadable where one row of another program is',
    caughtBy: ['I23'],
    protocol: {
      venue: (port) => ({
        ...portOf(port),
        call: <E extends EndpointName>(call: VenueCall<E>) => {
          const { rows: _, ...rest } = call;
          return port.call(rest as VenueCall<E>);
        },
      }),
    },
  },
  {
    name: 'finds the rate limit inside other words',
    caughtBy: ['I10'],
    drawn: true,
    protocol: {
      transport: answering((_, answer) =>
        answer.status < 500 && isRefusal(answer) && /rate[\s_-]*limit/i.test(answer.body)
          ? { ...answer, status: 429 }
          : answer,
      ),
    },
  },
  {
    name: 'keeps idle connections for ever',
    caughtBy: ['I25'],
    protocol: { profile: (profile) => ({ ...profile, socketIdleMs: Number.POSITIVE_INFINITY }) },
  },
  {
    name: 'lets a mistake of its own out of the interpreter, past undo, on_error and finally',
    caughtBy: ['ours'],
    protocol: makeThrowing({ ...AT_AN_EVALUATION, escapes: true }).protocol,
  },
  {
    name: 'does not meter evaluations',
    caughtBy: ['I11'],
    drawn: true,
    protocol: {
      engine: ({ setup, ports }) => ({
        setup: {
          ...setup,
          runbook: withEvaluation(
            setup.runbook,
            (evaluate) => (scope) =>
              evaluate(Object.create(scope, { fuel: { value: Number.POSITIVE_INFINITY } }) as typeof scope),
          ),
        },
        ports,
      }),
    },
  },
  // Refusals that decide nothing, and the proof that an order is absent.
  {
    name: 'believes a refusal in unknown words after one look-up',
    drawn: true,
    caughtBy: ['I5', 'I4'],
    protocol: { profile: definiteToo, transport: believingOneLookUp },
  },
  {
    name: 'takes words which say that a part of the venue failed for its decision',
    caughtBy: ['I5', 'I4'],
    protocol: {
      profile: definiteToo,
      transport: answering((request, answer) =>
        request.endpoint === 'POST /orders' && isRefusedWith(answer, /try again|timeout|busy/i)
          ? refusal(400, 'MUTANT_SAYS_NO')
          : answer,
      ),
    },
  },
  {
    name: 'recognizes an amended size in initial_size alone',
    caughtBy: ['I4'],
    protocol: {
      transport: answering((request, answer) =>
        request.endpoint === 'GET /orders' ? results(answer, (rows) => rows.map(withInitialSizeAlone)) : answer,
      ),
    },
  },
  {
    name: 'counts no look-up that is answered with ORDER_NOT_FOUND',
    drawn: true,
    caughtBy: ['I4'],
    protocol: {
      transport: answering((request, answer) =>
        findLookedUp(request) !== undefined && isRefusedWith(answer, /^ORDER_NOT_FOUND/)
          ? { ...answer, body: refusal(answer.status, 'MUTANT_SAYS_NOTHING').body }
          : answer,
      ),
    },
  },
  {
    name: 'halts where an order is proven absent, as where its fate is unknown',
    caughtBy: ['I4'],
    protocol: {
      engine: ({ setup, ports }) => {
        const { tracker } = ports.log;
        const append: RunJournal['append'] = (type, data, step, actor) => {
          ports.log.append(type, data, step, actor);
          if (type !== 'order.concluded') return;
          const { clientOrderId, event } = data as DataOf<'order.concluded'>;
          if (event === 'T_EXHAUSTED' && tracker.get(clientOrderId)?.snapshot.state === 'absent')
            throw new Halt('unknown_outcome', `the outcome of order ${clientOrderId} is unknown`, step ?? '');
        };
        return { setup, ports: { ...ports, log: Object.assign(Object.create(ports.log) as RunJournal, { append }) } };
      },
    },
  },
  {
    // A halted run looks up the orders in doubt when it is resumed.
    name: 'cancels an order that the venue has never shown when a halted run is resumed, and does not look it up',
    drawn: true,
    caughtBy: ['I4'],
    protocol: {
      engine: ({ setup, ports }) => {
        const { venue, log } = ports;
        const call = async <E extends EndpointName>(asked: VenueCall<E>): Promise<CallOutcome<E>> => {
          const order = log.tracker.get(asked.clientOrderId ?? '');
          const isDoubted = order?.snapshot.state === 'quarantined' && order.snapshot.context.venueId === undefined;
          if (asked.endpoint !== 'GET /orders' || asked.purpose !== 'lookup' || !isDoubted) return venue.call(asked);
          const { purpose: _, rows: __, ...rest } = asked;
          const params = makeCancelParams<never>(refer(order));
          const refused = await venue.call({ ...rest, endpoint: 'DELETE /orders', params, class: 'protect' });
          return {
            kind: 'unresolved',
            message: `it cannot be cancelled (${refused.kind})`,
            settledAt: refused.settledAt,
          };
        };
        return { setup, ports: { ...ports, venue: { ...portOf(venue), call } } };
      },
    },
  },
];

/** What a reading looks up: an order by its client order id, or the page of a market, the second evidence. Undefined for other requests. */
function findLookedUp({ endpoint, params }: WireRequest): string | undefined {
  if (endpoint !== 'GET /orders' || params['order_id'] !== undefined || params['status'] !== undefined)
    return undefined;
  return params['client_order_id']?.text ?? params['market_id']?.text;
}

/** Whether a request was refused with a text. */
function isRefusedWith(answer: WireAnswer, text: RegExp): boolean {
  if (!isEnvelope(answer)) return false;
  const { success, error } = JSON.parse(answer.body) as { success: boolean; error?: unknown };
  return !success && typeof error === 'string' && text.test(error);
}

/** Looks an order that was refused in unknown words up once, after five seconds, and then believes the refusal. */
function believingOneLookUp(road: Transport, { clock }: Around): Transport {
  return {
    async send(request, options) {
      const reply = await road.send(request, options);
      const isUnknown =
        reply.kind === 'answer' && request.endpoint === 'POST /orders' && isRefusedWith(reply, /^SOMETHING_WENT_WRONG/);
      if (!isUnknown) return reply;
      await new Promise<void>((resolve) => void clock.at(clock.now() + TIMINGS.closedLagMs, () => resolve()));
      const { market_id: market, client_order_id: id } = request.params;
      const params = { market_id: market?.text ?? '', client_order_id: id?.text ?? '' };
      const { mayLeave: _, ...free } = options;
      const found = await road.send(toWireRequest('GET /orders', params, SIMULATED_PROFILE), free);
      return found.kind === 'answer' && found.body.includes(params.client_order_id)
        ? reply
        : refusal(400, 'MUTANT_SAYS_NO');
    },
  };
}

/** A record without what the remaining size says. */
function withInitialSizeAlone(record: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const { initial_size: initial, total_filled_size: filled, order_type: type } = record;
  if (typeof initial !== 'string' || typeof filled !== 'string' || isPositionStop({ type: String(type) }))
    return record;
  return { ...record, size: decimal(initial).minus(filled).toFixed() };
}

function intercepting(answer: (request: WireRequest) => WireAnswer | undefined): NonNullable<Protocol['transport']> {
  return (road, { clock }) => ({
    send(request, options) {
      const own = answer(request);
      return own === undefined
        ? road.send(request, options)
        : new Promise((resolve) => clock.arrive(() => resolve(own)));
    },
  });
}

function answering(
  change: (request: WireRequest, answer: WireAnswer) => WireAnswer,
): NonNullable<Protocol['transport']> {
  return (road) => ({
    async send(request, options) {
      const reply = await road.send(request, options);
      return reply.kind === 'answer' ? change(request, reply) : reply;
    },
  });
}

function rewriting(change: (request: WireRequest) => WireRequest): NonNullable<Protocol['transport']> {
  return (road): Transport => ({ send: (request, options) => road.send(change(request), options) });
}

function success(result: string): WireAnswer {
  return {
    kind: 'answer',
    status: 200,
    headers: { 'content-type': 'application/json' },
    body: `{"success":true,"error":"","result":${result}}`,
  };
}

function refusal(status: number, error: string): WireAnswer {
  return {
    kind: 'answer',
    status,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ success: false, error, result: [] }),
  };
}

function definiteToo(profile: Parameters<NonNullable<Protocol['profile']>>[0]) {
  return { ...profile, refusals: { definite: ['MUTANT_SAYS_NO'], doubtful: [] } };
}

function isRefusal({ body }: WireAnswer): boolean {
  try {
    return (JSON.parse(body) as { success?: unknown }).success === false;
  } catch {
    return false;
  }
}

function isEnvelope({ body }: WireAnswer): boolean {
  try {
    return typeof (JSON.parse(body) as { success?: unknown }).success === 'boolean';
  } catch {
    return false;
  }
}

function results(
  answer: WireAnswer,
  change: (records: readonly Readonly<Record<string, unknown>>[]) => readonly unknown[],
): WireAnswer {
  if (!isEnvelope(answer)) return answer;
  const envelope = JSON.parse(answer.body) as { result: unknown };
  return Array.isArray(envelope.result)
    ? { ...answer, body: JSON.stringify({ ...envelope, result: change(envelope.result) }) }
    : answer;
}

function shifted(request: WireRequest, change: (us: number) => number): WireRequest {
  const start = request.params['start_time'];
  if (request.endpoint !== 'GET /orders' || start === undefined) return request;
  return {
    ...request,
    params: { ...request.params, start_time: { ...start, text: String(change(Number(start.text))) } },
  };
}

function without(request: WireRequest, name: string): WireRequest {
  return { ...request, params: Object.fromEntries(Object.entries(request.params).filter(([key]) => key !== name)) };
}

/** A port's methods without its class, so that one can be replaced. */
function portOf(port: Parameters<NonNullable<Protocol['venue']>>[0]) {
  return {
    markets: port.markets,
    market: port.market.bind(port),
    feed: port.feed.bind(port),
    request: port.request.bind(port),
    findDenial: port.findDenial.bind(port),
    keepOrdersBack: port.keepOrdersBack.bind(port),
  };
}

/** A client that goes on sending heartbeats by itself, whatever the run does. */
class Metronome extends VenueClient {
  private readonly clock: Clock;
  private heartbeats = 0;

  constructor(parts: ClientParts) {
    super(parts);
    this.clock = parts.clock;
  }

  override call<E extends EndpointName>(call: VenueCall<E>): Promise<CallOutcome<E>> {
    if (call.endpoint === 'POST /cancel_all_after' && this.heartbeats === 0) this.repeat(call);
    return super.call(call);
  }

  private repeat<E extends EndpointName>(call: VenueCall<E>): void {
    this.heartbeats += 1;
    this.clock.at(this.clock.now() + 900, () => {
      void super.call({ ...call, id: `${call.id}-repeat-${this.heartbeats}` });
      this.repeat(call);
    });
  }
}

function heartbeatsWithout(what: 'answerMs' | 'repeatsMs'): NonNullable<Protocol['venue']> {
  return (port) => ({
    ...portOf(port),
    call: <E extends EndpointName>(call: VenueCall<E>) => {
      const { [what]: _, ...rest } = call;
      return port.call(rest as VenueCall<E>);
    },
  });
}
