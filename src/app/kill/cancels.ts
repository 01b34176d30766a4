/**
 * Cancels every order of one account for a kill, with whatever of the account can be opened, until none is left: reports a venue that
 * does not answer, and stops where the kill switch was released meanwhile.
 */
import { type Clock, type Metronome, pause } from '../../base/clock.ts';
import { formatCount, formatWholeSeconds } from '../../base/format.ts';
import { makePrintable } from '../../base/printable.ts';
import { KILL_SWEEP, sweep } from '../../engine/sweep.ts';
import { describeRow } from '../../gateway/listed-rows.ts';
import type { Shared } from '../../journal/shared/shared.ts';
import { getEndpoint } from '../../venue/catalogue.ts';
import type { Profile } from '../../venue/profile/profile.ts';
import { type Account, openAccount } from '../account/account.ts';
import { type RequestingAccount, sendOnce } from '../account/one-request.ts';
import type { AppContext } from '../context.ts';
import { EXIT, UserError } from '../errors.ts';
import { toSystemError } from '../system-errors.ts';

/** Reference to the handbook, for the messages. */
export const READ_ON = 'docs/live.md, Stop everything now, says more';

/** Interval of the messages about a venue that does not answer, ms. */
const SILENCE_REPORT_MS = 10_000;

/** How long the first cancel waits for a store to take the kill, ms: one that does not answer must not keep it from the venue. */
export const ENGAGED_WITHIN_MS = 500;

/**
 * Where the account of a kill keeps its leases and tokens: where its store could not be given the order, in the state folder's own; in
 * `nothing` while the store does not answer.
 */
export type KeptBy = 'its store' | 'the state folder' | 'nothing';

/**
 * Opens an account for a kill, and closes it behind `work`; an account that cannot be opened must not look like "nothing to do". If
 * its place cannot be used, no store is, so that the venue still gets the requests.
 */
export async function withKilled<T>(
  profile: Profile,
  kept: KeptBy,
  context: AppContext,
  work: (account: Account) => Promise<T>,
): Promise<T> {
  const { store: _away, ...withoutStore } = profile;
  // A cancel needs no webhook: one that cannot be used must not keep it back.
  const alone = { ...withoutStore, notify: {}, anchors: { ...profile.anchors, copies: {} } };
  const ways = [
    ...(kept === 'nothing' ? [] : [() => openAccount(kept === 'its store' ? profile : withoutStore, context)]),
    () => openAccount(alone, context, 'nothing'),
  ];
  let refused: UserError | undefined;
  for (const open of ways) {
    let account: Account;
    try {
      account = await open();
    } catch (error) {
      refused = toUserError(error);
      continue;
    }
    return work(account).finally(() => account.close());
  }
  throw new UserError(
    `${refused?.message ?? ''}\n${kept === 'its store' ? 'the kill switch is engaged, and ' : ''}NOTHING WAS CANCELLED at ${profile.baseUrl}: fix this and kill again, or cancel at the venue. ${READ_ON}`,
    EXIT.halted,
    'not_cancelled',
  );
}

