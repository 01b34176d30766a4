/**
 * Decides whether a call may be sent now, as a table read top to bottom: each check is asked in the phases that it names, since
 * every wait (for tokens, for the disk) may have changed its answer.
 */
import { formatSpan } from '../base/format.ts';
import { getAction, getEndpoint } from '../venue/catalogue.ts';
import { LASTING_DENIALS, splitLimits, tighter } from '../venue/limits/check.ts';
import { NOT_RECORDED, STALE_INTENT, SWEEP, type VenueCall } from '../venue/port.ts';
import { findRequestProblems } from '../venue/wire/bounds.ts';
import { toWireRequest } from '../venue/wire/request.ts';
import type { CancelAllBarrier } from './cancel-all-barrier.ts';
import type { ClientParts } from './client-parts.ts';
import { findWithdrawal, makeObstacle, type Obstacle, type SendPhase, type Step } from './exchange.ts';
import type { MarketPriceReader } from './market-price.ts';

/** Oldest decision under which an order may still be sent, ms; an order waits no longer for its tokens either. */
const STALE_AFTER_MS = 60_000;
/** Pause before a kill switch that cannot be read is read again, ms. */
const READ_AGAIN_MS = 500;

/** Another process acts for the account, and has this run as well: the call never settles here. */
export const LEASE_LOST = makeObstacle('LEASE_LOST', 'another process acts for the account');

export interface CheckedCall {
  readonly call: VenueCall;
  readonly parts: ClientParts & { readonly barrier: CancelAllBarrier; readonly prices: MarketPriceReader };
  /** When it asked for its tokens, epoch ms; what came before may have waited for a person. Undefined until then. */
  readyAt?: number;
}

export const SEND_CHECKS: readonly {
  readonly name: string;
  readonly phases: readonly SendPhase[];
  /** Asked of writes alone: a read passes it in any case. */
  readonly ofWrites?: true;
  readonly find: (checked: CheckedCall, phase: SendPhase) => ReturnType<Step>;
}[] = [
  { name: 'bounds of the venue document', phases: ['before tokens'], find: findInvalid },
  { name: 'recording', phases: ['before tokens'], find: findUnrecorded },
  { name: 'lease, and cancel_all in progress', phases: ['after tokens', 'before sending'], find: waitForAccount },
  { name: 'step', phases: ['after tokens', 'before sending'], find: ({ call }) => findWithdrawal(call.wanted) },
  { name: 'kill switch', phases: ['after tokens'], find: findBar },
  { name: 'kill switch, read again', phases: ['before sending'], find: findBarAnew },
  { name: 'age of the decision', phases: ['before tokens', 'before sending'], ofWrites: true, find: findStale },
  { name: 'market price for the limits', phases: ['before tokens'], ofWrites: true, find: readMarketPrice },
  { name: 'sums of the account', phases: ['before tokens'], ofWrites: true, find: recount },
  {
    name: 'deadman switch, limits',
    phases: ['before tokens', 'after tokens', 'before sending'],
    ofWrites: true,
    find: findDenial,
  },
  { name: 'person', phases: ['before tokens'], ofWrites: true, find: askPerson },
];

type ChecksByPhase = Readonly<Record<SendPhase, typeof SEND_CHECKS>>;

function selectChecks(checks: typeof SEND_CHECKS): ChecksByPhase {
  const select = (phase: SendPhase) => checks.filter(({ phases }) => phases.includes(phase));
  return {
    'before tokens': select('before tokens'),
    'after tokens': select('after tokens'),
    'before sending': select('before sending'),
  };
}
const CHECKS_OF_WRITES = selectChecks(SEND_CHECKS);
const CHECKS_OF_READS = selectChecks(SEND_CHECKS.filter(({ ofWrites }) => ofWrites !== true));

