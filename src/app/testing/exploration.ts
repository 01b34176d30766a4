/**
 * `runbook test --explore`: repeats a passing case with each request's answer lost, refused, rate limited or part-filled, and with
 * the process killed before and after it. The case's expectations do not apply to these runs; the promises of the engine do: no
 * second order for one intent, every order accounted for, an end, a sound journal. So does what the test file says must always hold.
 */
import { formatSpan } from '../../base/format.ts';
import { verifyChain } from '../../journal/chain.ts';
import { OrderTracker } from '../../journal/orders.ts';
import { isInDoubt, isTerminal, isWorking } from '../../venue/order/states.ts';
import { SIMULATED_PROFILE } from '../../venue/profile/profile.ts';
import { type CaseResult, type CaseRun, runCase } from './case-run.ts';
import { formatRequestName } from './file/request-names.ts';
import type { Crash } from './file/test-case.ts';
import type { InjectedFault, Sent } from './venue/venue.ts';

export interface Exploration {
  /** Number of runs executed. */
  readonly variations: number;
  readonly violations: readonly { readonly variation: string; readonly problem: string }[];
}

/** Only the first few reads of each kind are varied: polls are alike. */
const READS_TRIED = 3;
const WRITES_TRIED = 12;
const DOWN_MS = 5000;

type Variation =
  | { readonly text: string; readonly fault: InjectedFault }
  | { readonly text: string; readonly crash: Omit<Crash, 'on' | 'call'> };

const VARIATIONS: readonly Variation[] = [
  { text: 'lost before it arrives', fault: { kind: 'lost', when: 'before' } },
  { text: 'its answer lost', fault: { kind: 'lost', when: 'after' } },
  { text: 'refused for the rate limit', fault: { kind: 'limited' } },
  { text: 'refused', fault: { kind: 'refused' } },
  { text: 'filled in part', fault: { kind: 'part_filled' } },
  { text: 'the process killed before it', crash: { when: 'before', answer: 'lost', downMs: DOWN_MS } },
  { text: 'the process killed before its answer', crash: { when: 'after', answer: 'lost', downMs: DOWN_MS } },
  { text: 'the process killed after its answer', crash: { when: 'after', answer: 'kept', downMs: DOWN_MS } },
];

export async function exploreCase(options: CaseRun, plain: CaseResult): Promise<Exploration> {
  const violations: { readonly variation: string; readonly problem: string }[] = [];
  let variations = 0;
  for (const target of chooseTargets(plain.venue.sent)) {
    for (const variation of VARIATIONS) {
      if (!appliesTo(variation, target)) continue;
      variations += 1;
      const result = await runCase({ ...options, ...applyTo(variation, target.number) });
      const named = `request ${target.number}, ${formatRequestName({ endpoint: target.name, type: target.type })}: ${variation.text}`;
      for (const problem of findProblems(result)) violations.push({ variation: named, problem });
      for (const { expr, afterMs } of result.broken)
        violations.push({
          variation: named,
          problem: `${expr.text.trim()} does not hold after ${formatSpan(afterMs)}`,
        });
    }
  }
  return { variations, violations };
}

/** Runs are equal up to the varied request, so its number identifies it. */
function applyTo(variation: Variation, number: number): Pick<CaseRun, 'fault' | 'crash'> {
  if ('fault' in variation) return { fault: (sent) => (sent.number === number ? variation.fault : undefined) };
  let died = false;
  return {
    crash: (sent) => {
      if (died || sent.number !== number) return undefined;
      died = true;
      return variation.crash;
    },
  };
}

function chooseTargets(sent: readonly Sent[]): readonly Sent[] {
  const seen = new Map<string, number>();
  return sent.filter(({ name, type }) => {
    const kind = `${name} ${type ?? ''}`;
    const count = (seen.get(kind) ?? 0) + 1;
    seen.set(kind, count);
    return count <= (name.startsWith('GET ') ? READS_TRIED : WRITES_TRIED);
  });
}

function appliesTo(variation: Variation, { name, type }: Sent): boolean {
  if (!('fault' in variation) || variation.fault.kind !== 'part_filled') return true;
  return name === 'DELETE /orders' || (name === 'POST /orders' && type !== 'stop_loss' && type !== 'take_profit');
}

/** Checks what must hold in every run. */
export function findProblems(result: CaseResult): readonly string[] {
  const problems: string[] = [];
  if (result.problem !== undefined) problems.push(`the run did not end: ${result.problem}`);
  else if (!result.entries.some(({ type }) => type === 'run.ended')) problems.push('the run has no end');
  problems.push(...findSecondOrders(result), ...findUnaccounted(result));
  const chain = verifyChain(result.stored);
  if (!chain.ok) problems.push(`the journal does not verify: ${chain.problem.detail}`);
  return problems;
}

/** A second POST for an intent is allowed only where the first certainly had no effect, or with `resend` (orders.md, Unknown outcomes). */
function findSecondOrders({ entries, venue }: CaseResult): readonly string[] {
  const resends = new Set<string>();
  for (const entry of entries) {
    const intent = entry.type === 'call.intended' ? entry.data.intent : undefined;
    if (intent?.onAmbiguous === 'resend') resends.add(intent.clientOrderId);
  }
  const open = new Map<string, Sent>();
  const problems: string[] = [];
  for (const sent of venue.sent) {
    const id = sent.params['client_order_id'];
    if (sent.name !== 'POST /orders' || id === undefined) continue;
    const before = open.get(id);
    if (before !== undefined && !resends.has(id))
      problems.push(
        `order ${id} was sent as request ${before.number}, which may have placed it, and again as request ${sent.number}`,
      );
    if (mayHavePlaced(sent)) open.set(id, sent);
  }
  return problems;
}

/** Whether a POST may have created an order: any reply except a rejection. */
function mayHavePlaced({ reply }: Sent): boolean {
  if (reply === undefined) return true;
  if (reply.kind === 'failure') return reply.sent;
  return reply.status >= 500 || !/"success":false/.test(reply.body);
}

/** At the end the run knows the state of every open order of its own, or has halted and says so. */
function findUnaccounted({ entries, report, venue }: CaseResult): readonly string[] {
  const tracker = new OrderTracker({ absenceHorizonMs: SIMULATED_PROFILE.ambiguityWindowMs });
  for (const entry of entries) tracker.apply(entry);
  const problems: string[] = [];
  if (report.outcome === 'halted') return problems;
  for (const { id, client_order_id: clientId, status } of venue.listOpenOrders()) {
    const own = tracker.get(clientId) ?? tracker.byId(id);
    const posted = venue.sent.some(({ params }) => clientId !== '' && params['client_order_id'] === clientId);
    if (own === undefined && posted)
      problems.push(`order ${clientId} is open at the venue (${status}) and missing from the journal`);
    if (own !== undefined && isTerminal(own.snapshot.state))
      problems.push(
        `order ${id} is open at the venue (${status}), but the run, which ${report.outcome}, records it as ${own.snapshot.state}`,
      );
  }
  for (const order of tracker.orders()) {
    const { state } = order.snapshot;
    if (isWorking(state) && isInDoubt(state))
      problems.push(
        `order ${order.intent.clientOrderId} is ${state}, and the run ${report.outcome} instead of halting`,
      );
  }
  return problems;
}
