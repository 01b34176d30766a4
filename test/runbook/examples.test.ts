import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { Decimal } from '../../src/base/decimal.ts';
import { placeDiagnostic, type SourceText } from '../../src/base/diagnostic.ts';
import { checkRunbook } from '../../src/runbook/check.ts';
import type { CheckedRunbook, StepName, StepOf } from '../../src/runbook/checked.ts';
import { countSteadyTokens, readDocumentedCost } from '../../src/runbook/plan/steady.ts';
import { findAwaited } from '../../src/runbook/steps/awaited.ts';
import { walkSteps } from '../../src/runbook/steps/walk.ts';
import { Duration, type Scope, toJson } from '../../src/runbook/values.ts';

const FOLDER = new URL('../../runbooks/', import.meta.url);

function load(name: string): SourceText | undefined {
  const file = new URL(`${name}.yaml`, FOLDER);
  return existsSync(file) ? { file: `${name}.yaml`, text: readFileSync(file, 'utf8') } : undefined;
}

function checked(name: string): CheckedRunbook {
  const source = load(name);
  const { runbook, diagnostics } = checkRunbook(source ?? { file: name, text: '' }, load);
  if (runbook === undefined) throw new Error(diagnostics.map((each) => each.message).join('\n'));
  return runbook;
}

function stepAt<V extends StepName>(runbook: CheckedRunbook, path: string, verb: V): StepOf<V> {
  const step = [...walkSteps([...runbook.steps, ...runbook.onError, ...runbook.finally])].find(
    (each) => each.path === path,
  );
  if (step?.verb !== verb) throw new Error(`${path} is ${step?.verb}`);
  return step as StepOf<V>;
}

const NO_SCOPE: Scope = { get: () => undefined, rules: () => undefined };

