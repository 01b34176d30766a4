import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../src/base/clock.ts';
import { type Exchange, exchangeOnce, makeObstacle, NO_SESSION, type SendPhase } from '../../src/gateway/exchange.ts';
import { SEND_CHECKS } from '../../src/gateway/send-checks.ts';
import type { Budget, Ticket } from '../../src/gateway/tokens/budget.ts';
import type { WireReply, WireRequest } from '../../src/gateway/transport.ts';
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

interface Given {
  /** The request is a read. */
  readonly reads?: true;
  readonly ready?: boolean;
  readonly refused?: 'DEADLINE' | 'WITHDRAWN';
  readonly reply?: WireReply;
  readonly verdict?: { kind: 'confirmed' } | { kind: 'refused'; limited: boolean; unauthorized: boolean };
  readonly obstacleAt?: SendPhase | 'flush';
}

/** One exchange with parts that note what is asked of them, in sequence. */
async function exchange(given: Given = {}, changes: Partial<Exchange<{ kind: string }>> = {}) {
  const clock = new VirtualClock(START);
  const noted: string[] = [];
  const note = (what: string) => () => void noted.push(what);
  const obstacleAt = (where: string) => (given.obstacleAt === where ? makeObstacle('STOP', where) : undefined);
  const ticket: Ticket = {
    sent: note('sent'),
    answered: note('answered'),
    aborted: note('aborted'),
    notSent: note('not sent'),
  };
  const budget: Pick<Budget, 'acquire'> = {
    async acquire() {
      noted.push('tokens');
      if (given.refused === 'WITHDRAWN') return { kind: 'refused', code: 'WITHDRAWN' };
      if (given.refused !== undefined) return { kind: 'refused', code: given.refused, earliestAt: START };
      return { kind: 'granted', ticket, waitedMs: 7 };
    },
  };
  const session = {
    async ready() {
      noted.push('session');
      return given.ready ?? true;
    },
    async renew() {
      noted.push('renewal');
      return true;
    },
  };
  const transport = {
    async send() {
      noted.push('send');
      return given.reply ?? ANSWER;
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
const AFTER_TOKENS = [...BEFORE_TOKENS, 'session', 'tokens', 'after tokens: first', 'after tokens: second'];
const AFTER_FLUSH = [...AFTER_TOKENS, 'attempt', 'flush', 'after flush: first', 'after flush: second'];

describe('an exchange', () => {
  it('checks before tokens, after them and after the flush, and sends after all of it', async () => {
    const { exchanged, noted } = await exchange();
    expect(noted).toEqual([...AFTER_FLUSH, 'sent', 'send', 'answered']);
    expect(exchanged).toMatchObject({ kind: 'answered', verdict: { kind: 'confirmed' }, renewed: false });
  });

  it.each<[Given['obstacleAt'] & string, readonly string[], boolean]>([
    ['before tokens', BEFORE_TOKENS, false],
    ['after tokens', [...AFTER_TOKENS, 'not sent'], false],
    ['flush', [...AFTER_TOKENS, 'attempt', 'flush', 'not sent'], true],
    ['after flush', [...AFTER_FLUSH, 'not sent'], true],
  ])('sends nothing beyond an obstacle, and gives its tokens back: %s', async (obstacleAt, asked, attempted) => {
    const { exchanged, noted } = await exchange({ obstacleAt });
    expect(noted).toEqual(asked);
    expect(exchanged).toMatchObject({ kind: 'stopped', obstacle: { code: 'STOP' }, attempted });
  });

  it.each<[string, Given]>([
    [NO_SESSION, { ready: false }],
    ['DEADLINE', { refused: 'DEADLINE' }],
    ['STEP_ENDED', { refused: 'WITHDRAWN' }],
  ])('sends nothing without a session or without tokens: %s', async (code, given) => {
    const { exchanged, noted } = await exchange(given);
    expect(exchanged).toMatchObject({ kind: 'stopped', obstacle: { code }, attempted: false });
    expect(noted).not.toContain('send');
  });

  it('asks nothing after the attempt of a read, which is not flushed', async () => {
    const { noted } = await exchange({ reads: true });
    expect(noted).toEqual([...AFTER_TOKENS, 'attempt', 'sent', 'send', 'answered']);
  });

  it.each<[string, WireReply]>([
    ['aborted', { kind: 'failure', sent: true, message: 'timeout: response' }],
    ['not sent', { kind: 'failure', sent: false, message: 'ECONNREFUSED' }],
  ])('without an answer ends its tokens as %s', async (end, reply) => {
    const { exchanged, noted } = await exchange({ reply });
    expect([exchanged.kind, noted.at(-1)]).toEqual(['unanswered', end]);
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
              ? [async () => undefined, () => (attempts === 0 ? undefined : makeObstacle('LIMIT', 'one'))]
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

describe('the checks of a call', () => {
  it.each<[SendPhase, readonly string[]]>([
    [
      'before tokens',
      [
        'bounds of the venue document',
        'age of the decision',
        'recording',
        'market price for the limits',
        'limits',
        'person',
      ],
    ],
    ['after tokens', ['lease, and cancel_all in progress', 'step', 'kill switch', 'deadman switch', 'limits']],
    ['after flush', ['lease, and cancel_all in progress', 'step', 'kill switch', 'deadman switch']],
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
