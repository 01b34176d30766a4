import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { checkRunbook } from '../../src/runbook/check.ts';

/** Runbooks of the language design, as they stand there. */
const EXAMPLES = new URL('design-examples/', import.meta.url);

/** What the check says of `leaves`, and the errors beside it. */
function leaks(steps: string, { head = '', called = {} }: { head?: string; called?: Record<string, string> } = {}) {
  const source = { file: 'case.yaml', text: `runbook: case\ndsl: 1\n${head}steps:\n${steps}` };
  const { diagnostics } = checkRunbook(source, (name) =>
    Object.hasOwn(called, name) ? { file: `${name}.yaml`, text: called[name] as string } : undefined,
  );
  return diagnostics
    .filter(({ code, severity }) => severity === 'error' || code.startsWith('leaves-'))
    .map(({ code }) => code.replace('leaves-', ''));
}

const ENTRY = `
  - id: entry
    place: {type: limit, market: BTC-USD, side: long, size: 0.1, price: 60000}
`;
const GUARD = `
  - protect: {market: BTC-USD, side: short, stop_loss: {fraction: 1, trigger: 50000, price: 49000}}
`;
const VIOLATED = ['violated'];
const UNPROVEN = ['unproven'];

describe('the hint', () => {
  const hints = (head: string, steps: string) =>
    checkRunbook({ file: 'case.yaml', text: `runbook: case\ndsl: 1\n${head}steps:\n${steps}` }, () => undefined)
      .diagnostics.filter(({ code }) => code.startsWith('leaves-'))
      .map(({ hint }) => hint ?? '');

  it('names the order and what this `leaves` takes', () => {
    const first = ENTRY.replace('id: entry', 'id: first');
    const [open = ''] = hints('', first);
    expect([open.includes('`if: first.filled == 0`'), open.includes('position: open')]).toEqual([true, true]);
    const [none = ''] = hints('leaves: {position: none}\n', first);
    expect(none).toContain('`close: BTC-USD` as the last step');
    expect([none.includes('first.filled == 0'), none.includes('position: protected')]).toEqual([true, true]);
    expect(none).not.toContain('position: open');
  });

  it('of a loop that quotes begins with the close that settles it', () => {
    const head = 'leaves: {position: none}\n';
    const quote = (id: string, side: string, price: number) =>
      `        - {id: ${id}, place: {type: limit, market: BTC-USD, side: ${side}, size: 0.1, price: ${price}}}\n`;
    const loop = `
  - repeat:
      every: 10s
      for: 1h
      do:
${quote('bid', 'long', 60000)}${quote('ask', 'short', 61000)}        - {cancel: bid}
        - {cancel: ask}
`;
    const settled = expect.stringMatching(/^Close what is left: `close: BTC-USD` as the last step/) as string;
    expect(hints(head, loop)).toEqual([settled]);
    expect(hints(head, `${loop}  - close: BTC-USD\n`)).toEqual([]);
  });
});

