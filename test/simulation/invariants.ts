/**
 * The invariants of ARCHITECTURE.md as questions to what happened: what the journals say, what left the processes, and
 * the venue's own books. None of them believes the engine: where the engine's account and the books disagree, the books
 * are right. Each gives a sentence for every breach. Which is asked of what, and what is tested elsewhere, is a table in
 * docs/fault-matrix.md.
 */
import { findDeparture } from '../engine/chart-oracle.ts';
import { ACCOUNT_INVARIANTS } from './account-invariants.ts';
import { COMPLETION_INVARIANTS } from './completion-invariants.ts';
import { Facts } from './facts.ts';
import { ORDER_INVARIANTS } from './order-invariants.ts';
import type { Protocol } from './protocol.ts';
import { replayed } from './replay.ts';
import type { Happened } from './world.ts';

export interface Invariant {
  readonly name: string;
  /** What must hold in every simulation. */
  readonly asks: string;
  /** `books`: of the venue; `wire`: what left the processes, and when; `journal`: what is on the disk. */
  readonly against: readonly ('books' | 'wire' | 'journal')[];
  readonly breaches: (facts: Facts) => Iterable<string>;
}

export const INVARIANTS = { ...ORDER_INVARIANTS, ...ACCOUNT_INVARIANTS, ...COMPLETION_INVARIANTS } as const;
export type InvariantName = keyof typeof INVARIANTS;

export interface Breach {
  readonly invariant: InvariantName | 'ours';
  readonly what: string;
}

/** Every breach. `ours`: the engine threw, a run could not be resumed, or is no path through the chart of its runbook. */
export async function breachesOf(happened: Happened, protocol: Protocol = {}): Promise<readonly Breach[]> {
  const facts = new Facts(happened);
  const breaches: Breach[] = [];
  const { broken } = happened;
  if (broken !== undefined) breaches.push({ invariant: 'ours', what: broken });
  for (const [invariant, { breaches: check }] of Object.entries(INVARIANTS) as [InvariantName, Invariant][]) {
    for (const what of check(facts)) breaches.push({ invariant, what });
  }
  for (const run of happened.runs) {
    if (happened.broken !== undefined) break;
    if (run.result === undefined) {
      breaches.push({ invariant: 'ours', what: `${run.name} has no end` });
      continue;
    }
    for (const { seq, ...entry } of run.entries)
      if (entry.type === 'call.settled' && entry.data.message?.startsWith('an internal error') === true)
        breaches.push({ invariant: 'ours', what: `${run.name}, entry ${seq}: ${entry.data.message}` });
    // A chart shows what a runbook can do; a mistake of ours can end a run anywhere.
    const isAsked = protocol.engine === undefined;
    const departure = isAsked ? findDeparture(run.shape.runbook, run.entries) : undefined;
    if (departure !== undefined)
      breaches.push({ invariant: 'ours', what: `${run.name} leaves the chart of its runbook: ${departure}` });
    const divergence = await replayed(run, happened.markets, protocol);
    if (divergence !== undefined)
      breaches.push({ invariant: 'I17', what: `a replay of ${run.name} diverges: ${divergence}` });
  }
  return breaches;
}
