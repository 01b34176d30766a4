import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../src/base/clock.ts';
import { type Exchange, exchangeOnce, makeObstacle, NO_SESSION, type SendPhase } from '../../src/gateway/exchange.ts';
import { SEND_CHECKS } from '../../src/gateway/send-checks.ts';
import type { Budget, Ticket } from '../../src/gateway/tokens/budget.ts';
import { HELD, type Transport, type WireReply, type WireRequest } from '../../src/gateway/transport.ts';
import { CATALOGUE, ENDPOINT_NAMES, getAction } from '../../src/venue/catalogue.ts';

const START = Date.UTC(2026, 0, 5, 8);
const ANSWER: WireReply = { kind: 'answer', status: 200, headers: {}, body: '' };
const REQUEST: WireRequest = {
  endpoint: 'POST /orders',
  method: 'POST',
  path: '/orders',
  params: {},
  placement: 'body',
};

const sleepFor = (clock: VirtualClock, ms: number) => new Promise<void>((done) => clock.at(clock.now() + ms, done));

interface Given {
  /** The request is a read. */
  readonly reads?: true;
  /** From which time on there is no session: 1 is the first that it is asked for. */
  readonly notReadyFrom?: number;
  readonly refused?: 'DEADLINE' | 'WITHDRAWN';
  /** How long there are no tokens, ms. */
  readonly tokensAfterMs?: number;
  readonly reply?: WireReply;
  readonly verdict?: { kind: 'confirmed' } | { kind: 'refused'; limited: boolean; unauthorized: boolean };
  readonly obstacleAt?: SendPhase | 'flush';
}

/** One exchange with parts that note what is asked of them, in sequence. */
async function exchange(
  given: Given = {},
  changes: Partial<Exchange<{ kind: string }>> = {},
  { clock = new VirtualClock(START), send }: { clock?: VirtualClock; send?: Transport['send'] } = {},
) {
  const noted: string[] = [];
  const note = (what: string) => () => void noted.push(what);
  const obstacleAt = (where: string) => (given.obstacleAt === where ? makeObstacle('NOT_CONFIRMED', where) : undefined);
  const ticket: Ticket = {
    answered: (_, { limited }) => void noted.push(limited ? 'answered, limited' : 'answered'),
    aborted: note('aborted'),
    notSent: note('not sent'),
  };
  const budget: Pick<Budget, 'acquire'> = {
    async acquire() {
      noted.push('tokens');
      if (given.tokensAfterMs !== undefined) await sleepFor(clock, given.tokensAfterMs);
      if (given.refused === 'WITHDRAWN') return { kind: 'refused', code: 'WITHDRAWN' };
      if (given.refused !== undefined) return { kind: 'refused', code: given.refused, earliestInMs: 0 };
      return { kind: 'granted', ticket, waitedMs: 7 };
    },
  };
  const session = {
    async ready() {
      noted.push('session');
      return noted.filter((what) => what === 'session').length < (given.notReadyFrom ?? Number.POSITIVE_INFINITY);
    },
    async renew() {
      noted.push('renewal');
      return true;
    },
  };
  const transport = {
    async send(...sent: Parameters<Transport['send']>) {
      noted.push('send');
      return send?.(...sent) ?? given.reply ?? ANSWER;
    },
  };
  const flush = async () => {
    noted.push('flush');
    return obstacleAt('flush');
  };
  const exchanged = await exchangeOnce(
    { clock, budget, session, transport },
    {
      tokens: () => ({ endpoint: 'POST /orders', weight: 1, class: 'enter' }),
      request: () => REQUEST,
      read: () => given.verdict ?? { kind: 'confirmed' },
      checks: (phase) => [
        async () => void noted.push(`${phase}: first`),
        () => {
          noted.push(`${phase}: second`);
          return obstacleAt(phase);
        },
      ],
      attempted: note('attempt'),
      ...(given.reads === true ? {} : { flush }),
      ...changes,
    },
  );
  return { exchanged, noted };
}

