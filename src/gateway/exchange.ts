/**
 * Exchanges one request and its answer with the venue: checks, session, tokens, connection, checks again, durable attempt, checks
 * again, last gate, send, answer. Every request of the program takes this path, and no other code sends. The caller gives checks and
 * journal (client.ts), or neither (kill, doctor, late orders, the session's own renewal). It repeats nothing.
 */
import { arriveAt, type Clock, type ClockReading, measureBetween } from '../base/clock.ts';
import { formatCount, formatSpan } from '../base/format.ts';
import type { ObstacleCode } from '../venue/limits/obstacles.ts';
import { GATE_STALE, STEP_ENDED, type Wanted } from '../venue/port.ts';
import type { CrashPoint } from './crash-points.ts';
import type { Budget, BudgetAnswer, BudgetRequest } from './tokens/budget.ts';
import {
  EXCHANGE_TIMEOUT_MS,
  type Transport,
  type WireAnswer,
  type WireFailure,
  type WireReply,
  type WireRequest,
} from './transport.ts';

/** The session of a transport that needs one; simulated and recorded transports need none. */
export interface Session {
  /** Ensures a valid session before a request is sent. False when none can be obtained. */
  ready(): Promise<boolean>;
  /** Obtains a new session after the venue refused the old one, once for all callers. False when none can be obtained. */
  renew(): Promise<boolean>;
}

/**
 * When checks are asked: every wait may change what they find. Those `before sending` are asked again as often as the last gate
 * finds them too old.
 */
export type SendPhase = 'before tokens' | 'after tokens' | 'before sending';

/** Why a request may not be sent. */
export interface Obstacle {
  readonly code: string;
  readonly message: string;
}
/** Code of a request for which no session could be obtained. */
export const NO_SESSION = 'NO_SESSION';
/** How often a request is asked about again after the last gate held it back. */
const MOST_ROUNDS = 5;
/** A wait for tokens is reported when it has lasted this long, ms: less than half of the shortest deadman timeout. */
const LONG_WAIT_MS = 2_000;
/** How long a wait for tokens without a deadline counts as a wait and not as a hang, ms; then it is reported again. */
const LONGEST_WAIT_MS = 60_000;

/** One step on the way to the venue; an obstacle ends the way. */
export type Step = () => Obstacle | undefined | Promise<Obstacle | undefined>;

/** An attempt that is about to be sent; `waitedMs`: how long it waited for its tokens. */
export type Attempt = { readonly request: WireRequest; readonly tokens: number; readonly waitedMs: number };

/** How an answer is read: a kind for the caller, and for a refusal what session and tokens learn from it. */
interface Verdict {
  readonly kind: string;
  readonly limited?: boolean;
  readonly unauthorized?: boolean;
}

export interface Exchange<V extends Verdict> {
  /** Called when the session is ready: learned costs and deadlines count from then. */
  tokens(): BudgetRequest;
  /** Called when the tokens are granted, and so only for parameters that passed the checks. */
  request(): WireRequest;
  read(answer: WireAnswer): V;
  /** The checks of a phase, in sequence; without them nothing is checked. */
  checks?(phase: SendPhase): readonly Step[];
  /** Called where the request has waited for its tokens for a while; `until`: its deadline, epoch ms. */
  readonly waiting?: ((until: number) => void) | undefined;
  /** Journals the attempt. */
  attempted?(attempt: Attempt): void;
  /** Makes the attempt durable, for a write. */
  readonly flush?: (() => Promise<Obstacle | undefined>) | undefined;
  reached?(point: CrashPoint): void;
  /** How long to wait for the answer, ms, where that is less than the longest time of any exchange. */
  readonly answerMs?: number | undefined;
  /** For a write with checks: how old their readings may be when its first byte leaves, ms. */
  readonly staleMs?: number | undefined;
}

/** Epoch ms just before the first byte was sent, and when the answer had come or was given up. */
type Times = { readonly sentAt: number; readonly settledAt: number };

/**
 * `stopped`: nothing was sent; `attempted`: although the attempt was journaled. `renewed`: the venue refused the session, and
 * another one has been obtained.
 */
