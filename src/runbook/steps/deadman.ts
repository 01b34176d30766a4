/** The rows of the steps about the deadman switch. */
import { SENDS_UNANSWERED } from '../../venue/order/polling.ts';
import type { StepName, StepOf } from '../checked.ts';
import { DEADMAN } from '../functions/records.ts';
import { DURATION, fields, MARKET, need } from '../shapes.ts';
import { call, READ, READING, type StepRow, WRITE } from './row.ts';

type Args<V extends StepName> = StepOf<V>['args'];

export const DEADMAN_STEPS = {
  arm_deadman: {
    group: 'venue',
    summary: 'Arms the deadman switch once, without keep-alive; prefer the deadman block.',
    takes: fields({
      market: need(MARKET, 'market id'),
      timeout: need(DURATION, 'time without an order request until all orders are cancelled'),
    }),
    calls: [
      call('arm_deadman', 'POST /cancel_all_after', {
        sends: () => SENDS_UNANSWERED,
        class: 'protect',
        params: (args, values) => ({ market_id: values.text(args.market), timeout: values.duration(args.timeout) }),
      }),
    ],
    retry: 'write',
    risk: 'none',
    yields: DEADMAN,
    yieldsDoc: 'the deadman switch record',
    modifiers: WRITE,
    say: (args: Args<'arm_deadman'>) => `${args.timeout.text} in ${args.market.text}`,
  },
  read_deadman: {
    ...READING,
    summary: 'Reads the deadman switch.',
    takes: fields({ market: need(MARKET, 'market id') }),
    calls: [
      call('read_deadman', 'GET /cancel_all_after', {
        class: 'read',
        params: (args, values) => ({ market_id: values.text(args.market) }),
      }),
    ],
    yields: { kind: 'optional', of: DEADMAN },
    yieldsDoc: 'the deadman switch record; absent when the switch is not armed',
    say: (args: Args<'read_deadman'>) => args.market.text,
  },
  disarm_deadman: {
    group: 'venue',
    summary: 'Disarms the deadman switch.',
    takes: fields({ market: need(MARKET, 'market id') }),
    calls: [
      call('disarm_deadman', 'DELETE /cancel_all_after', {
        sends: () => SENDS_UNANSWERED,
        class: 'protect',
        params: (args, values) => ({ market_id: values.text(args.market) }),
      }),
    ],
    retry: 'write',
    risk: 'none',
    yields: 'nothing',
    yieldsDoc: 'nothing',
    modifiers: READ,
    say: (args: Args<'disarm_deadman'>) => args.market.text,
  },
} as const satisfies Partial<Record<StepName, StepRow>>;