const BEFORE_TOKENS = ['before tokens: first', 'before tokens: second'];
const WITH_TOKENS = [...BEFORE_TOKENS, 'session', 'tokens', 'session'];
const AFTER_TOKENS = [...WITH_TOKENS, 'after tokens: first', 'after tokens: second'];
const FLUSHED = [...AFTER_TOKENS, 'attempt', 'flush', 'session'];
const AFTER_FLUSH = [...FLUSHED, 'before sending: first', 'before sending: second'];

describe('an exchange', () => {
  it('reports a wait for tokens again before the last report is over, and only as long as it lasts', async () => {
    const clock = new VirtualClock(START);
    const reported: number[] = [];
    const waiting = (until: number) => void reported.push((until - START) / 1000);
    await clock.runUntil(exchange({ tokensAfterMs: 130_000 }, { waiting }, { clock }));
    await clock.runUntil(sleepFor(clock, 600_000));
    expect(reported).toEqual([62, 120, 178]);
    await clock.runUntil(exchange({ tokensAfterMs: 1_000 }, { waiting }, { clock }));
    await clock.runUntil(sleepFor(clock, 600_000));
    expect(reported.length).toBe(3);
  });

  it('reports a wait with a deadline once, until then, and none that ends at the instant of its report', async () => {
    const clock = new VirtualClock(START);
    const reported: number[] = [];
    const waiting = (until: number) => void reported.push((until - START) / 1000);
    const tokens = () => ({ endpoint: 'POST /orders', weight: 1, class: 'enter', withinMs: 30_000 }) as const;
    await clock.runUntil(exchange({ tokensAfterMs: 200_000 }, { waiting, tokens }, { clock }));
    expect(reported).toEqual([30]);
    await clock.runUntil(exchange({ tokensAfterMs: 2_000 }, { waiting, tokens }, { clock }));
    await clock.runUntil(sleepFor(clock, 60_000));
    expect(reported).toEqual([30]);
  });

  it('checks before tokens, after them and after the flush, and sends after all of it', async () => {
    const { exchanged, noted } = await exchange();
    expect(noted).toEqual([...AFTER_FLUSH, 'send', 'answered']);
    expect(exchanged).toMatchObject({ kind: 'answered', verdict: { kind: 'confirmed' }, renewed: false });
  });

  it.each<[Given['obstacleAt'] & string, readonly string[], boolean]>([
    ['before tokens', BEFORE_TOKENS, false],
    ['after tokens', [...AFTER_TOKENS, 'not sent'], false],
    ['flush', [...AFTER_TOKENS, 'attempt', 'flush', 'not sent'], true],
    ['before sending', [...AFTER_FLUSH, 'not sent'], true],
  ])('sends nothing beyond an obstacle, and gives its tokens back: %s', async (obstacleAt, asked, attempted) => {
    const { exchanged, noted } = await exchange({ obstacleAt });
    expect(noted).toEqual(asked);
    expect(exchanged).toMatchObject({ kind: 'stopped', obstacle: { code: 'NOT_CONFIRMED' }, attempted });
  });

  it.each([
    [1, WITH_TOKENS.slice(0, -2), false],
    [2, [...WITH_TOKENS, 'not sent'], false],
    [3, [...FLUSHED, 'not sent'], true],
  ])(
    'sends nothing with a session that has expired when it is asked for time %i',
    async (notReadyFrom, asked, attempted) => {
      const { exchanged, noted } = await exchange({ notReadyFrom });
      expect(noted).toEqual(asked);
      expect(exchanged).toMatchObject({ kind: 'stopped', obstacle: { code: NO_SESSION }, attempted });
    },
  );

  it.each<[string, Given]>([
    [NO_SESSION, { notReadyFrom: 1 }],
    ['DEADLINE', { refused: 'DEADLINE' }],
    ['STEP_ENDED', { refused: 'WITHDRAWN' }],
  ])('sends nothing without a session or without tokens: %s', async (code, given) => {
    const { exchanged, noted } = await exchange(given);
    expect(exchanged).toMatchObject({ kind: 'stopped', obstacle: { code }, attempted: false });
    expect(noted).not.toContain('send');
  });

  it('asks nothing after the attempt of a read, which is not flushed', async () => {
    const { noted } = await exchange({ reads: true });
    expect(noted).toEqual([...AFTER_TOKENS, 'attempt', 'send', 'answered']);
  });

  it.each<[string, WireReply]>([
    ['aborted', { kind: 'failure', sent: true, message: 'timeout: response' }],
    ['not sent', { kind: 'failure', sent: false, message: 'ECONNREFUSED' }],
  ])('without an answer ends its tokens as %s', async (end, reply) => {
    const { exchanged, noted } = await exchange({ reply });
    expect([exchanged.kind, noted.at(-1)]).toEqual(['unanswered', end]);
  });

  it('says of a refusal whether it was for want of tokens', async () => {
    const { noted } = await exchange({ verdict: { kind: 'refused', limited: true, unauthorized: false } });
    expect(noted.at(-1)).toBe('answered, limited');
  });

  it('renews a refused session and repeats nothing', async () => {
    const { exchanged, noted } = await exchange({ verdict: { kind: 'refused', limited: false, unauthorized: true } });
    expect(noted.slice(-3)).toEqual(['send', 'answered', 'renewal']);
    expect(exchanged).toMatchObject({ kind: 'answered', renewed: true });
  });

  it('leaves no gap between the last check and the attempt, for exchanges side by side', async () => {
    let attempts = 0;
    const one = () =>
      exchange(
        {},
        {
          checks: (phase) =>
            phase === 'after tokens'
              ? [async () => undefined, () => (attempts === 0 ? undefined : makeObstacle('NOT_CONFIRMED', 'one'))]
              : [],
          attempted() {
            attempts += 1;
          },
        },
      );
    const kinds = (await Promise.all([one(), one(), one()])).map(({ exchanged }) => exchanged.kind);
    expect(kinds.sort()).toEqual(['answered', 'stopped', 'stopped']);
  });
});

