import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { checkRunbook } from '../../src/runbook/check.ts';
import type { CheckedRunbook } from '../../src/runbook/checked.ts';
import { findLeaks } from '../../src/runbook/leaves/flow.ts';

/** Runbooks of the language design, as they stand there. */
const EXAMPLES = new URL('design-examples/', import.meta.url);

function checked(text: string, called: Readonly<Record<string, string>> = {}): CheckedRunbook {
  const { runbook, diagnostics } = checkRunbook({ file: 'case.yaml', text }, (name) =>
    Object.hasOwn(called, name) ? { file: `${name}.yaml`, text: called[name] as string } : undefined,
  );
  if (runbook === undefined) throw new Error(diagnostics.map(({ message }) => message).join('\n'));
  return runbook;
}

/** Each order that may be left: its step's id or path, and whether that is certain. */
function leaks(steps: string, { head = '', called = {} }: { head?: string; called?: Record<string, string> } = {}) {
  return findLeaks(checked(`runbook: case\ndsl: 1\n${head}steps:\n${steps}`, called)).map(({ step, certain }) => [
    step.id ?? step.path,
    certain ? 'violated' : 'unproven',
  ]);
}

const ENTRY = `
  - id: entry
    place: {type: limit, market: BTC-USD, side: long, size: 0.1, price: 60000}
`;
const GUARD = `
  - protect: {market: BTC-USD, side: short, stop_loss: {fraction: 1, trigger: 50000, price: 49000}}
`;
const VIOLATED = [['entry', 'violated']];
const UNPROVEN = [['entry', 'unproven']];