export function listChecks(phase: SendPhase, checked: CheckedCall): readonly Step[] {
  const isRead = getEndpoint(checked.call.endpoint).method === 'GET';
  return (isRead ? CHECKS_OF_READS : CHECKS_OF_WRITES)[phase].map(
    ({ find }) =>
      () =>
        find(checked, phase),
  );
}

function findInvalid({ call, parts }: CheckedCall): Obstacle | undefined {
  const params = call.params as Readonly<Record<string, unknown>>;
  const problems = findRequestProblems(call.endpoint, params, parts.profile);
  return problems.length === 0 ? undefined : makeObstacle('INVALID_REQUEST', problems.join('; '));
}

/**
 * Finds that a call must not be sent any more because it was decided too long ago: by a process that died, or by this one before
 * it was stopped. The market has moved since, and a cancel_all would cancel orders that others have placed since.
 */
export function findStale({ call, parts: { clock, profile }, readyAt }: CheckedCall): Obstacle | undefined {
  const isSweeping = getAction(call.endpoint) === 'cancel_all';
  const decidedAt = call.decidedAt ?? (isOrder(call) ? readyAt : undefined);
  if (decidedAt === undefined || !(isOrder(call) || isSweeping)) return undefined;
  const age = clock.now() - decidedAt;
  if (age <= (isSweeping ? profile.ambiguityWindowMs : STALE_AFTER_MS)) return undefined;
  const when = Number.isFinite(age) ? `${formatSpan(age)} ago` : 'an unknown time ago';
  const since =
    call.decidedAt === undefined
      ? 'and this process was stopped, or waited, before it was sent'
      : `by a process that died before it was ${isSweeping ? 'answered' : 'sent'}`;
  return makeObstacle(STALE_INTENT, `it was decided ${when}, ${since}`);
}

function findUnrecorded({ call, parts: { transport, profile } }: CheckedCall): Obstacle | undefined {
  if (call.purpose !== SWEEP) return undefined;
  const known = transport.knows?.(toWireRequest(call.endpoint, call.params, profile)) ?? true;
  return known ? undefined : makeObstacle(NOT_RECORDED, 'the recording has no such exchange');
}

/** Waits until the lease is certain and, for a new order, no cancel_all is in progress. */
async function waitForAccount(checked: CheckedCall): Promise<Obstacle | undefined> {
  const { call, parts } = checked;
  const { barrier, lease } = parts;
  const isNew = isOrder(call);
  const harmless = getEndpoint(call.endpoint).method === 'GET' || maySkipJournal(call);
  do {
    if (isNew) await Promise.race([barrier.opens(), awaitWithdrawal(call)]);
    const held = lease === undefined || (await lease.holds(harmless, () => findGivenUp(checked) !== undefined));
    if (held !== true) return held === false ? LEASE_LOST : findGivenUp(checked);
  } while (isNew && barrier.isClosed && call.wanted?.withdrawn === undefined);
  return undefined;
}

/**
 * Why a call need not wait for its store any more: its step has ended, or the journal is given up. A run that ends cancels what is open
 * once its other calls have settled.
 */
function findGivenUp({ call, parts: { log } }: CheckedCall): Obstacle | undefined {
  const failure = log.findFailure?.();
  return findWithdrawal(call.wanted) ?? (failure === undefined ? undefined : makeObstacle('JOURNAL', failure));
}

/** Resolves when the call is withdrawn; never for a call that cannot be. */
function awaitWithdrawal({ wanted }: VenueCall): Promise<void> {
  if (wanted?.withdrawn !== undefined) return Promise.resolve();
  return new Promise((resolve) => void wanted?.onWithdrawn(resolve));
}

function findBar({ call, parts }: CheckedCall): Obstacle | undefined {
  const { protective, method } = getEndpoint(call.endpoint);
  const message = parts.forbidden?.(protective || method === 'GET');
  return message === undefined ? undefined : { code: message.split(':')[0] ?? 'FORBIDDEN', message };
}

