/** Computes the state of the deadman switch behind heartbeats that are not played: from the newest heartbeat and the newest reading. */
import type { PassedRounds } from '../../journal/rounds/passed-rounds.ts';
import { type DeadmanState, stepDeadman } from '../../venue/deadman.ts';
import type { DeadmanRecord } from '../../venue/records.ts';

export interface PassedSwitch {
  readonly state: DeadmanState;
  /** When the newest reading was answered, epoch ms; undefined where there was none. */
  readonly readAt: number | undefined;
}

/** Undefined where the switch is not, or does not stay, armed as it was. */
export function foldPassedHeartbeats(
  before: DeadmanState,
  { entries }: PassedRounds['heartbeats'],
): PassedSwitch | undefined {
  if (before.inFlight > 0) return undefined;
  if (entries.length === 0) return { state: before, readAt: undefined };
  if (before.status !== 'armed') return undefined;
  const asked = new Map<string, { readonly at: number; readonly params: { readonly [name: string]: unknown } }>();
  let state = before;
  let readAt: number | undefined;
  const alarms: unknown[] = [];
  const step = (event: Parameters<typeof stepDeadman>[1]) => {
    const stepped = stepDeadman(state, event);
    state = stepped.state;
    alarms.push(...stepped.alarms);
  };
  for (const { type, at, data } of entries) {
    if (type === 'call.intended') {
      asked.set(data.call, { at, params: data.params });
      // The heartbeats before it have kept the switch armed.
      state = { ...state, lastQualifyingSentAt: at };
      if (data.endpoint !== 'POST /cancel_all_after') continue;
      step({
        type: 'ARM_SENT',
        at,
        market: String(data.params['market_id']),
        timeoutMs: Number(data.params['timeout']),
      });
    } else if (type === 'call.settled') {
      const question = asked.get(data.call);
      if (question === undefined) continue;
      const { sentAt = question.at } = data;
      const record = (data.result ?? null) as DeadmanRecord | null;
      const { timeout } = question.params;
      if (timeout !== undefined) step({ type: 'ARM_ANSWERED', at, sentAt, timeoutMs: Number(timeout), echo: record });
      else {
        step({ type: 'READ', at, sentAt, record });
        readAt = at;
      }
    }
  }
  return alarms.length === 0 && state.status === 'armed' && state.inFlight === 0 ? { state, readAt } : undefined;
}