describe('the paths of a runbook', () => {
  it('leave an entry that nothing protects', () => {
    expect(leaks(ENTRY)).toEqual(VIOLATED);
    expect(leaks(ENTRY, { head: 'leaves: {position: none}\n' })).toEqual(VIOLATED);
    expect(leaks(ENTRY, { head: 'leaves: {position: open, because: meant}\n' })).toEqual([]);
    expect(leaks(ENTRY + GUARD)).toEqual([]);
    expect(leaks(ENTRY + GUARD, { head: 'leaves: {position: none}\n' })).toEqual(VIOLATED);
  });

  it('leave an entry whose stop is on the side that opens', () => {
    const wrong = GUARD.replace('short', 'long');
    expect(leaks(ENTRY + wrong)).toEqual(VIOLATED);
    expect(leaks(ENTRY + wrong + GUARD)).toEqual([]);
    const sided = (entry: string, guard: string) =>
      leaks(
        ENTRY.replace('side: long', `side: "\${${entry}}"`) + GUARD.replace('side: short', `side: "\${${guard}}"`),
        {
          head: 'inputs: {side: {type: side, default: long}}\nvars: {way: {type: side, init: long}}\n',
        },
      );
    expect(sided('inputs.side', 'inputs.side')).toEqual(VIOLATED);
    expect(sided('inputs.side', 'opposite(inputs.side)')).toEqual([]);
    // It may have another value by then.
    expect(sided('way', 'way')).toEqual(UNPROVEN);
    // What the other order opened is the rest.
    const other = ENTRY.replace('id: entry', 'id: other').replace('side: long', 'side: short');
    expect(leaks(`${ENTRY}${other}${wrong}`)).not.toEqual([]);
  });

  it('leave nothing that a `manage` has held until it was gone', () => {
    const none = { head: 'leaves: {position: none}\n' };
    const filled = ENTRY.replace('60000}', '60000, tif: immediate_or_cancel}');
    const hold = (rest = '', side = 'short') => `
  - manage: {market: BTC-USD, side: ${side}, stop_loss: {trigger: 50000, price: 49000}}
    timeout: 1h
${rest}`;
    expect(leaks(filled + hold(), none)).toEqual([]);
    expect(leaks(filled + hold().replace('market: BTC-USD', 'market: "BTC-USD"'), none)).toEqual([]);
    expect(leaks(filled + hold('', 'long'), none)).toEqual(UNPROVEN);
    // It may fill when the step holds it no more.
    expect(leaks(ENTRY + hold(), none)).toEqual(VIOLATED);
    const end = '  - cancel: entry\n';
    expect(leaks(ENTRY + hold(end), none)).toEqual(VIOLATED);
    expect(leaks(`${ENTRY}${hold('  - wait_for: {order: entry, is: terminal, within: 1h}\n')}`, none)).toEqual(
      VIOLATED,
    );
    expect(leaks(ENTRY + end + hold(), none)).toEqual([]);
    expect(leaks(ENTRY + hold('  - close: BTC-USD\n'), none)).toEqual([]);
    expect(leaks(ENTRY + hold(`${end}  - assert: position('BTC-USD') == 0\n`), none)).toEqual([]);
    expect(leaks(filled + hold('    on_timeout: [{wait: 1s}]\n'), none)).toEqual(UNPROVEN);
  });

  it('leave nothing where `close` has succeeded, in its market alone', () => {
    const none = { head: 'leaves: {position: none}\n' };
    const close = (market = 'BTC-USD', rest = '') => `\n  - close: ${market}\n${rest}`;
    // An order that works is cancelled as well.
    expect(leaks(ENTRY + close(), none)).toEqual([]);
    expect(leaks(`${ENTRY}${GUARD}${close('{market: BTC-USD, slip: 5%}')}`, none)).toEqual([]);
    expect(leaks(ENTRY + close('ETH-USD'), none)).toEqual(VIOLATED);
    expect(leaks(ENTRY + close('BTC-USD', '    catch: [{on: any, then: continue}]\n'), none)).toEqual(UNPROVEN);
  });

  it('leave what a `close` that failed may have taken the stop of', () => {
    const caught = (step: string) => `${ENTRY}${GUARD}  - ${step}\n    catch: [{on: any, then: continue}]\n`;
    expect(leaks(caught('close: BTC-USD'))).toEqual(UNPROVEN);
    // It cancels its own orders alone.
    const hold = 'manage: {market: BTC-USD, side: short, stop_loss: {trigger: 50000, price: 49000}, time_limit: 1h}';
    expect(leaks(caught(hold).replace('60000}', '60000, tif: immediate_or_cancel}'))).toEqual([]);
    expect(leaks(caught('close: ETH-USD'))).toEqual([]);
    expect(leaks(`${caught('close: BTC-USD')}${GUARD}`)).toEqual([]);
  });

  it('leave what one block of an if protects and the other does not', () => {
    const blocks = (taken: string, other: string) =>
      `${ENTRY}  - refresh: entry\n  - if: entry.filled > 0\n    do:${taken.replaceAll('\n', '\n    ')}\n    else:${other.replaceAll('\n', '\n    ')}\n`;
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

  it('are decided by what a condition says, not by its comments, its texts or how it is written', () => {
    const head = 'inputs: {note: {type: text, default: x}}\n';
    const stopped = (condition: string) =>
      leaks(`${ENTRY}  - cancel: entry\n  - if: ${condition}\n    stop: {outcome: nothing}\n${GUARD}`, { head });
    expect(stopped('entry.filled == 0')).toEqual([]);
    expect(stopped("inputs.note == 'x' // && entry.filled == 0")).toEqual(VIOLATED);
    expect(stopped('run.started_at < now // && entry.filled == 0')).toEqual(VIOLATED);
    expect(stopped("inputs.note != ' && entry.filled == 0 && '")).toEqual(VIOLATED);
    for (const same of [
      'entry . filled==0',
      '(entry.filled) == 0.0',
      'entry.filled == 0 // && more',
      '\'"!(entry.filled > 0)"\''.slice(1, -1),
      "inputs.note == 'a || b' && (entry.filled == 0)",
      "(inputs.note == 'x' || inputs.note == 'y') && entry.filled == 0",
    ])
      expect([same, stopped(same)]).toEqual([same, []]);
    expect(stopped('entry.filled == 0 || inputs.note == "y"')).toEqual(UNPROVEN);
    const twice = (first: string, second: string) =>
      leaks(
        ENTRY.replace('- id', `- if: ${first}\n    id`) + GUARD.replace('- protect', `- if: ${second}\n    protect`),
        {
          head,
        },
      );
    expect(twice("inputs.note == 'x'", '(inputs.note=="x") // the same')).toEqual([]);
    expect(twice("inputs.note == 'x'", "inputs.note == 'X'")).toEqual(UNPROVEN);
  });

  it('know what a wait has shown: that something has filled, or that nothing more will', () => {
    const stop = '  - if: entry.filled == 0\n    stop: {outcome: none}\n';
    const wait = (is: string, rest = '') => `  - ${rest}wait_for: {order: entry, is: ${is}, within: 1m}\n`;
    // Live it may fill yet.
    expect(leaks(`${ENTRY}${wait('live')}  - refresh: entry\n${stop}${GUARD}`)).toEqual(VIOLATED);
    for (const is of ['any_fill', 'filled', 'terminal']) {
      expect(leaks(ENTRY + wait(is) + stop + GUARD)).toEqual([]);
      expect(leaks(ENTRY + wait(is, 'if: entry.open\n    ') + stop + GUARD)).toEqual([]);
      expect(leaks(ENTRY + wait(is))).toEqual(VIOLATED);
    }
    // What a path does that it rules out does no harm.
    const both = ENTRY + ENTRY.replace('id: entry', 'id: other') + GUARD;
    const bare = '  - refresh: entry\n  - if: entry.filled == 0\n    cancel: {mine: BTC-USD}\n';
    for (const is of ['any_fill', 'filled']) expect(leaks(both + wait(is) + bare)).toEqual([]);
    for (const is of ['live', 'terminal']) expect(leaks(both + wait(is) + bare)).not.toEqual([]);
    // What has filled is known; whether the order out has filled is not.
    const out = `  - if: entry.filled > 0
    place: {type: market, market: BTC-USD, side: short, size: entry.filled}
    allow: reduce
`;
    const none = { head: 'leaves: {position: none}\n' };
    expect(leaks(`${ENTRY}${wait('live')}  - refresh: entry\n${out}`, none)).toEqual(VIOLATED);
    for (const is of ['any_fill', 'filled', 'terminal']) expect(leaks(ENTRY + wait(is) + out, none)).toEqual(UNPROVEN);
  });

  it('may have closed the position where an order of its protection is awaited', () => {
    const held = `${ENTRY.replace('60000}', '60000, tif: immediate_or_cancel}')}
  - if: entry.filled == 0
    stop: {outcome: none}
  - id: guard
    protect:
      market: BTC-USD
      side: short
      stop_loss: {fraction: 1, trigger: 50000, price: 49000}
      take_profit: {fraction: 1, trigger: 70000, price: 69000}
`;
    const head = 'leaves: {position: none}\ninputs: {on: {type: boolean}}\n';
    const wait = (what: string) => leaks(`${held}  - wait_for: {${what}, within: 1m}\n`, { head });
    expect(leaks(held, { head })).toEqual(VIOLATED);
    expect(wait('order: guard.stop_loss, is: filled')).toEqual(UNPROVEN);
    expect(wait('any: [guard.stop_loss, guard.take_profit], is: filled')).toEqual(UNPROVEN);
    // A wait for something else closes nothing, whether it comes or not.
    expect(wait('until: inputs.on, every: 1s')).toEqual(VIOLATED);
    const close = '  - close: {market: BTC-USD}\n';
    const reads = `  - wait_for: {read: {id: seen, read_account: {}}, until: seen.account_equity > 0, every: 1s, within: 1m}\n`;
    const caught = '    catch: [{on: [timeout], then: stop}]\n';
    expect(leaks(held + reads + caught + close, { head })).toEqual(VIOLATED);
  });

  it('wait for one of several orders, however the list is written', () => {
    const wait = (any: string) =>
      `${ENTRY}${ENTRY.replace('id: entry', 'id: other')}  - wait_for: {any: ${any}, is: any_fill, within: 1m}\n`;
    const none = { head: 'leaves: {position: none}\n' };
    expect(leaks(wait('[entry, other]'), none)).toEqual([...VIOLATED, ...VIOLATED]);
    expect(leaks(wait('"[entry, other]"'), none)).toEqual([...VIOLATED, ...VIOLATED]);
    expect(
      leaks(
        wait('\n      - entry\n      - other')
          .replace('{any:', '\n      any:')
          .replace(/, is.*\}/, '\n      is: any_fill\n      within: 1m'),
        none,
      ),
    ).toEqual([...VIOLATED, ...VIOLATED]);
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
    const legs = GUARD.replace('- protect:', '- id: guard\n    protect:').replace(
      '49000}}',
      '49000}, take_profit: {fraction: 1, trigger: 70000, price: 69000}}',
    );
    expect(leaks(`${ENTRY}${legs}  - cancel: guard.stop_loss\n`)).toEqual(VIOLATED);
    expect(leaks(`${ENTRY}${legs}  - cancel: guard.take_profit\n`)).toEqual([]);
    const last = 'finally: [{if: guard.hasValue(), cancel: guard.take_profit}]\n';
    expect(leaks(ENTRY + legs + last)).toEqual([]);
    expect(leaks(ENTRY + legs + last.replace('take_profit', 'stop_loss'))).toEqual(UNPROVEN);
    const head = 'deadman: {market: BTC-USD, timeout: 60s, on_exit: leave_armed}\n';
    expect(leaks(`${ENTRY}  - cancel: entry\n`, { head })).toEqual(VIOLATED);
    const all = `${ENTRY}${GUARD}  - cancel_all: {everyone: true}\n`;
    expect(leaks(all, { head: 'needs: [cancel_all]\n' })).toEqual(VIOLATED);
  });

  it('keep the cover of a stop that rests when an earlier one is cancelled', () => {
    const stop = (id: string) => GUARD.replace('- protect', `- id: ${id}\n    protect`);
    const moved = `${ENTRY}${stop('first')}${stop('second')}  - cancel: first.stop_loss\n`;
    expect(leaks(moved)).toEqual([]);
    expect(leaks(`${moved}  - cancel: second.stop_loss\n`)).toEqual(VIOLATED);
    expect(leaks(moved.replace('fraction: 1', 'fraction: 0.5'))).toEqual([]);
    expect(leaks(moved.replace(/1(?=, trigger: 50000, price: 49000\}\}\n {2}- cancel)/, '0.5'))).toEqual(VIOLATED);
  });

  it('are not decided where values, rounds or branches decide', () => {
    const closing = `${ENTRY}  - place: {type: market, market: BTC-USD, side: short, size: 0.1, price: 59000}\n`;
    expect(leaks(closing, { head: 'leaves: {position: none}\n' })).toEqual(UNPROVEN);
    // An input has nothing to do with what filled.
    const asked = `${ENTRY}  - if: inputs.wanted\n    stop: {outcome: unwanted}\n`;
    expect(leaks(asked + GUARD, { head: 'inputs: {wanted: {type: boolean}}\n' })).toEqual(VIOLATED);
  });

  it('know a sum of what filled, and a list of all fills', () => {
    const head = 'vars: {done: {type: size, init: 0}}\n';
    const summed = (assign: string, ended = '  - cancel: entry\n') =>
      leaks(`${ENTRY}${ended}  - set: {done: ${assign}}\n  - if: done == 0\n    stop: {outcome: nothing}\n${GUARD}`, {
        head,
      });
    expect(summed('done + entry.filled')).toEqual([]);
    // It may be taken away again, and a working order may fill later.
    expect(summed('done + entry.filled - 0.1')).toEqual(UNPROVEN);
    expect(summed('done + entry.filled', '  - refresh: entry\n')).toEqual(UNPROVEN);

    const held = (market: string, ended = '  - cancel: entry\n') =>
      leaks(`${ENTRY}${ended}  - if: position('${market}') == 0\n    stop: {outcome: nothing}\n${GUARD}`);
    expect(held('BTC-USD')).toEqual([]);
    expect(held('ETH-USD')).toEqual(UNPROVEN);
    // A market that the caller gives is `${…}` in a field and bare in a function.
    const given = `${ENTRY}  - cancel: entry\n  - if: position(inputs.market) == 0\n    stop: {outcome: nothing}\n${GUARD}`;
    const inputs = { head: 'inputs: {market: {type: market}}\n' };
    expect(leaks(given.replaceAll('market: BTC-USD', 'market: "${inputs.market}"'), inputs)).toEqual([]);
    expect(leaks(given, inputs)).toEqual(UNPROVEN);
    const onSide = (side: string, sign: string, before = '') =>
      leaks(
        `${ENTRY.replace('long', side)}${before}  - cancel: {mine: BTC-USD}\n  - if: position('BTC-USD') ${sign} 0\n    close: BTC-USD\n`,
        { head: 'leaves: {position: none}\n' },
      );
    expect(onSide('long', '>')).toEqual([]);
    expect(onSide('short', '<')).toEqual([]);
    // A position on the other side is one too.
    expect(onSide('long', '<')).toEqual(UNPROVEN);
    expect(onSide('short', '>')).toEqual(UNPROVEN);
    const other = '  - place: {type: limit, market: BTC-USD, side: short, size: 0.2, price: 70000}\n';
    expect(onSide('long', '>', other)).toEqual(UNPROVEN);
    expect(onSide('long', '!=', other)).toEqual([]);
    // It still works, and may fill later.
    expect(held('BTC-USD', '  - refresh: entry\n')).toEqual(UNPROVEN);

    const listed = (list: string, before = '  - cancel: {mine: BTC-USD}\n') => `${ENTRY}${before}
  - id: fills
    list_fills: {${list}}
  - let: {net: net_size(fills.fills)}
  - if: net != 0
    protect: {market: BTC-USD, side: short, stop_loss: {fraction: 1, trigger: 50000, price: 49000}}
`;
    expect(leaks(listed('market: BTC-USD, since: run.started_at, all_pages: true'))).toEqual([]);
    expect(leaks(listed('market: BTC-USD, since: run.started_at, limit: 10'))).toEqual(UNPROVEN);
    expect(leaks(listed('market: ETH-USD, since: run.started_at, all_pages: true'))).toEqual(UNPROVEN);
    expect(leaks(listed('market: BTC-USD, since: run.started_at, all_pages: true', ''))).toEqual(UNPROVEN);
  });

  it('are found however many conditions there are over one input', () => {
    const head = 'inputs: {level: {type: number}}\n';
    const place = (at: number, id = '') =>
      `  - if: inputs.level > ${at}\n${id}    place: {type: limit, market: BTC-USD, side: long, size: 0.1, price: 60000}\n`;
    const close = (at: number) => `  - if: inputs.level > ${at}\n    close: ETH-USD\n`;
    const levels = Array.from({ length: 60 }, (_, at) => at);
    const all = levels.map((at) => place(at));
    expect(leaks(all.join(''), { head })).toHaveLength(60);
    expect(leaks(`${all.join('')}  - close: BTC-USD\n`, { head })).toEqual([]);
    // The first is left; those behind it are closed again where they were placed.
    const others = levels.slice(1).map((at) => place(at).replaceAll('BTC', 'ETH') + close(at));
    expect(leaks(place(0) + others.join(''), { head })).toHaveLength(1);
    // Orders of which a condition asks whether they were placed.
    const named = levels.slice(0, 20).map((at) => place(at, `    id: o${at}\n`));
    const cancels = levels.slice(0, 20).map((at) => `  - {if: o${at}.hasValue(), cancel: o${at}}\n`);
    expect(leaks(`${named.join('')}${cancels.join('')}  - close: BTC-USD\n`, { head })).toEqual([]);
  });

  it('are of no path that goes two ways at one condition over an input', () => {
    const head = 'inputs: {wanted: {type: boolean}}\n';
    const guard = 'protect: {market: BTC-USD, side: short, stop_loss: {fraction: 1, trigger: 50000, price: 49000}}';
    const place = 'place: {type: limit, market: BTC-USD, side: long, size: 0.1, price: 60000}';
    const rounds = (inner: string) => `  - repeat: {max: 2, do: [${inner}]}\n`;
    // Where it is wanted in the first round, the second takes no stop away.
    const either = `{if: inputs.wanted, do: [{${place}}, {${guard}}], else: [{cancel: {mine: BTC-USD}}]}`;
    expect(leaks(rounds(either), { head })).toEqual([]);
  });

  it('are not certain where they may be impossible', () => {
    const head = 'inputs: {wanted: {type: boolean}, size: {type: number}, markets: {type: list<market>}}\n';
    const guarded = (first: string, second: string) =>
      leaks(
        ENTRY.replace('- id', `- if: ${first}\n    id`) + GUARD.replace('- protect', `- if: ${second}\n    protect`),
        { head },
      );
    expect(guarded('inputs.wanted', 'inputs.wanted')).toEqual([]);
    expect(guarded('inputs.size > 1', 'inputs.size > 0')).toEqual(UNPROVEN);
    expect(guarded('inputs.wanted', 'inputs.size > 0')).toEqual(VIOLATED);
    const each = (steps: string) => `  - for_each: {each: m, in: inputs.markets, do: [${steps}]}\n`;
    const stop = 'protect: {market: BTC-USD, side: short, stop_loss: {fraction: 1, trigger: 50000, price: 49000}}';
    expect(leaks(ENTRY + each(`{${stop}}`), { head })).toEqual(UNPROVEN);
    const half = stop.replace('fraction: 1', 'fraction: 0.5');
    // The second may close half of what the first has left.
    expect(leaks(`${ENTRY}  - ${half}\n  - ${half}\n`)).toEqual(UNPROVEN);
    expect(leaks(`${ENTRY}  - ${half}\n  - ${stop}\n`)).toEqual([]);
    expect(leaks(`${ENTRY}  - for_each: {each: k, in: range(3), do: [{${half.replace('0.5', '0.34')}}]}\n`)).toEqual(
      UNPROVEN,
    );
  });

  it('cover a market by a stop in the same one', () => {
    expect(leaks(ENTRY + GUARD.replace('BTC-USD', 'ETH-USD'))).toEqual(VIOLATED);
    expect(leaks(`${ENTRY}${GUARD}  - cancel: {mine: ETH-USD}\n`)).toEqual([]);
  });

  it('end where a branch ends the run, wherever the others are', () => {
    const raced = (join: string, after: string) => `  - parallel:
      join: ${join}
      branches:
        watch:
          - wait: 1m
        enter:
          - id: entry
            place: {type: limit, market: BTC-USD, side: long, size: 0.1, price: 60000}
          - cancel: entry
          - assert: entry.filled == 0
${after}`;
    expect(leaks(raced('all', ''))).toEqual([]);
    expect(leaks(raced('any', ''))).toEqual(UNPROVEN);
    expect(leaks(raced('any', GUARD))).toEqual([]);
    expect(leaks(raced('all', '').replace('- wait: 1m', '- stop: {outcome: early}'))).toEqual(UNPROVEN);
  });

  it('are not of one market where its name gets a value in between', () => {
    const vars = 'vars: {m: {type: market, init: BTC-USD}, n: {type: size, init: 0}}\n';
    const none = { head: `${vars}leaves: {position: none}\n` };
    const entry = ENTRY.replace('market: BTC-USD', 'market: "${m}"');
    const guard = GUARD.replace('market: BTC-USD', 'market: "${m}"');
    const set = (name: string, value: string) => `  - set: {${name}: ${value}}\n`;
    const close = '  - close: "${m}"\n';
    expect(leaks(entry + close, none)).toEqual([]);
    expect(leaks(entry + set('n', '1') + close, none)).toEqual([]);
    expect(leaks(entry + set('m', "'ETH-USD'"), none)).toEqual(VIOLATED);
    expect(leaks(entry + set('m', "'ETH-USD'") + close, none)).toEqual(UNPROVEN);
    expect(
      leaks(entry + close + set('m', "'ETH-USD'") + entry.replace('id: entry', 'id: other') + close, none),
    ).toEqual([]);
    // A stop covers what it covered.
    expect(leaks(entry + guard + set('m', "'ETH-USD'"), { head: vars })).toEqual([]);
    expect(leaks(entry + set('m', "'ETH-USD'") + guard, { head: vars })).toEqual(UNPROVEN);
    const asked = `  - if: position(m) == 0\n    stop: {outcome: nothing}\n`;
    expect(leaks(`${entry}  - cancel: entry\n${asked}${guard}`, { head: vars })).toEqual([]);
    const gone = `  - assert: position(m) == 0\n`;
    expect(leaks(`${entry}  - cancel: entry\n${asked}${gone}`, { head: vars })).toEqual([]);
    expect(leaks(`${entry}  - cancel: entry\n${asked}${set('m', "'ETH-USD'")}${gone}`, { head: vars })).toEqual(
      UNPROVEN,
    );
  });

  it('may be of the market that a step names in another way', () => {
    const head = `inputs: {market: {type: market}, other: {type: market}, markets: {type: list<market>}}
let: {same: inputs.market}
vars: {legs: {type: list<order>, init: []}}
`;
    const none = { head: `${head}leaves: {position: none}\n` };
    const entry = (market: string) => ENTRY.replace('BTC-USD', `"\${${market}}"`);
    const each = (name: string, list: string, steps: string) =>
      `  - for_each:\n      each: ${name}\n      in: ${list}\n      do:\n${steps.replaceAll(/^(?=.)/gm, '      ')}`;
    const close = (market: string) => `  - close: "\${${market}}"\n`;
    const keep = '  - set:\n      legs: legs + [entry]\n';
    for (const [steps, expected] of [
      [entry('inputs.market') + close('entry.market_id'), UNPROVEN],
      [entry('inputs.market') + close('same'), UNPROVEN],
      [each('m', 'inputs.markets', entry('m')) + each('n', 'inputs.markets', close('n')), UNPROVEN],
      [each('m', 'inputs.markets', entry('m') + keep) + each('o', 'legs', close('o.market_id')), UNPROVEN],
      [entry('inputs.market') + close('inputs.other'), VIOLATED],
    ] as const)
      expect(leaks(steps, none), steps).toEqual(expected);
    const guard = GUARD.replace('BTC-USD', '"${inputs.market}"');
    expect(leaks(entry('inputs.market') + GUARD.replace('BTC-USD', '"${entry.market_id}"'), { head })).toEqual(
      UNPROVEN,
    );
    // It may cancel the stop.
    const cancel = '  - cancel: {mine: "${entry.market_id}"}\n';
    expect(leaks(entry('inputs.market') + guard + cancel, { head })).toEqual(UNPROVEN);
    const failing = `${close('entry.market_id')}    catch: [{on: [unprotected_position], then: continue}]\n`;
    expect(leaks(entry('inputs.market') + guard + failing, { head })).toEqual(UNPROVEN);
  });

  it('follow the names of a def', () => {
    const head = 'def: {m: "\'BTC-USD\'", flat: position(m) == 0, wide: inputs.wide, x: n}\n';
    const more = `inputs: {wide: {type: boolean}}\nvars: {n: {type: market, init: BTC-USD}}\n${head}leaves: {position: none}\n`;
    const entry = ENTRY.replace('limit,', 'market,');
    const close = (condition: string) => `  - if: ${condition}\n    close: BTC-USD\n`;
    expect(leaks(entry + close('"!flat"'), { head: more })).toEqual([]);
    expect(leaks(entry + close('flat'), { head: more })).toEqual(VIOLATED);
    expect(leaks(`${entry}  - close: "\${m}"\n`, { head: more })).toEqual([]);
    // What never changes is decided once.
    const wide = entry.replace('- id: entry', '- if: wide\n    id: entry');
    expect(leaks(wide + close('wide'), { head: more })).toEqual([]);
    expect(leaks(wide + close('"!wide"'), { head: more })).toEqual(VIOLATED);
    // A name may stand for another market later.
    const named = entry.replace('market: BTC-USD', 'market: "${x}"');
    const asked = '  - {if: position(n) != 0, close: "${x}"}\n';
    expect(leaks(named + asked, { head: more })).toEqual([]);
    expect(leaks(`${named}  - set: {n: 'ETH-USD'}\n${asked}`, { head: more })).toEqual(UNPROVEN);
  });

  it('leave what one branch places after another has closed', () => {
    const none = { head: 'leaves: {position: none}\n' };
    const beside = (step: string, first: boolean) => {
      const enter = `        enter: [{wait: 2s}, {place: {type: market, market: BTC-USD, side: long, size: 0.1, price: 65000}}]\n`;
      const close = `        close: [${step}]\n`;
      return `  - parallel:\n      join: all\n      branches:\n${first ? close + enter : enter + close}`;
    };
    const steps = [
      '{close: BTC-USD}',
      '{manage: {market: BTC-USD, side: short, stop_loss: {trigger: 50000, price: 49000}}, timeout: 1h}',
    ];
    for (const step of steps)
      for (const first of [true, false]) {
        expect(leaks(beside(step, first), none)).toEqual(UNPROVEN);
        expect(leaks(`${beside(step, first)}  - close: BTC-USD\n`, none)).toEqual([]);
      }
    // What was placed before the branches is closed, and so is what its own branch has placed.
    const inner = beside('{close: BTC-USD}', false).replace(/enter: .*/, 'watch: [{wait: 1s}]');
    expect(leaks(ENTRY + inner, none)).toEqual([]);
    expect(leaks(beside('{close: BTC-USD}', false).replace('65000}}]', '65000}}, {close: BTC-USD}]'), none)).toEqual(
      [],
    );
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
    expect(leaks(call, { called })).toEqual(UNPROVEN);
    expect(leaks(call, { called: inner(''), head: 'leaves: {position: none}\n' })).toHaveLength(1);
  });

  it('leave what a called runbook may have taken the stop of', () => {
    const head = 'needs: [cancel_all]\n';
    const called = (step: string) => ({ inner: `runbook: inner\ndsl: 1\n${head}steps:\n  - ${step}\n` });
    const calls = `${ENTRY}${GUARD}  - call: {runbook: inner, with: {}}\n`;
    expect(leaks(calls, { called: called('cancel: {mine: BTC-USD}') })).toEqual(UNPROVEN);
    expect(leaks(calls, { head, called: called('cancel_all: {everyone: true}') })).toEqual(UNPROVEN);
    expect(leaks(calls, { called: called('close: ETH-USD') })).toEqual([]);
    const last = called('wait: 1s');
    const behind = (step: string) => ({ inner: `${last.inner}finally: [{${step}}]\n` });
    expect(leaks(calls, { called: behind('cancel: {mine: BTC-USD}') })).toEqual(UNPROVEN);
    expect(leaks(calls, { called: behind('close: ETH-USD') })).toEqual([]);
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