/** Never denies: an order whose market gives no price is measured by its own, or denied by the limits. */
function readMarketPrice({ call, parts }: CheckedCall): ReturnType<Step> {
  const { limits } = parts.profile;
  const rules = call.limits === undefined ? limits : tighter(limits, call.limits);
  const market = parts.gate.findUnpriced(call, rules, parts.clock.now());
  return market === undefined ? undefined : parts.prices.read(market, call).then(() => undefined);
}

/** Never denies: the limits are checked with what is known then. */
function recount({ call, parts }: CheckedCall): ReturnType<Step> {
  return isOrder(call) ? parts.recount?.().then(() => undefined) : undefined;
}

/**
 * Of what adds risk: a cancel is sent although the switch is engaged, so it does not wait for the store either. A switch that
 * cannot be read is no verdict: no person has engaged it, and the store may answer again.
 */
async function findBarAnew(checked: CheckedCall): Promise<Obstacle | undefined> {
  const { call, parts } = checked;
  const { readKillSwitch, clock } = parts;
  if (getEndpoint(call.endpoint).protective || readKillSwitch === undefined) return findBar(checked);
  while (!(await readKillSwitch())) {
    const givenUp = findGivenUp(checked);
    if (givenUp !== undefined) return givenUp;
    await new Promise<void>((resolve) => void clock.at(clock.now() + READ_AGAIN_MS, resolve));
  }
  return findWithdrawal(call.wanted) ?? findBar(checked);
}

/** Finds why a call would be denied now, where no end of an order of the run lifts that. */
export function findLasting(checked: CheckedCall): Obstacle | undefined {
  const obstacle = findInvalid(checked) ?? findBar(checked);
  if (obstacle !== undefined) return obstacle;
  const { call, parts } = checked;
  const { run, account } = splitLimits(parts.profile.limits, call.limits);
  const verdict = parts.gate.check(call, run, parts.clock.now(), { account });
  return verdict.ok || !LASTING_DENIALS.has(verdict.code) ? undefined : verdict;
}

function findDenial({ call, parts }: CheckedCall, phase: SendPhase): Obstacle | undefined {
  const { clock, gate, log } = parts;
  const { run, account } = splitLimits(parts.profile.limits, call.limits);
  const verdict = gate.check(call, run, clock.now(), { attempted: phase === 'before sending', account });
  if (!verdict.ok) return verdict;
  // The last look before the attempt: orders that left while this one waited count in it.
  if (phase === 'after tokens' && Object.keys(verdict.considered).length > 0)
    log.append('call.checked', { call: call.id, limits: verdict.considered }, call.step);
  return undefined;
}

function askPerson({ call, parts: { confirm } }: CheckedCall): ReturnType<Step> {
  const { consent, endpoint } = call;
  const { protective } = getEndpoint(endpoint);
  // Protective requests do not wait for a person: a late heartbeat lets the switch fire, a late cancel lets an order fill. A cancel of
  // an exit does: the position would have no stop while the person is asked for the market order.
  if (confirm === undefined || (protective && consent === undefined)) return undefined;
  const answer = consent?.answer ?? confirm(call);
  if (consent !== undefined) consent.answer = answer;
  const refused = makeObstacle('NOT_CONFIRMED', 'the person at the terminal said no');
  return answer.then((confirmed) => (confirmed ? undefined : refused));
}

/**
 * True for requests that are sent even when the journal cannot be written: cancels, and heartbeats of an armed switch. Arming or
 * disarming the deadman switch needs an entry, as an order does, because `resume` relies on it; so does a cancel that asks for one.
 */
export function maySkipJournal(call: Pick<VenueCall, 'endpoint' | 'purpose' | 'recorded'>): boolean {
  if (call.recorded) return false;
  const { action, protective } = getEndpoint(call.endpoint);
  return action === 'arm' ? call.purpose === 'keep-alive' : protective && action !== 'disarm';
}

function isOrder(call: Pick<VenueCall, 'endpoint'>): boolean {
  const action = getAction(call.endpoint);
  return action === 'place' || action === 'amend';
}