describe('the examples', () => {
  it('have no errors, and only the known warnings', () => {
    const said = readdirSync(FOLDER)
      .filter((file) => !file.endsWith('.test.yaml'))
      .flatMap((file) => {
        const source = load(file.replace('.yaml', ''));
        return source === undefined
          ? []
          : checkRunbook(source, load).diagnostics.map(
              (each) => `${file} ${placeDiagnostic(each).line} ${each.severity} ${each.code}`,
            );
      });
    expect(said).toEqual(['flatten.yaml 12 warning unused-input']);
  });

  it('have the worst cases that the design computes by hand', () => {
    const tokens = (name: string, deadman: number) =>
      countSteadyTokens(checked(name), (endpoint) =>
        endpoint === 'POST /cancel_all_after' ? deadman : readDocumentedCost(endpoint),
      );
    // 30 polls and 4 keep-alives, each costing 10: 340. The switch is also read back every four timeouts: a quarter.
    expect(tokens('bracket-entry', 10)).toBe(340 + 3);
    // 30 rounds of GET /orders and PUT /orders, 12 keep-alives: 342 and 450; three quarters of a read.
    expect(tokens('requote', 1)).toBe(342 + 8);
    expect(tokens('requote', 10)).toBe(450 + 8);
  });

  it('have paths of ids, or of positions and step names', () => {
    expect([...walkSteps(checked('bracket-entry').steps)].map((step) => step.path)).toEqual([
      'steps/before',
      'steps/2:assert',
      'steps/3:set_leverage',
      'steps/entry',
      'steps/5:wait_for',
      'steps/5:wait_for/on_timeout/1:cancel',
      'steps/5:wait_for/on_timeout/2:stop',
      'steps/guard',
      'steps/guard/catch/1/1:cancel',
      'steps/guard/catch/1/2:place',
      'steps/guard/catch/1/3:notify',
      'steps/7:wait_for',
      'steps/7:wait_for/on_timeout/1:cancel',
    ]);
    expect([...walkSteps(checked('ladder').steps)].map((step) => step.path)).toContain('steps/ladder/do/o');
    const housekeeping = [...walkSteps(checked('housekeeping').steps)].map((step) => step.path);
    expect(housekeeping).toEqual(
      expect.arrayContaining(['steps/4:switch/case/1/1:approve', 'steps/4:switch/else/1:notify']),
    );
    expect(new Set(housekeeping).size).toBe(housekeeping.length);
  });

  it('have the protective defaults filled in', () => {
    const bracket = checked('bracket-entry');
    const entry = stepAt(bracket, 'steps/entry', 'place');
    expect(entry).toMatchObject({
      undo: 'cancel',
      retry: { on: ['rate_limited'], max: 4, jitter: true },
    });
    expect(entry.args).toMatchObject({ type: 'stop_limit', tif: 'good_till_cancel', onAmbiguous: 'halt' });
    expect(findAwaited(entry)).toBe('live');
    const exit = stepAt(bracket, 'steps/guard/catch/1/2:place', 'place');
    expect(findAwaited(exit)).toBe('terminal');
    expect(exit).toMatchObject({ allow: 'reduce', args: { type: 'market', tif: 'immediate_or_cancel' } });
    const guard = stepAt(bracket, 'steps/guard', 'protect');
    expect(guard.retry).toEqual({
      on: ['transport', 'rate_limited'],
      max: 6,
      first: new Duration(250),
      factor: new Decimal(2),
      maxDelay: new Duration(5000),
      jitter: true,
    });
    expect(guard.catch).toMatchObject([{ on: 'any', then: 'fail' }]);
    expect(stepAt(bracket, 'steps/before', 'read_account').retry).toMatchObject({
      on: ['transport', 'rate_limited'],
      max: 4,
      first: new Duration(250),
      maxDelay: new Duration(8000),
    });
    expect(stepAt(bracket, 'steps/2:assert', 'assert').retry).toBeUndefined();
    expect(bracket.deadman).toMatchObject({ releaseAfter: 'guard', onExit: 'disarm' });
    expect(bracket.deadman?.keepAlive).toBeUndefined();
  });

  it('have the names and types of their inputs and outputs', () => {
    const bracket = checked('bracket-entry');
    expect(bracket.inputs.find(({ name }) => name === 'risk')).toMatchObject({
      typeText: 'pct',
      default: new Decimal('0.015'),
    });
    expect(bracket.inputs.find(({ name }) => name === 'slip')).toMatchObject({
      default: new Decimal('0.001'),
      max: new Decimal('0.005'),
    });
    expect(bracket.outputs.map(({ name, value }) => [name, value.type.kind])).toEqual([
      ['entry_id', 'text'],
      ['filled', 'decimal'],
      // There is a fill after the wait for it, and after its time-out the run goes on only where there is one.
      ['avg_price', 'decimal'],
    ]);
    const ladder = checked('ladder');
    const round = ladder.steps[0];
    expect(round?.verb === 'for_each' && round.args.collect?.map(({ name }) => name)).toEqual(['o', 'k']);
    expect(ladder.limits?.priceBands?.[0]?.within.evaluate(NO_SCOPE)).toEqual(new Decimal('0.03'));
  });

  it('know which feeds a step reads, also through named expressions', () => {
    const requote = checked('requote');
    expect(stepAt(requote, 'steps/quote', 'place').feeds).toEqual(['ask', 'bid']);
    expect(stepAt(requote, 'steps/2:repeat', 'repeat').feeds).toEqual([]);
    expect(
      requote.feeds.map(({ name, market }) => [
        name,
        market?.evaluate({ ...NO_SCOPE, get: () => ({ market: 'ETH-USD' }) }),
      ]),
    ).toEqual([
      ['bid', 'ETH-USD'],
      ['ask', 'ETH-USD'],
    ]);
    expect(checked('flatten').feeds).toMatchObject([{ name: 'mark', maxAge: new Duration(10_000) }]);
    expect(checked('flatten').feeds[0]?.market).toBeUndefined();
  });

  it('hold their schedules and the runbooks they call', () => {
    const { schedule, concurrency, calls } = checked('housekeeping');
    expect(schedule).toHaveLength(2);
    expect(schedule[0]).toMatchObject({
      slot: '0',
      when: { kind: 'cron', cron: '30 21 * * 1-5', tz: 'Europe/London' },
      misfire: { within: new Duration(1_200_000), then: 'run_once' },
      overlap: 'skip',
      dst: { gap: 'next_valid', overlap: 'first' },
    });
    expect(toJson(schedule[1]?.inputs)).toEqual({ night_leverage: '1', stale_after: '30m' });
    expect(concurrency?.onBusy).toBe('queue');
    expect(Object.keys(calls)).toEqual(['flatten']);
    expect(calls['flatten']?.needs).toEqual(['cancel_all']);
  });
});
