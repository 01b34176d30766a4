/**
 * Holds a run, and each runbook that it calls, to what it declares to leave of what it opened (docs/language.md, What a run
 * leaves). The figures come from venue/position; this file asks at the right time, journals the answer, and makes the error.
 */
import type { DataOf } from '../journal/entry.ts';
import type { TrackedOrder } from '../journal/orders.ts';
import type { CheckedRunbook } from '../runbook/checked.ts';
import { describeBeyond, findBeyond, findLeft, hidesTrigger, type SwitchCancels } from '../venue/position/residual.ts';
import type { RunContext } from './context.ts';
import { Cancellation, StepFailure } from './interruption.ts';
import { LAST_LOOK_WITHIN_MS, type LookRequest } from './readings/last-look.ts';
import { listWorkingOrders } from './readings/parts.ts';
import { sleepUntil } from './waiting.ts';

/** A runbook under execution, and the orders that count as its own: those of steps whose path begins with `prefix`. */
interface Held {
  readonly runbook: CheckedRunbook;
  readonly prefix: string;
}

/** How a run looks at what it leaves, by default as a whole and behind its steps. */
interface Look extends Partial<LookRequest> {
  /** Of a called runbook its own orders alone, because what other branches know of theirs must not change meanwhile. */
  readonly prefix?: string;
}

/**
 * Reads what shows what the run has opened and which stops still cover it: the orders that rest, those that ended short and their
 * fills, and the price of the market where records hide a trigger. It ends with the scope of a call. Where another process takes the run
 * up meanwhile, all of it once more: what was read before may have changed since.
 */
export async function readUnseen(run: RunContext, look: Look): Promise<readonly TrackedOrder[]> {
  for (;;) {
    const resumes = run.countResumes();
    const unseen = await readOnce(run, look);
    if (run.countResumes() === resumes) return unseen;
  }
}

async function readOnce(
  run: RunContext,
  { prefix = '', step = 'settle', cancel = new Cancellation(), patienceMs = 0 }: Look,
): Promise<readonly TrackedOrder[]> {
  const { orderManager, feeds, positions } = run;
  const isHeld = (order: TrackedOrder) => order.step.startsWith(prefix);
  const unseen = await orderManager.readUnseen(isHeld, { step, cancel, patienceMs });
  const hiding = orderManager.listWorking().filter((order) => isHeld(order) && hidesTrigger(order));
  for (const market of new Set(hiding.map(({ intent }) => intent.market)))
    if (!positions.getHeld(market).isZero()) await feeds.readMarketPrice(market, step);
  return unseen;
}

/**
 * The same of a run that would end well, which repeats it as long as fills may lag: an end that no answer has shown proves nothing. Throws
 * StepFailure `unprotected_position` where none comes, unless it may leave anything.
 */
export async function readAllUnseen(
  run: RunContext,
  { leaves }: Pick<CheckedRunbook, 'leaves'>,
  look: Look,
): Promise<void> {
  const { clock, heartbeat, setup } = run;
  const { cancel = new Cancellation() } = look;
  const windowMs = leaves.position === 'open' ? 0 : setup.fillsWindowMs;
  // Readings that fail are no progress by themselves, and the switch would take what rests. The last of them may end later.
  const markWaiting = (until: number) => {
    if (windowMs > 0) heartbeat.markWaiting(`${look.step ?? 'settle'}#look`, until);
  };
  let until = clock.now() + windowMs;
  try {
    for (let resumes = run.countResumes(); ; ) {
      markWaiting(until + 2 * LAST_LOOK_WITHIN_MS);
      // Also the last look insists: one that asked about nothing would have found nothing unseen.
      const patienceMs = windowMs === 0 ? 0 : Math.max(1, until - clock.now());
      const [unseen] = await readUnseen(run, { ...look, patienceMs });
      if (unseen === undefined || leaves.position === 'open') return;
      if (run.countResumes() !== resumes) until = clock.now() + windowMs;
      resumes = run.countResumes();
      if (clock.now() >= until)
        throw new StepFailure(
          'unprotected_position',
          `no answer shows what filled of order ${unseen.intent.clientOrderId}, so it is not known what is left; look at the position at the venue`,
          look.step ?? '',
        );
      await sleepUntil(clock, Math.min(until, clock.now() + LAST_LOOK_WITHIN_MS), cancel);
    }
  } finally {
    // Also where it is cut off: what hangs later is not covered by it.
    markWaiting(clock.now());
  }
}

/**
 * Checks what the steps leave, before anything cleans up. Throws StepFailure `unprotected_position` of `step` where that is more
 * than declared: what only `finally` would close counts, because `finally` may fail.
 */
export function requireKept(run: RunContext, held: Held, step: string): void {
  const staysArmed = run.log.tracker.hasArmedSwitch && !run.heartbeat.disarmsAtExit;
  const found = judge(run, held, { when: 'steps', staysArmed });
  if (found.data.ok) return;
  run.log.append('run.residual', found.data, step);
  throw new StepFailure('unprotected_position', found.message, step);
}

/** What a run leaves at its end, for the journal; the sentence where it is more than declared. */
export function judgeEnd(run: RunContext): {
  readonly data: DataOf<'run.residual'>;
  readonly message: string;
} {
  const question = { when: 'end', staysArmed: run.log.tracker.hasArmedSwitch, killed: run.isKilled() } as const;
  const { data, message } = judge(run, { runbook: run.setup.runbook, prefix: '' }, question);
  const cancels = question.staysArmed ? findCancels(run) : undefined;
  return { data: { ...data, ...(cancels === undefined ? {} : { cancels }) }, message };
}

/** What the switch that stays armed will cancel of the run's orders. */
function findCancels({ log, heartbeat }: RunContext): SwitchCancels | undefined {
  const at = heartbeat.firesAt;
  const orders = listWorkingOrders(log).map(({ intent: { clientOrderId, market, type, side }, snapshot }) => {
    const { venueId } = snapshot.context;
    return { clientOrderId, ...(venueId === undefined ? {} : { orderId: venueId }), market, side, type };
  });
  return at === undefined || orders.length === 0 ? undefined : { at, orders };
}

function judge(
  run: RunContext,
  { runbook, prefix }: Held,
  question: Parameters<typeof findLeft>[1],
): { readonly data: DataOf<'run.residual'>; readonly message: string } {
  const { tracker } = run.log;
  const own = tracker.orders().filter(({ step }) => step.startsWith(prefix));
  const { position } = runbook.leaves;
  const judged = { ...question, getPrice: (market: string) => run.feeds.getMarketPrice(market) };
  const left = findLeft(own, judged, (market, orders) => tracker.getOpened(market).listBeside(orders));
  const beyond = findBeyond(left, position);
  return {
    data: { when: question.when, leaves: position, ok: beyond.length === 0, left },
    message: beyond.length === 0 ? '' : describeBeyond(position, beyond),
  };
}
