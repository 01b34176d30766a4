/**
 * Answers the six questions of a reviewer who has never seen the runbook, each with its reasons. `audit summary`, the
 * review page and the HTML report show these answers word for word.
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
  /** The result of verifying the journal. */
  readonly verdict?: VerdictSoFar | undefined;
  /** What happened to the kill switch of the run's account during the run. */
  readonly kills?: KillsMeanwhile | undefined;
  /** Epoch ms. Without it, a run that has not ended is described as of its last entry. */
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
