/**
 * The six questions of a reviewer who has never seen the runbook, each with its answer and what it rests on: what
 * `audit summary` prints, and the head of the review page and of the self-contained report. The words are made here alone.
 */

import type { RunPageDocument } from '../folds/run-facts.ts';
import { type KillsMeanwhile, whatWasAllowed } from './allowed.ts';
import type { Answer } from './answer.ts';
import { deadmanSwitch } from './deadman.ts';
import { type VerdictSoFar, whatIsMissing } from './missing.ts';
import { whatBecameOfOrders } from './orders.ts';
import { howManyTokens } from './tokens.ts';
import { whoStarted } from './who.ts';

export interface Known {
  /** What verifying the journal found. */
  readonly verdict?: VerdictSoFar | undefined;
  /** What was done to the kill switch of the run's account while it ran. */
  readonly kills?: KillsMeanwhile | undefined;
  /** Epoch ms. Without it a run that has not ended is told as it was at its last entry. */
  readonly now?: number;
}

export function reviewerAnswers(run: RunPageDocument, { verdict, kills = [], now }: Known = {}): readonly Answer[] {
  return [
    whoStarted(run, now),
    whatWasAllowed(run, kills),
    whatBecameOfOrders(run, now),
    howManyTokens(run),
    deadmanSwitch(run, now),
    whatIsMissing(run, verdict, now),
  ];
}
