/**
 * Lists the open orders of the account before a live run does anything, and journals whose they are. Orders without our prefix
 * are external and left alone. Orders with our prefix that this run does not know belong to another run or to a lost journal.
 */
import { isOwnClientOrderId } from '../venue/order/identity.ts';
import { REPEAT_DELAYS_MS } from '../venue/order/polling.ts';
import { makeAccountOrderParams } from '../venue/order/requests.ts';
import type { UnreadOrder } from '../venue/port.ts';
import type { OrderRecord } from '../venue/records.ts';
import type { RunContext } from './context.ts';
import { toFailure } from './failure.ts';
import { type Cancellation, StepFailure } from './interruption.ts';
import { sleepUntil } from './waiting.ts';

const STEP = 'reconcile';
/** How far back open orders are listed, ms. Without a start the venue reads its whole history, ten times slower. */
const LOOK_BACK_MS = 90 * 86_400_000;

type ReconciliationParts = Pick<RunContext, 'venue' | 'clock' | 'log' | 'callId'>;

/** Reads the open orders in one page and journals them. Throws StepFailure when the venue does not answer. */
export async function reconcile(parts: ReconciliationParts, cancel: Cancellation): Promise<void> {
  const { log } = parts;
  const { open, unread } = await readOpenOrders(parts, cancel);
  const unknown = open.filter(
    (record) => log.tracker.byId(record.id) === undefined && log.tracker.get(record.client_order_id) === undefined,
  );
  const listUnknown = (ours: boolean) =>
    unknown
      .filter((record) => isOwnClientOrderId(record.client_order_id) === ours)
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
    {
      open: open.length + unread.length,
      external: listUnknown(false),
      ofOtherRuns: listUnknown(true),
      ...(unread.length === 0 ? {} : { unread: unread.map(({ why }) => why) }),
    },
    STEP,
  );
}

/** Reads one page of open orders; repeated while no answer comes or the tokens are used up. */
async function readOpenOrders(
  { venue, clock, callId }: ReconciliationParts,
  cancel: Cancellation,
): Promise<{ readonly open: readonly OrderRecord[]; readonly unread: readonly UnreadOrder[] }> {
  for (let tries = 0; ; tries += 1) {
    cancel.check();
    const outcome = await venue.call({
      id: callId(STEP),
      step: STEP,
      endpoint: 'GET /orders',
      params: makeAccountOrderParams<never>((clock.now() - LOOK_BACK_MS) * 1000, { status: 'open' }),
      class: 'reconcile',
      rows: 'each',
      purpose: 'start-up',
    });
    if (outcome.kind === 'confirmed') return { open: outcome.result, unread: outcome.unread ?? [] };
    const failure = toFailure(outcome, STEP);
    const delay = REPEAT_DELAYS_MS[tries];
    const again = failure instanceof StepFailure && ['transport', 'rate_limited'].includes(failure.kind);
    if (!(failure instanceof StepFailure)) throw failure;
    if (!again || delay === undefined) {
      const what = `the open orders of the account cannot be read, and nothing was placed (${failure.message})`;
      throw new StepFailure(failure.kind, `${what}: \`runbook doctor\` says whether the venue answers`, STEP);
    }
    await sleepUntil(clock, clock.now() + Math.max(delay, failure.retryAfterMs ?? 0), cancel);
  }
}