export type Exchanged<V> =
  | { readonly kind: 'stopped'; readonly obstacle: Obstacle; readonly attempted: boolean }
  | { readonly kind: 'unanswered'; readonly times: Times; readonly reply: WireFailure }
  | { readonly kind: 'answered'; readonly times: Times; readonly reply: WireAnswer; verdict: V; renewed: boolean };

export async function exchangeOnce<V extends Verdict>(
  parts: {
    readonly clock: Clock;
    readonly session?: Session;
    readonly budget: Pick<Budget, 'acquire'>;
    readonly transport: Pick<Transport, 'send' | 'connect'>;
  },
  exchange: Exchange<V>,
): Promise<Exchanged<V>> {
  const { budget, clock, session, transport } = parts;
  const { checks = () => [], flush, reached } = exchange;
  const stop = (obstacle: Obstacle, attempted = false) => ({ kind: 'stopped', obstacle, attempted }) as const;

  const findNoSession: Step = async () =>
    (await session?.ready()) === false ? { code: NO_SESSION, message: 'the session could not be renewed' } : undefined;
  // Asked after each wait, for tokens or the disk: one that has expired meanwhile is refused, and an order is not repeated.
  const ready: readonly Step[] = session === undefined ? [] : [findNoSession];
  for (const step of [...checks('before tokens'), ...ready]) {
    const found = step();
    const obstacle = found instanceof Promise ? await found : found;
    if (obstacle !== undefined) return stop(obstacle);
  }

  reached?.('CP2');
  const asked = exchange.tokens();
  const wait = reportWait(clock, asked.withinMs, exchange.waiting);
  let granted: BudgetAnswer;
  try {
    granted = await budget.acquire(asked);
  } finally {
    wait.end();
  }
  if (granted.kind === 'refused') return stop(describeRefusal(granted, asked, clock));
  const { ticket, waitedMs } = granted;

  const request = exchange.request();
  const gate = exchange.staleMs === undefined ? undefined : new LastGate(clock, exchange.staleMs, reached);
  let attempted = false;
  const attempt: Step = () => {
    attempted = true;
    exchange.attempted?.({ request, tokens: asked.weight, waitedMs });
    return undefined;
  };
  const ask = (): readonly Step[] => [...ready, () => void gate?.noteAsked(), ...checks('before sending')];
  const durable: readonly Step[] = flush === undefined ? [] : [flush, ...ask()];
  const longestMs = Math.min(EXCHANGE_TIMEOUT_MS, exchange.answerMs ?? EXCHANGE_TIMEOUT_MS);
  for (let round = 1; ; round += 1) {
    const startedAt = clock.monotonic();
    // A read takes its connection when it is sent: it has nothing to ask about after that.
    if (flush !== undefined) reached?.('CP5');
    const taken = flush === undefined ? undefined : transport.connect?.(longestMs);
    const connection = taken instanceof Promise ? await taken : taken;
    if (connection !== undefined && 'kind' in connection) {
      ticket.notSent();
      const now = clock.now();
      return { kind: 'unanswered', times: { sentAt: now, settledAt: now }, reply: connection };
    }
    const timeoutMs = Math.max(1, longestMs - (clock.monotonic() - startedAt));
    for (const step of round === 1 ? [...ready, ...checks('after tokens'), attempt, ...durable] : ask()) {
      const found = step();
      // A step that does not wait leaves no gap: no order of another branch comes between the limits and the attempt.
      const obstacle = found instanceof Promise ? await found : found;
      if (obstacle === undefined) continue;
      connection?.release();
      ticket.notSent();
      return stop(obstacle, attempted);
    }

    reached?.('CP4');
    const sentAt = clock.now();
    const left = clock.read();
    const came = await transport.send(request, { timeoutMs, connection, mayLeave: gate?.mayLeave });
    const held = came.kind === 'failure' && came.held === true;
    if (held && round <= MOST_ROUNDS) continue;
    if (held) {
      ticket.notSent();
      return stop(describeHeld(exchange.staleMs), true);
    }
    reached?.('CP10');
    // A process that was stopped meanwhile finds the answer before the timer that gave it up: no reading is older than its time-out.
    const isOld = request.method === 'GET' && came.kind === 'answer' && measureBetween(left, clock.read()) > longestMs;
    const reply: WireReply = isOld ? { kind: 'failure', sent: true, message: 'timeout: response' } : came;
    const times = { sentAt, settledAt: clock.now() };
    if (reply.kind === 'failure') {
      if (reply.sent) ticket.aborted();
      else ticket.notSent();
      return { kind: 'unanswered', times, reply };
    }
    const verdict = exchange.read(reply);
    const { limited = false, unauthorized = false } = verdict;
    ticket.answered(reply.headers, { limited });
    // A refused session is renewed for whatever follows; repeating the request is for its caller to decide.
    const renewed = unauthorized && session !== undefined && (await session.renew());
    return { kind: 'answered', times, reply, verdict, renewed };
  }
}

