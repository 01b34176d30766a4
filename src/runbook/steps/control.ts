/** The rows of the steps that control the walk: they reach the venue only through the steps inside them. */
import { countPolls, POLL_MS } from '../../venue/order/polling.ts';
import { makeMarketParams, type OrderRef } from '../../venue/order/requests.ts';
import { NOTICE_SEVERITIES } from '../../venue/profile/setting-form.ts';
import type { StepName, StepOf } from '../checked.ts';
import {
  ANYTHING,
  CONDITION,
  DURATION,
  FREE_NAME_PATTERN,
  fields,
  form,
  INTEGER,
  list,
  may,
  NAME_SHAPE,
  need,
  type Shape,
  STEPS_SHAPE,
  TEXT,
  TIME,
  word,
} from '../shapes.ts';
import { completeOrder, pollOrder, readByOwnId, readOrderFills } from './confirming.ts';
import { LIST, ORDER_VALUE, ORDERS } from './orders.ts';
import { BLOCK, type Counts, call, EVERY_STEP, PLAIN, type StepRow, type Values } from './row.ts';

type Args<V extends StepName> = StepOf<V>['args'];

const CHANNEL: Shape = {
  kind: 'text',
  pattern: FREE_NAME_PATTERN,
  accepts: 'a name of letters, digits, dots, dashes and underscores',
};
const onFail = may(
  word('cancel_others', 'let_others_finish'),
  'what happens to the other branches when one fails',
  'cancel_others',
);
const body = need(STEPS_SHAPE, 'steps');

/** Pause between two looks at the condition of `wait_for`, where its author gives none, ms. */
export const LOOK_EVERY_MS = 1000;

/** Whether `wait_for` reads orders itself; its other forms read by a step of their own, or not at all. */
const awaitsOrders = ({ args }: StepOf<'wait_for'>) => args.kind === 'order' || args.kind === 'any';

/** Several orders of a market are read by one page. */
const awaitsSeveral = ({ args }: StepOf<'wait_for'>) => args.kind === 'any';

function nameAwaited<U>(args: Args<'wait_for'>, values: Values<U>): OrderRef<U> {
  if (args.kind === 'order') return values.order(args.order);
  return values.each(undefined, args.kind === 'any' ? args.any : undefined);
}

/** How many orders are awaited at most. */
function countAwaited({ args }: StepOf<'wait_for'>, counts: Counts): number {
  return args.kind === 'any' ? (counts.items(args.any) ?? Number.POSITIVE_INFINITY) : 1;
}

const WAIT_READS = [
  pollOrder('wait_for', nameAwaited, ({ args }, counts) => counts.duration(args.within) ?? Number.POSITIVE_INFINITY, {
    applies: awaitsOrders,
    waits: () => true,
    times: (step, counts) => ({
      min: 0,
      // Each order may be in a market of its own.
      max: countAwaited(step, counts) * countPolls(counts.duration(step.args.within) ?? Number.POSITIVE_INFINITY),
      words: 'until it is there',
      when: 'it is not there yet',
    }),
  }),
  call('wait_for', 'GET /orders', {
    class: 'reconcile',
    applies: awaitsSeveral,
    params: (args, values) => makeMarketParams(nameAwaited(args, values).market, values.since()),
    // Counted with those of one order.
    times: () => ({ min: 0, max: 0 }),
    everyMs: POLL_MS,
    when: 'several orders of the market are awaited',
  }),
  readOrderFills('wait_for', nameAwaited, {
    applies: awaitsOrders,
    times: (step, counts) => ({ min: 0, max: countAwaited(step, counts) }),
  }),
];

/** What holds for a control step unless its row says otherwise. */
const CONTROL = {
  group: 'control',
  retry: 'none',
  risk: 'none',
  yields: 'nothing',
  yieldsDoc: 'nothing',
  modifiers: EVERY_STEP,
} as const;

