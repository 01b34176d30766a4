/**
 * Before a live run does anything: what is open on the account, and whose it is. Orders that nobody here placed are shown as
 * external and left alone; orders that carry our prefix and that this run does not know belong to another run, or to a
 * journal that was lost.
 */
import { CLIENT_ORDER_PREFIX } from '../venue/identity.ts';
import type { RunContext } from './context.ts';
import { failureOfOutcome } from './failure.ts';

const STEP = 'reconcile';
/** How far back open orders are looked for; without a start the venue reads its whole history, ten times slower. */
const LOOK_BACK_MS = 90 * 86_400_000;
const PAGE_ROWS = 1000;

/** Reads the open orders in one page and writes down what they are. Throws StepFailure when the venue does not answer. */
export async function reconcile({
  venue,
  clock,
  log,
  callId,
}: Pick<RunContext, 'venue' | 'clock' | 'log' | 'callId'>): Promise<void> {
  const outcome = await venue.call({
    id: callId(STEP),
    step: STEP,
    endpoint: 'GET /orders',
    params: { status: 'open', start_time: (clock.now() - LOOK_BACK_MS) * 1000, p_limit: PAGE_ROWS },
    class: 'reconcile',
    purpose: 'start-up',
  });
  if (outcome.kind !== 'confirmed') throw failureOfOutcome(outcome, STEP);
  const unknown = outcome.result.filter(
    (record) => log.book.byId(record.id) === undefined && log.book.get(record.client_order_id) === undefined,
  );
  const named = (ours: boolean) =>
    unknown
      .filter((record) => new RegExp(`^${CLIENT_ORDER_PREFIX}[a-z2-7]{20}(-|$)`).test(record.client_order_id) === ours)
      .map(({ id, client_order_id, market_id, side, size, price }) => ({
        id,
        client_order_id,
        market_id,
        side,
        size,
        price,
      }));
  log.append(
    'account.reconciled',
    { open: outcome.result.length, external: named(false), ofOtherRuns: named(true) },
    STEP,
  );
}
