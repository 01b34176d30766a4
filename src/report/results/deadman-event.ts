/**
 * Says what each event of the deadman switch in a run's report means, and what to do about it; `runbook explain` and the reference
 * print it.
 */
import type { DataOf } from '../../journal/entry.ts';
import type { AlarmRow } from './alarm-meaning.ts';

export const DEADMAN_EVENT_ROWS = {
  armed: {
    summary:
      'the venue holds the switch: it cancels every open order of the account, stops too, unless it is renewed in time',
    example: 'a runbook with `deadman` begins',
    now: 'nothing; `audit summary` says after how much silence it fires, and how near it came',
  },
  renewed: {
    summary: 'the venue answered a request that renews the switch, and counts from the sending of that request again',
    example: 'a heartbeat while a run waits for a fill',
    now: 'nothing: the run renews it as long as it makes progress',
  },
  disarmed: {
    summary: 'the switch is gone: a reading sent behind the request that removes it found none',
    example: 'a run ends, or `release_after` names a stop that is live',
    now: 'look at what the run left working: from then on nothing cancels it by itself',
  },
  assumed_fired: {
    summary:
      'the time of the switch passed without an answered renewal: the venue must have cancelled every open order of the account, stops too',
    example: 'the process was stopped for longer than the timeout of the switch',
    now: 'look at the position at the venue, and place a stop or close it there; `audit orders RUN` shows which orders it took away',
  },
} as const satisfies Record<DataOf<'deadman.moved'>['event'], AlarmRow & { readonly summary: string }>;