/** Reports a long wait, each time in a turn of its own so that a replay finds the same place for it, until it has ended. */
function reportWait(clock: Clock, withinMs: number | undefined, report: Exchange<Verdict>['waiting']): { end(): void } {
  if (report === undefined) return { end() {} };
  const deadlineAt = withinMs === undefined ? undefined : clock.now() + withinMs;
  let hasEnded = false;
  const reportLater = (at: number) => arriveAt(clock, at, turn);
  const turn = () => {
    if (hasEnded) return;
    const until = deadlineAt ?? clock.now() + LONGEST_WAIT_MS;
    report(until);
    // Without a deadline it lasts as long as others take the tokens.
    if (deadlineAt === undefined) timer = reportLater(until - LONG_WAIT_MS);
  };
  let timer = reportLater(clock.now() + LONG_WAIT_MS);
  return {
    end() {
      hasEnded = true;
      timer.cancel();
    },
  };
}

/**
 * The last gate of a write (reliability.md, The last gate): a process can be stopped between any two instructions, for any time,
 * and what it asked before may be wrong when it continues. So the clocks are read once more in the same call that hands the first
 * byte to the socket.
 */
class LastGate {
  private readonly clock: Clock;
  private readonly staleMs: number;
  private readonly reached: ((point: CrashPoint) => void) | undefined;
  private askedAt: ClockReading;

  constructor(clock: Clock, staleMs: number, reached: ((point: CrashPoint) => void) | undefined) {
    this.clock = clock;
    this.staleMs = staleMs;
    this.reached = reached;
    this.askedAt = clock.readAtTurn();
  }

  /** The checks are about to be asked. They take the time from the clock of the turn, so they are as old as that. */
  noteAsked(): void {
    this.askedAt = this.clock.readAtTurn();
  }

  readonly mayLeave = (): boolean => {
    this.reached?.('CP23');
    return measureBetween(this.askedAt, this.clock.read()) <= this.staleMs;
  };
}

export function makeObstacle(code: ObstacleCode, why: string): Obstacle {
  return { code, message: `${code}: ${why}` };
}

function describeHeld(staleMs: number | undefined): Obstacle {
  const most = staleMs === undefined ? 'it may be idle for on its connection' : `${formatSpan(staleMs)} (gate.stale)`;
  return makeObstacle(
    GATE_STALE,
    `${MOST_ROUNDS} times more time than ${most} went by between the last checks and the first byte: this machine is being stopped again and again, or its store is that slow`,
  );
}

/** Finds that the step of a request does not need it any more. */
export function findWithdrawal(wanted: Wanted | undefined): Obstacle | undefined {
  if (wanted?.withdrawn === undefined) return undefined;
  return makeObstacle(STEP_ENDED, `it was not sent before its step ended: ${wanted.withdrawn}`);
}

function describeRefusal(
  refusal: Extract<BudgetAnswer, { kind: 'refused' }>,
  asked: BudgetRequest,
  clock: Clock,
): Obstacle {
  const { code } = refusal;
  if (code === 'WITHDRAWN') return findWithdrawal(asked.wanted) ?? { code: STEP_ENDED, message: STEP_ENDED };
  if (code === 'HEARTBEAT_TOKENS') return makeObstacle(code, refusal.because);
  const when = new Date(clock.now() + refusal.earliestInMs).toISOString();
  return makeObstacle(code, `${formatCount(asked.weight, 'token')} would not be free before ${when}`);
}
