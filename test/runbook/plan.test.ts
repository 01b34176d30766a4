/** Tests `planRun` on runbooks that call others, and on branches of which one is known to be taken. */
import { describe, expect, it } from 'vitest';
import { checkRunbook } from '../../src/runbook/check.ts';
import { type Plan, planRun } from '../../src/runbook/plan/plan.ts';
import { makePlanContext } from './plan-context.ts';

function plan(files: Readonly<Record<string, string>>): Plan {
  const source = (name: string) => {
    const text = files[name];
    return text === undefined ? undefined : { file: `${name}.yaml`, text: `runbook: ${name}\ndsl: 1\n${text}` };
  };
  const main = source('main');
  if (main === undefined) throw new Error('no main');
  const { runbook, diagnostics } = checkRunbook(main, source);
  if (runbook === undefined) throw new Error(diagnostics.map(({ message }) => message).join('\n'));
  return planRun(makePlanContext(runbook));
}

/** Each request with its condition. */
function requests({ rows }: Plan): readonly string[] {
  return rows.flatMap((row) =>
    // The reading at the start of a live run is in every plan.
    row.kind === 'note' || row.step === 'reconcile'
      ? []
      : [`${row.method} ${row.path}${row.when === undefined ? '' : ` if ${row.when}`}`],
  );
}

describe('an order that may be sent again', () => {
  it('is looked up before the run ends, and an earlier one of it is cancelled by its id', () => {
    const place = (more: string) =>
      `leaves: {position: open, because: x}\nsteps: [{place: {type: limit, market: BTC-USD, side: long, size: 1, price: 1${more}}}]`;
    const late = (more: string) =>
      plan({ main: place(more) }).sections.flatMap(({ rows }) =>
        rows.flatMap((row) =>
          row.kind === 'request' && /sent again|an earlier one/.test(row.when ?? '')
            ? [`${row.method} ${row.path} ${Object.keys(row.params).join(' ')}`]
            : [],
        ),
      );
    expect(late('')).toEqual([]);
    expect(late(', on_ambiguous: resend')).toEqual([
      'GET /orders client_order_id market_id start_time',
      'DELETE /orders order_id market_id',
      'GET /orders order_id market_id start_time',
    ]);
  });
});

const LEVERAGE = 'set_leverage: {market: BTC-USD, leverage: 2}';

describe('a called runbook', () => {
  it('has its deadman switch among those that a resume reads and arms', () => {
    const guarded = (market: string) =>
      `deadman: {market: ${market}, timeout: 60s, on_exit: disarm}\nsteps: [{${LEVERAGE}}`;
    const { sections } = plan({
      main: `${guarded('BTC-USD')}, {call: {runbook: guarded}}, {for_each: {each: k, in: range(2), do: [{call: {runbook: guarded}}]}}]`,
      guarded: `${guarded('ETH-USD')}]`,
    });
    const resumed = sections.find(({ when }) => when === 'if the run is resumed')?.rows ?? [];
    const switches = resumed.flatMap((row) =>
      row.kind === 'request' && row.path === '/cancel_all_after'
        ? [`${row.step} ${row.method} ${row.params['market_id']}`]
        : [],
    );
    const loop = 'steps/3:for_each/do/1:call/resume';
    expect(switches).toEqual([
      'resume GET BTC-USD',
      'resume POST BTC-USD',
      'steps/2:call/resume GET ETH-USD',
      'steps/2:call/resume POST ETH-USD',
      `${loop} GET ETH-USD`,
      `${loop} POST ETH-USD`,
    ]);
  });

  it('is listed at any depth', () => {
    const listed = plan({
      main: 'steps: [{call: {runbook: outer}}]',
      outer: 'steps: [{call: {runbook: inner}}, {refresh_session: {}}]',
      inner: `steps: [{${LEVERAGE}}]`,
    });
    expect(requests(listed)).toEqual(['PUT /account/leverage', 'POST /jwt']);
    expect(listed.rows.slice(1).map(({ step }) => step)).toEqual([
      'steps/1:call',
      'steps/1:call/steps/1:call',
      'steps/1:call/steps/1:call/steps/1:set_leverage',
      'steps/1:call/steps/2:refresh_session',
    ]);
  });

  it('releases its own deadman switch, and not that of its caller', () => {
    const guarded = `deadman: {market: BTC-USD, timeout: 60s, release_after: guard, on_exit: disarm}
steps:
  - id: guard
    protect: {market: BTC-USD, side: short, stop_loss: {fraction: 1, trigger: 60000, price: 59900}}`;
    const own = [
      'POST /cancel_all_after',
      'POST /cancel_all_after if orders rest',
      'GET /cancel_all_after if orders rest',
      'POST /orders',
      'GET /orders',
      'GET /fills/order if the order has fills',
      'DELETE /cancel_all_after',
      'GET /cancel_all_after',
    ];
    expect(requests(plan({ main: 'steps: [{call: {runbook: guarded}}]', guarded }))).toEqual(own);
    const namesake = `steps: [{id: guard, ${LEVERAGE}}]`;
    expect(requests(plan({ main: `${guarded}\n  - call: {runbook: namesake}`, namesake }))).toEqual([
      ...own,
      'PUT /account/leverage',
    ]);
  });

  it('is part of what is approved, even where only a failure leads to it', () => {
    const calling = (onError: string): Plan =>
      plan({
        main: 'steps: [{call: {runbook: outer}}]',
        outer: 'steps: [{call: {runbook: inner}}]',
        inner: `steps: [{${LEVERAGE}}]\non_error: [{notify: {to: ops, text: ${onError}}}]`,
      });
    expect(calling('a').hash).toBe(calling('a').hash);
    expect(calling('a').hash).not.toBe(calling('b').hash);
    expect(calling('a').rows).toEqual(calling('b').rows);
  });
});

describe('a switch', () => {
  const chosen = (cases: string): readonly string[] =>
    requests(
      plan({
        main: `vars: {n: {type: integer, init: 1}}\nsteps:\n  - id: acct\n    read_account: {}\n  - switch:\n${cases}`,
      }),
    ).slice(1);

  it('takes a case that holds only where those before it did not', () => {
    expect(
      chosen(`      - {when: acct.health > 1, do: [{refresh_session: {}}]}
      - {when: n == 1, do: [{${LEVERAGE}}]}
      - {else: [{read_tier: {}}]}`),
    ).toEqual(['POST /jwt if acct.health > 1', 'PUT /account/leverage if not (acct.health > 1)']);
  });

  it('takes the else where no case holds, as far as that is known', () => {
    expect(
      chosen(`      - {when: n == 2, do: [{refresh_session: {}}]}
      - {when: acct.health > 1, do: [{${LEVERAGE}}]}
      - {else: [{read_tier: {}}]}`),
    ).toEqual(['PUT /account/leverage if acct.health > 1', 'GET /profile if not (acct.health > 1)']);
  });
});