export const CONTROL_STEPS = {
  let: {
    ...CONTROL,
    summary: 'Names values for the steps after it in the same block.',
    takes: { kind: 'names', of: ANYTHING },
    yieldsDoc: 'nothing; its names are visible to the steps after it in the same block',
    modifiers: PLAIN,
    say: (args: Args<'let'>) => args.names.map(({ name }) => name).join(', '),
  },
  set: {
    ...CONTROL,
    summary: 'Changes variables declared in vars.',
    takes: { kind: 'names', of: ANYTHING },
    modifiers: PLAIN,
    say: (args: Args<'set'>) => args.names.map(({ name }) => name).join(', '),
  },
  assert: {
    ...CONTROL,
    summary: 'Fails with kind assertion unless the condition is true.',
    takes: CONDITION,
    say: (args: Args<'assert'>) => args.condition.text,
  },
  wait: {
    ...CONTROL,
    summary: 'Waits for a length of time or until an instant.',
    takes: {
      kind: 'choice',
      scalar: DURATION,
      maps: [form('for', { for: need(DURATION, 'how long') }), form('until', { until: need(TIME, 'until when') })],
      accepts: 'a duration, {for: DURATION} or {until: TIME}',
    },
    say: (args: Args<'wait'>) => (args.kind === 'for' ? args.for.text : `until ${args.until.text}`),
  },
  wait_for: {
    ...CONTROL,
    summary:
      'Waits until an order, or one of several, has reached a state, or until a condition holds, of values as they are or of a read; fails with kind timeout.',
    takes: {
      kind: 'choice',
      maps: [
        form('order', {
          order: need(ORDER_VALUE, 'the order'),
          is: need(word('live', 'any_fill', 'filled', 'terminal'), 'the state it must have reached'),
          within: need(DURATION, 'how long to wait at most'),
        }),
        form('any', {
          any: need(ORDERS, 'the orders'),
          is: need(word('live', 'any_fill', 'filled', 'terminal'), 'the state that one of them must have reached'),
          within: need(DURATION, 'how long to wait at most'),
        }),
        form('read', {
          read: need({ kind: 'step' }, 'the reading step, with an id'),
          until: need(CONDITION, 'evaluated after each read'),
          every: need(DURATION, 'time between reads'),
          within: need(DURATION, 'how long to wait at most'),
        }),
        form('until', {
          until: need(CONDITION, 'evaluated at once, then after each pause; its feeds are read before'),
          every: may(DURATION, 'time between two evaluations', '1s'),
          within: need(DURATION, 'how long to wait at most'),
        }),
      ],
      accepts: '{order, is, within}, {any, is, within}, {until, within} or {read, until, every, within}',
    },
    confirms: WAIT_READS,
    otherwise: [
      readByOwnId('wait_for', nameAwaited, awaitsOrders),
      ...completeOrder('wait_for', nameAwaited, { applies: awaitsOrders, rounds: countAwaited }),
    ],
    risk: 'inner',
    yields: 'computed',
    yieldsDoc:
      'the order, or what the read yields; with `any` a record of `which`, the place in the list from 0 of the one that was there first, and `order`',
    say: (args: Args<'wait_for'>) =>
      args.kind === 'order'
        ? `${args.order.text} ${args.is} within ${args.within.text}`
        : args.kind === 'any'
          ? `any of ${args.any.text} ${args.is} within ${args.within.text}`
          : `${args.until.text} within ${args.within.text}`,
  },
  for_each: {
    ...CONTROL,
    summary: 'Runs its steps once for each item of a list, in the order of the list.',
    takes: fields({
      each: need(NAME_SHAPE, 'name of the item'),
      in: need(LIST, 'the list'),
      at: may(NAME_SHAPE, 'name of the index, from 0'),
      do: body,
      collect: may(
        { kind: 'names', of: ANYTHING },
        "values kept from each round; the step's id is then the list of them",
      ),
    }),
    risk: 'inner',
    yields: 'computed',
    yieldsDoc: 'the list of values that `collect` keeps from each round',
    say: (args: Args<'for_each'>) => `${args.each} in ${args.in.text}`,
  },
  repeat: {
    ...CONTROL,
    summary: 'Repeats its steps, at most `max` times or for at most `for`.',
    takes: fields(
      {
        every: may(DURATION, 'time from the start of one round to the start of the next'),
        for: may(DURATION, 'no round begins later than this after the start of the first'),
        max: may(INTEGER, 'most rounds'),
        while: may(CONDITION, 'evaluated before each round'),
        until: may(CONDITION, 'evaluated after each round'),
        do: body,
      },
      { atLeastOne: [['for', 'max']], atMostOne: [['while', 'until']], codes: { atLeastOne: 'loop-without-bound' } },
    ),
    risk: 'inner',
    say: (args: Args<'repeat'>) =>
      [
        ...(args.every === undefined ? [] : [`every ${args.every.text}`]),
        ...(args.for === undefined ? [] : [`for ${args.for.text}`]),
      ].join(' '),
  },
  parallel: {
    ...CONTROL,
    summary: 'Runs branches at the same time, or the same steps for each item of a list at the same time.',
    takes: {
      kind: 'choice',
      maps: [
        form('branches', {
          branches: need({ kind: 'names', of: STEPS_SHAPE, free: true }, 'steps of each branch'),
          join: may(word('all', 'any'), 'continue when all branches are done, or the first one', 'all'),
          on_fail: onFail,
        }),
        form('each', {
          each: need(NAME_SHAPE, 'name of the item'),
          in: need(LIST, 'the list'),
          max: need(INTEGER, 'most items at the same time'),
          on_fail: onFail,
          do: body,
        }),
      ],
      accepts: '{branches, join, on_fail} or {each, in, max, on_fail, do}',
    },
    risk: 'inner',
    yieldsDoc: 'nothing; the ids of joined branches are visible afterwards',
    say: (args: Args<'parallel'>) => (args.kind === 'each' ? `each ${args.each}` : `join ${args.join}`),
  },
  if: {
    ...CONTROL,
    summary: 'Runs its steps if the condition is true, and those of `else` if it is not.',
    takes: CONDITION,
    beside: {
      do: need(STEPS_SHAPE, 'steps if it is true'),
      else: may(STEPS_SHAPE, 'steps if it is not'),
    },
    risk: 'inner',
    yieldsDoc:
      'nothing; the ids of its steps are visible afterwards, and there for sure where the other block ends the run',
    modifiers: BLOCK,
    say: ({ cases }: Args<'if'>) => cases[0]?.when.text ?? '',
  },
  switch: {
    ...CONTROL,
    summary: 'Runs the steps of the first case whose condition is true.',
    takes: {
      kind: 'list',
      of: {
        kind: 'choice',
        maps: [
          form('when', { when: need(CONDITION, 'condition of the case'), do: body }),
          form('else', { else: need(STEPS_SHAPE, 'steps if no case was true; must be last') }),
        ],
        accepts: '{when, do} or {else}',
      },
    },
    risk: 'inner',
  },
  call: {
    ...CONTROL,
    summary: 'Runs another runbook, NAME.yaml beside this one.',
    takes: fields({
      runbook: need(
        {
          kind: 'text',
          pattern: '^[A-Za-z0-9][A-Za-z0-9_-]*$',
          accepts: 'the name of a file NAME.yaml beside this one, without .yaml',
        },
        'its file name without .yaml',
      ),
      with: may({ kind: 'names', of: ANYTHING }, 'its inputs'),
    }),
    risk: 'inner',
    yields: 'computed',
    yieldsDoc: 'the outputs of the runbook called',
    modifiers: [...EVERY_STEP, 'undo'],
    say: (args: Args<'call'>) => args.runbook,
  },
  approve: {
    ...CONTROL,
    summary: 'Asks a person for approval; fails with kind approval_rejected if it is refused.',
    takes: fields({
      ask: need(TEXT, 'the question'),
      by: need(
        list({ kind: 'text', pattern: FREE_NAME_PATTERN, accepts: 'a role' }),
        'who is asked: roles or names of the people of the profile; without people there, labels shown with the question',
      ),
      within: need(DURATION, 'how long to wait for the answer'),
      on_timeout: may(
        word('reject', 'fail'),
        'the meaning of no answer: a refusal, or a failure of kind timeout',
        'reject',
      ),
    }),
    say: (args: Args<'approve'>) => `by ${args.by.join(' or ')} within ${args.within.text}`,
  },
  notify: {
    ...CONTROL,
    summary: 'Sends a text to a channel of the profile.',
    takes: fields({
      to: need(CHANNEL, 'name of the channel in the profile'),
      text: need(TEXT, 'the text'),
      severity: may(word(...NOTICE_SEVERITIES), 'how urgent it is, for who receives it', 'info'),
    }),
    say: (args: Args<'notify'>) => args.to,
  },
  stop: {
    ...CONTROL,
    summary: 'Ends the run early as stopped, with an outcome word of its own.',
    takes: fields({
      outcome: need(
        { kind: 'text', pattern: FREE_NAME_PATTERN, accepts: 'one word' },
        'one word: the reason of the run',
      ),
      because: may(TEXT, 'for the reviewer'),
    }),
    modifiers: ['id', 'if', 'note'],
    say: (args: Args<'stop'>) => args.outcome,
  },
  fail: {
    ...CONTROL,
    summary: 'Fails the run.',
    takes: fields({ because: need(TEXT, 'for the reviewer') }),
    modifiers: ['id', 'if', 'note'],
  },
} as const satisfies Partial<Record<StepName, StepRow>>;
