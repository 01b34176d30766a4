/**
 * Answers the six questions of a reviewer who has never seen the runbook, each with its reasons. `audit summary`, the
 * review page and the HTML report show these answers word for word.
 */

import type { RunPageDocument } from '../folds/run-facts.ts';
import { answerAllowed, type KillsMeanwhile } from './allowed.ts';
import type { Answer } from './answer.ts';
import { answerDeadman } from './deadman.ts';
import { answerMissing, type VerdictSoFar } from './missing.ts';
import { answerOrders } from './orders.ts';
import { answerTokens } from './tokens.ts';
import { answerWho } from './who.ts';

export interface ReviewFacts {
  /** The result of verifying the journal. */
  readonly verdict?: VerdictSoFar | undefined;
  /** What happened to the kill switch of the run's account during the run. */
  readonly kills?: KillsMeanwhile | undefined;
  /** Epoch ms. Without it, a run that has not ended is described as of its last entry. */
  readonly now?: number;
}

export function answerReviewer(
  run: RunPageDocument,
  { verdict, kills = [], now }: ReviewFacts = {},
): readonly Answer[] {
  return [
    answerWho(run, now),
    answerAllowed(run, kills),
    answerOrders(run, now),
    answerTokens(run),
    answerDeadman(run, now),
    answerMissing(run, verdict, now),
  ];
}