describe('the paths of a runbook', () => {
  it('leave an entry that nothing protects', () => {
    expect(leaks(ENTRY)).toEqual(VIOLATED);
    expect(leaks(ENTRY, { head: 'leaves: {position: none}\n' })).toEqual(VIOLATED);
    expect(leaks(ENTRY, { head: 'leaves: {position: open, because: meant}\n' })).toEqual([]);
    expect(leaks(ENTRY + GUARD)).toEqual([]);
    expect(leaks(ENTRY + GUARD, { head: 'leaves: {position: none}\n' })).toEqual(VIOLATED);
  });

  it('leave what one block of an if protects and the other does not', () => {
    const blocks = (taken: string, other: string) =>
      `${ENTRY}  - if: entry.filled > 0\n    do:${taken.replaceAll('\n', '\n    ')}\n    else:${other.replaceAll('\n', '\n    ')}\n`;
    const gone = '\n  - cancel: entry\n  - stop: {outcome: unfilled}';
    expect(leaks(blocks(GUARD, GUARD))).toEqual([]);
    expect(leaks(blocks(GUARD, '\n  - wait: 1s'))).toEqual(VIOLATED);
    expect(leaks(blocks('\n  - wait: 1s', GUARD))).toEqual(VIOLATED);
    expect(leaks(blocks(GUARD, `\n  - if: entry.terminal\n    do:${gone.replaceAll('\n', '\n    ')}`))).toEqual(
      VIOLATED,
    );
  });

  it('leave what filled while a time-out cancelled it', () => {
    const wait = (handled: string) => `${ENTRY}
  - wait_for: {order: entry, is: filled, within: 1m}
    on_timeout:
      - cancel: entry
${handled}`;
    expect(leaks(wait('      - stop: {outcome: expired}\n') + GUARD)).toEqual(VIOLATED);
    expect(leaks(wait('      - if: entry.filled == 0\n        stop: {outcome: expired}\n') + GUARD)).toEqual([]);
    expect(
      leaks(wait('      - if: "!entry.avg_price.hasValue()"\n        stop: {outcome: expired}\n') + GUARD),
    ).toEqual([]);
    // Nothing filled when it was looked at, and it still works.
    const uncancelled = `${ENTRY}
  - wait_for: {order: entry, is: filled, within: 1m}
    on_timeout:
      - if: entry.filled == 0
        stop: {outcome: expired}
${GUARD}`;
    expect(leaks(uncancelled)).toEqual(VIOLATED);
  });

  it('leave what a handler passes over', () => {
    const guarded = (then: string) => `${ENTRY}${GUARD}    catch: [{on: [rejected], then: ${then}}]\n`;
    expect(leaks(guarded('continue'))).toEqual(VIOLATED);
    expect(leaks(guarded('stop'))).toEqual(VIOLATED);
    // It ends as failed, and the run sees what it left.
    expect(leaks(guarded('fail'))).toEqual([]);
    const entry = `${ENTRY}    catch: [{on: [KIND], then: stop}]\n${GUARD}`;
    expect(leaks(entry.replace('KIND', 'rejected'))).toEqual([]);
    expect(leaks(entry.replace('KIND', 'timeout'))).toEqual(VIOLATED);
  });

  it('leave a position whose stop is cancelled, covers a part, or is only a target', () => {
    expect(leaks(`${ENTRY}${GUARD}  - cancel: {mine: BTC-USD}\n`)).toEqual(VIOLATED);
    expect(leaks(ENTRY + GUARD.replace('fraction: 1', 'fraction: 0.5'))).toEqual(VIOLATED);
    expect(leaks(ENTRY + GUARD.replace('stop_loss', 'take_profit'))).toEqual(VIOLATED);
    const head = 'deadman: {market: BTC-USD, timeout: 60s, on_exit: leave_armed}\n';
    expect(leaks(`${ENTRY}  - cancel: entry\n`, { head })).toEqual(VIOLATED);
  });

  it('are not decided where values, rounds or branches decide', () => {
    const closing = `${ENTRY}  - place: {type: market, market: BTC-USD, side: short, size: 0.1, price: 59000}\n`;
    expect(leaks(closing, { head: 'leaves: {position: none}\n' })).toEqual(UNPROVEN);
    const head = 'vars: {done: {type: size, init: 0}}\n';
    const summed = `${ENTRY}  - cancel: entry\n  - set: {done: done + entry.filled}\n  - if: done == 0\n    stop: {outcome: nothing}\n`;
    expect(leaks(summed + GUARD, { head })).toEqual(UNPROVEN);
    // An input has nothing to do with what filled.
    const asked = `${ENTRY}  - if: inputs.wanted\n    stop: {outcome: unwanted}\n`;
    expect(leaks(asked + GUARD, { head: 'inputs: {wanted: {type: boolean}}\n' })).toEqual(VIOLATED);
  });

  it('see orders of earlier rounds of a loop', () => {
    const loop = (inner: string) =>
      `  - for_each:\n      each: k\n      in: range(3)\n      do:\n        - id: entry\n          place: {type: limit, market: BTC-USD, side: long, size: 0.1, price: 60000}\n${inner}`;
    expect(leaks(loop(''))).toEqual(VIOLATED);
    expect(leaks(loop('') + GUARD)).toEqual([]);
    expect(leaks(loop('        - cancel: entry\n        - assert: entry.filled == 0\n'))).toEqual([]);
  });

  it('are held to the word of the caller, and of what it calls', () => {
    const call = '  - call: {runbook: inner, with: {}}\n';
    const inner = (head: string) => ({ inner: `runbook: inner\ndsl: 1\n${head}steps:\n${ENTRY}${GUARD}` });
    expect(leaks(call, { called: inner('') })).toEqual([]);
    const called = inner('leaves: {position: open, because: meant}\n');
    expect(leaks(call, { called })).toEqual([['steps/1:call', 'unproven']]);
    expect(leaks(call, { called: inner(''), head: 'leaves: {position: none}\n' })).toHaveLength(1);
  });

  it('open nothing where a step or the limits only reduce', () => {
    expect(leaks(`${ENTRY}    allow: reduce\n`)).toEqual([]);
    expect(leaks(ENTRY, { head: 'limits: {mode: reducing}\n' })).toEqual([]);
  });
});

describe('the runbooks of the language design', () => {
  const files = readdirSync(EXAMPLES);
  const source = (name: string) => {
    const file = new URL(name, EXAMPLES);
    return existsSync(file) ? { file: name, text: readFileSync(file, 'utf8') } : undefined;
  };

  it.each(files)('%s checks unchanged', (file) => {
    const { runbook, diagnostics } = checkRunbook(source(file) ?? { file, text: '' }, (name) => source(`${name}.yaml`));
    expect(runbook).toBeDefined();
    expect(diagnostics.filter(({ code }) => code.startsWith('leaves-'))).toEqual([]);
  });
});