/** Returns how many orders could still fill when nothing changed any more. `onLeft`: gets how many there are, as they are read. */
export async function cancelEverything(
  account: RequestingAccount & { readonly key: string; readonly shared: Pick<Shared, 'killSwitch'> },
  { voice }: Pick<AppContext, 'voice'>,
  onLeft: (count: number) => void,
): Promise<number> {
  const { clock } = account;
  const silence = new SilenceReport(clock, (text) => voice.note(text));
  let wasEngaged = false;
  // This process may be stopped for any time, and what was placed since a release is not its to cancel. A store that does not answer
  // delays no cancel.
  const askKill = async () => {
    const late = pause(clock, ENGAGED_WITHIN_MS).then(() => 'late' as const);
    const found = await Promise.race([account.shared.killSwitch.engaged(account.key), late]);
    if (found === undefined && wasEngaged) throw makeReleasedError();
    wasEngaged ||= found !== undefined && found !== 'late' && found.unread !== true;
  };
  const { left, unread } = await sweep(
    {
      async ask(name, params) {
        const isCancel = getEndpoint(name).method !== 'GET';
        // Readings leave tokens to the next cancels, and to the heartbeats of runs that are ending.
        const klass = isCancel ? 'protect' : 'resolve';
        // One row that cannot be read must not hide whether any other is left.
        const how = { ask: isCancel ? askKill : undefined, rows: 'each' } as const;
        const asked = await sendOnce(account, name, params, klass, how);
        if (asked.kind === 'confirmed') {
          silence.noteProgress(undefined);
          const { unread } = asked;
          return { ...asked, ...(unread === undefined ? {} : { unread: unread.map(describeRow) }) };
        }
        const why = asked.kind === 'refused' ? asked.text : asked.why;
        silence.noteProgress(why);
        return { kind: 'no answer', why };
      },
      now: () => clock.now(),
      monotonic: () => clock.monotonic(),
      pause: (ms) => pause(clock, ms),
      progress(count) {
        onLeft(count);
        voice.progress(`${formatCount(count, 'order')} open`);
      },
    },
    { ...KILL_SWEEP, quietMs: computeQuiet(account.profile) },
  ).finally(() => silence.end());
  // What a run has placed since a release is not in what was read, and nothing is engaged that would keep it back.
  await askKill();
  if (left !== undefined) return left.length + unread.length;
  throw new UserError(
    `the venue did not answer; open orders are not known. The kill switch stays engaged. Cancel in the venue's own interface, or run \`runbook kill --profile FILE\` again once it answers. ${READ_ON}`,
    EXIT.halted,
    'unknown_outcome',
  );
}

function makeReleasedError(): UserError {
  return new UserError(
    'a person has released the kill switch since: nothing more is cancelled, and runs may place orders again. Look at the open orders, and kill again where that is wanted',
    EXIT.halted,
    'released',
  );
}

/**
 * How long no order must have been left before the answer is "nothing is left", ms. A write that passed the last gate just before
 * the switch was engaged may still arrive until its deadline: the longest time of a request, or the end of its signature.
 */
function computeQuiet({ auth, gateStaleMs }: Profile): number {
  const deadlineMs = auth.mode === 'api_key' ? Math.max(KILL_SWEEP.quietMs, auth.signatureLifeMs) : KILL_SWEEP.quietMs;
  return deadlineMs + gateStaleMs;
}

/** Reports at intervals for how long the venue has not answered, so that the person knows that the venue's own interface is quicker. */
class SilenceReport {
  private readonly clock: Clock & Metronome;
  private readonly tell: (text: string) => void;
  private since: number;
  private why = 'no answer yet';
  private timer: ReturnType<Metronome['after']>;

  constructor(clock: Clock & Metronome, tell: (text: string) => void) {
    this.clock = clock;
    this.tell = tell;
    this.since = clock.monotonic();
    this.timer = this.scheduleReport();
  }

  noteProgress(problem: string | undefined): void {
    if (problem === undefined) this.since = this.clock.monotonic();
    this.why = problem ?? 'no answer yet';
  }

  end(): void {
    this.timer.cancel();
  }

  private scheduleReport(): ReturnType<Metronome['after']> {
    return this.clock.after(SILENCE_REPORT_MS, () => {
      const forMs = this.clock.monotonic() - this.since;
      if (forMs >= SILENCE_REPORT_MS)
        this.tell(
          `the venue has not answered for ${formatWholeSeconds(forMs)} (${makePrintable(this.why, 200)}); trying for two minutes without progress. Its own interface may be quicker`,
        );
      this.timer = this.scheduleReport();
    });
  }
}

/** The error as shown to the user; internal errors are rethrown. */
export function toUserError(error: unknown): UserError {
  const trouble = toSystemError(error);
  if (trouble === undefined) throw error;
  return trouble;
}