describe('the last gate', () => {
  const CALM = { monotonicMs: 0, wallMs: 0 };
  /** An exchange whose process is stopped at each of the given occasions on which its gate is asked, for as long as it says. */
  async function exchangeStopped(
    stops: readonly { readonly monotonicMs: number; readonly wallMs: number }[],
    changes: Partial<Exchange<{ kind: string }>> = {},
    connect?: Transport['connect'],
  ) {
    const clock = new VirtualClock(START);
    const stopped = { monotonicMs: 0, wallMs: 0 };
    clock.read = () => ({ monotonicMs: stopped.monotonicMs, wallMs: START + stopped.wallMs });
    const noted: string[] = [];
    const tickets: string[] = [];
    let asked = 0;
    const ticket = Object.fromEntries(
      (['answered', 'aborted', 'notSent'] as const).map((name) => [name, () => void tickets.push(name)]),
    ) as unknown as Ticket;
    const exchanged = await exchangeOnce(
      {
        clock,
        budget: { acquire: async () => ({ kind: 'granted', ticket, waitedMs: 0 }) },
        transport: {
          ...(connect === undefined ? {} : { connect }),
          async send(_, { mayLeave }) {
            const { monotonicMs, wallMs } = stops[asked++] ?? CALM;
            stopped.monotonicMs += monotonicMs;
            stopped.wallMs += wallMs;
            const open = mayLeave?.() ?? true;
            noted.push(open ? 'sent' : 'held');
            return open ? ANSWER : HELD;
          },
        },
      },
      {
        tokens: () => ({ endpoint: 'POST /orders', weight: 1, class: 'enter' }),
        request: () => REQUEST,
        read: () => ({ kind: 'confirmed' }),
        checks: (phase) => [() => void noted.push(phase)],
        attempted: () => void noted.push('attempt'),
        flush: async () => undefined,
        staleMs: 250,
        ...changes,
      },
    );
    return { exchanged, noted: noted.slice(2), tickets };
  }

  it.each([
    ['a process that was stopped', { monotonicMs: 251, wallMs: 251 }],
    ['a machine that slept, whose monotonic clock was stopped too', { monotonicMs: 0, wallMs: 251 }],
    ['a wall clock that was put back meanwhile', { monotonicMs: 251, wallMs: -3_600_000 }],
  ])('holds the request of %s, asks again, and sends the same attempt', async (_, stop) => {
    const { exchanged, noted, tickets } = await exchangeStopped([stop]);
    expect(noted).toEqual(['attempt', 'before sending', 'held', 'before sending', 'sent']);
    expect([exchanged.kind, tickets]).toEqual(['answered', ['answered']]);
  });

  it('lets a request leave whose readings are as old as they may be', async () => {
    const { noted } = await exchangeStopped([{ monotonicMs: 250, wallMs: 250 }]);
    expect(noted).toEqual(['attempt', 'before sending', 'sent']);
  });

  it('sends nothing where what is asked again finds an obstacle: attempted, and certainly not sent', async () => {
    let asked = 0;
    const { exchanged, noted, tickets } = await exchangeStopped([{ monotonicMs: 20_000, wallMs: 20_000 }], {
      checks: (phase) =>
        phase === 'before sending' ? [() => (++asked === 2 ? makeObstacle('LEASE_LOST', '') : undefined)] : [],
    });
    expect(exchanged).toMatchObject({ kind: 'stopped', obstacle: { code: 'LEASE_LOST' }, attempted: true });
    expect([noted.includes('sent'), tickets]).toEqual([false, ['notSent']]);
  });

  it('gives up a request that it has held five times after the first', async () => {
    const { exchanged, noted, tickets } = await exchangeStopped(Array(9).fill({ monotonicMs: 300, wallMs: 300 }));
    expect(exchanged).toMatchObject({ kind: 'stopped', obstacle: { code: 'GATE_STALE' }, attempted: true });
    expect(noted.filter((each) => each === 'held')).toHaveLength(6);
    expect([noted.includes('sent'), tickets.at(-1)]).toEqual([false, 'notSent']);
  });

  it.each([
    ['GET', 10_001, 'unanswered'],
    ['GET', 10_000, 'answered'],
    ['POST', 3_600_000, 'answered'],
  ] as const)('takes the answer of a %s that is read after %i ms for one that is %s', async (method, ms, kind) => {
    const { exchanged, tickets } = await exchangeStopped([{ monotonicMs: ms, wallMs: ms }], {
      request: () => ({ ...REQUEST, method }),
      staleMs: undefined,
    });
    expect([exchanged.kind, tickets]).toEqual([kind, [kind === 'answered' ? 'answered' : 'aborted']]);
  });

  it('takes a read that was never sent for that, however late it is known', async () => {
    const reply = { kind: 'failure', sent: false, message: 'ECONNREFUSED' } as const;
    const clock = new VirtualClock(START);
    const send = async () => {
      clock.read = () => ({ monotonicMs: 60_000, wallMs: START + 60_000 });
      return reply;
    };
    const read = { request: () => ({ ...REQUEST, method: 'GET' }) as const };
    const { exchanged, noted } = await exchange({ reads: true }, read, { clock, send });
    expect([exchanged, noted.at(-1)]).toMatchObject([{ kind: 'unanswered', reply }, 'not sent']);
  });

  it('measures from when the turn began: the checks take the time from there', async () => {
    const clock = new VirtualClock(START);
    clock.readAtTurn = () => ({ monotonicMs: -251, wallMs: START - 251 });
    let open: boolean | undefined;
    const { exchanged } = await exchange(
      {},
      { staleMs: 250 },
      {
        clock,
        async send(_, { mayLeave }) {
          open = mayLeave?.();
          return ANSWER;
        },
      },
    );
    expect([open, exchanged.kind]).toEqual([false, 'answered']);
  });

  it('has the connection before the last checks, gives it back where they find an obstacle, and takes another when held', async () => {
    const taken: string[] = [];
    const connect = () => {
      const name = `connection ${taken.length + 1}`;
      taken.push(name);
      return { release: () => void taken.push(`${name} released`) };
    };
    await exchangeStopped([{ monotonicMs: 300, wallMs: 300 }], {}, connect);
    expect(taken).toEqual(['connection 1', 'connection 2']);
    taken.length = 0;
    const checks: Exchange<{ kind: string }>['checks'] = (phase) =>
      phase === 'after tokens' ? [() => makeObstacle('NOT_CONFIRMED', String(taken.length))] : [];
    const { exchanged } = await exchangeStopped([], { checks }, connect);
    expect(exchanged).toMatchObject({ kind: 'stopped', attempted: false, obstacle: { message: 'NOT_CONFIRMED: 1' } });
    expect(taken).toEqual(['connection 1', 'connection 1 released']);
  });

  it('takes no connection beforehand for a read, which passes no point of a write', async () => {
    const passed: string[] = [];
    const taken: string[] = [];
    const connect = () => void taken.push('connection');
    const reached = (point: string) => void passed.push(point);
    await exchangeStopped([], { flush: undefined, reached }, connect);
    expect([taken, passed]).toEqual([[], ['CP2', 'CP4', 'CP23', 'CP10']]);
    passed.length = 0;
    await exchangeStopped([], { reached }, connect);
    expect([taken, passed]).toEqual([['connection'], ['CP2', 'CP5', 'CP4', 'CP23', 'CP10']]);
  });

  it('waits so much less for an answer as it has waited for a connection', async () => {
    const clock = new VirtualClock(START);
    const timeouts: number[] = [];
    const connectIn = (ms: number) => async () => {
      await sleepFor(clock, ms);
      return undefined;
    };
    for (const ms of [3_000, 4_000, 12_000]) {
      const transport = {
        connect: connectIn(ms),
        async send(_: WireRequest, { timeoutMs }: { readonly timeoutMs: number }) {
          timeouts.push(timeoutMs);
          return ANSWER;
        },
      };
      const ticket: Ticket = { answered() {}, aborted() {}, notSent() {} };
      await clock.runUntil(
        exchangeOnce(
          { clock, budget: { acquire: async () => ({ kind: 'granted', ticket, waitedMs: 0 }) }, transport },
          {
            tokens: () => ({ endpoint: 'POST /orders', weight: 1, class: 'enter' }),
            request: () => REQUEST,
            read: () => ({ kind: 'confirmed' }),
            flush: async () => undefined,
          },
        ),
      );
    }
    expect(timeouts).toEqual([7_000, 6_000, 1]);
  });

  it('attempts nothing without a connection: definite, with its tokens back', async () => {
    const refused = { kind: 'failure', sent: false, message: 'ECONNREFUSED' } as const;
    const { exchanged, noted, tickets } = await exchangeStopped([], {}, async () => refused);
    expect(exchanged).toMatchObject({ kind: 'unanswered', reply: refused });
    expect([noted, tickets]).toEqual([[], ['notSent']]);
  });
});

describe('the checks of a call', () => {
  it.each<[SendPhase, readonly string[]]>([
    [
      'before tokens',
      [
        'bounds of the venue document',
        'recording',
        'age of the decision',
        'market price for the limits',
        'sums of the account',
        'deadman switch, limits',
        'person',
      ],
    ],
    ['after tokens', ['lease, and cancel_all in progress', 'step', 'kill switch', 'deadman switch, limits']],
    [
      'before sending',
      [
        'lease, and cancel_all in progress',
        'step',
        'kill switch, read again',
        'age of the decision',
        'deadman switch, limits',
      ],
    ],
  ])('%s', (phase, names) => {
    expect(SEND_CHECKS.filter(({ phases }) => phases.includes(phase)).map(({ name }) => name)).toEqual(names);
  });

  it('are each in the table once', () => {
    expect(new Set(SEND_CHECKS.map(({ find }) => find)).size).toBe(SEND_CHECKS.length);
  });
});

it('every write of the catalogue has an action, and no read has one', () => {
  const reads = ENDPOINT_NAMES.filter((name) => getAction(name) === undefined);
  expect(reads).toEqual(ENDPOINT_NAMES.filter((name) => CATALOGUE[name].method === 'GET'));
});
