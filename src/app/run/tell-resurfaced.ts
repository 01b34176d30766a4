/**
 * When a live run has begun: looks for orders of earlier runs that the venue shows otherwise than their journals, writes them
 * into the run's journal, and tells people once. It holds nothing up: tokens of the lowest class, or none.
 */
import { printable } from '../../base/printable.ts';
import type { DataOf, ResurfacedOrder } from '../../journal/entry.ts';
import type { Account } from '../account/account.ts';
import { noticesOf, OPERATORS } from '../account/notifications.ts';
import { ask } from '../account/one-request.ts';
import type { Voice } from '../voice.ts';
import { type AskedOrders, RECALL_ROWS, type Recollection } from './resurfaced-orders.ts';

/** How long a page waits for tokens; the next run asks again. */
const TOKENS_WITHIN_MS = 10_000;

export interface Recalling {
  readonly account: Account;
  readonly voice: Voice;
  readonly recollection: Recollection;
}

/** `write`: called in a turn of the clock, where something was asked or found; a run that is over has no room for it. */
export async function tellResurfaced(
  { account, voice, recollection }: Recalling,
  run: string,
  ofOtherRuns: DataOf<'account.reconciled'>['ofOtherRuns'],
  write: (recalled: DataOf<'account.recalled'>) => void,
): Promise<void> {
  const { clock, profile } = account;
  try {
    const recalled = await recollection.recall({
      run,
      now: clock.now(),
      ofOtherRuns,
      orders: (startTime, page) => askedOrders(account, startTime, page),
      breathe: () => new Promise<void>((resolve) => void clock.after(0, resolve)),
    });
    if (recalled === undefined) return;
    clock.arrive(() => write(recalled));
    const { inDoubt, requests } = recalled;
    if (inDoubt > 0 && requests.at(-1)?.success !== true)
      voice.complain(
        `what became of ${inDoubt} orders of earlier runs could not be asked, or was not answered; the next run asks again`,
      );
    for (const order of recalled.resurfaced) {
      if (!recollection.isNews(order)) continue;
      const text = resurfacedText(order);
      voice.complain(text);
      if (Object.hasOwn(profile.notify, OPERATORS)) noticesOf(account, voice).send(OPERATORS, text);
    }
  } catch (error) {
    // Whatever it is: a look that nobody waits for must not end a run that has orders.
    const why = error instanceof Error ? error.message : String(error);
    voice.complain(`the journals of earlier runs could not be read: ${printable(why, 300)}`);
  }
}

async function askedOrders(account: Account, startTime: number, page: number): Promise<AskedOrders> {
  const { clock, budget } = account;
  const params = { start_time: startTime, p_limit: RECALL_ROWS, p_page: page, p_order: 'ASC' } as const;
  const [sentAt, tokens] = [clock.now(), budget.weightOf('GET /orders')];
  const asked = await ask(account, 'GET /orders', params, 'read', TOKENS_WITHIN_MS);
  const success = asked.kind === 'confirmed';
  return {
    request:
      asked.kind === 'unanswered'
        ? asked.sent
          ? { sentAt, tokens, success }
          : undefined
        : { sentAt, tokens, status: asked.status, success },
    records: success ? asked.result : undefined,
  };
}

function resurfacedText({ clientOrderId, orderId, run, recorded, status, filled }: ResurfacedOrder): string {
  const shownRun = printable(run, 100);
  const fills = filled === undefined ? '' : `, with ${printable(filled, 60)} filled`;
  return `Resurfaced: order ${printable(orderId, 60)} (client order id ${printable(clientOrderId, 60)}) is ${printable(status, 40)} at the venue${fills}, although the journal of run ${shownRun} leaves it ${recorded}: nobody watches it. \`runbook audit show ${shownRun}\` tells its story; look at the position, and cancel at the venue what should not rest, or engage \`runbook kill\``;
}
