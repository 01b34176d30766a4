import { describe, expect, it } from 'vitest';
import { placeDiagnostic } from '../../src/base/diagnostic.ts';
import { checkRunbook } from '../../src/runbook/check.ts';

/** The errors of the check, and the text at the place of each finding about a stale read. */
function stale(steps: string, rest = '') {
  const head =
    'runbook: case\ndsl: 1\nleaves: {position: open, because: a case}\ninputs: {wanted: {type: boolean}, market: {type: market}}\n';
  const text = `${head}steps:\n${steps}${rest}`;
  return checkRunbook({ file: 'case.yaml', text }, () => undefined)
    .diagnostics.filter(({ severity }) => severity === 'error')
    .map((diagnostic) => {
      const { line, column, code } = placeDiagnostic(diagnostic);
      expect(text.split('\n')[line - 1]?.slice(column - 1)).toBe(text.slice(diagnostic.span.start).split('\n')[0]);
      return `${code.replace('stale-after-', '')} ${text.slice(diagnostic.span.start, diagnostic.span.end)}`;
    });
}

const place = (awaited = '') =>
  `  - id: entry\n    place: {type: limit, market: BTC-USD, side: long, size: 0.1, price: 60000}\n${awaited === '' ? '' : `    await: ${awaited}\n`}`;
const NOTIFY = (text: string) => `  - notify: {to: ops, text: "\${${text}}"}\n`;
const STOP = (condition: string) => `  - if: ${condition}\n    stop: {outcome: enough}\n`;

describe('an order that no step has used since it was placed', () => {
  it.each(['filled', 'remaining', 'avg_price.orValue(0)', 'status', 'terminal'])('is not read for %s', (field) => {
    const name = field.replace('.orValue(0)', '');
    expect(stale(place() + NOTIFY(`entry.${field}`))).toEqual([`place entry.${name}`]);
    expect(stale(place('live') + NOTIFY(`entry.${field}`))).toEqual([`place entry.${name}`]);
    expect(stale(place('accepted') + NOTIFY(`entry.${field}`))).toEqual([`place entry.${name}`]);
    for (const awaited of ['any_fill', 'filled', 'terminal'])
      expect(stale(place(awaited) + NOTIFY(`entry.${field}`))).toEqual([]);
  });

  it.each(['id', 'client_order_id', 'price', 'size', 'side'])('is read for %s, which does not change', (field) => {
    expect(stale(place('accepted') + NOTIFY(`entry.${field}`))).toEqual([]);
  });

  it('is read for open where it is live, but not to decide on a stop, a failure or an order', () => {
    const order = 'place: {type: limit, market: BTC-USD, side: long, size: 0.1, price: 59000}';
    expect(stale(`${place()}  - if: entry.open\n    cancel: entry\n`)).toEqual([]);
    expect(stale(place('accepted') + NOTIFY('entry.open'))).toEqual(['place entry.open']);
    expect(stale(place() + STOP('entry.open'))).toEqual(['place entry.open']);
    expect(stale(`${place()}  - if: entry.open\n    fail: {because: no}\n`)).toEqual(['place entry.open']);
    expect(stale(`${place()}  - if: entry.open\n    ${order}\n`)).toEqual(['place entry.open']);
    expect(stale(`${place()}  - if: entry.open\n    do:\n      - stop: {outcome: enough}\n`)).toEqual([
      'place entry.open',
    ]);
  });

  it('is known where it is not open any more', () => {
    const requote = `${place()}  - if: entry.open\n    cancel: entry\n`;
    expect(stale(requote + NOTIFY('entry.filled'))).toEqual([]);
    expect(stale(`${place()}  - if: "!entry.open && entry.filled == 0"\n    stop: {outcome: none}\n`)).toEqual([
      'place entry.open',
    ]);
    expect(stale(`${place()}  - if: "!entry.open && entry.filled == 0"\n    notify: {to: ops, text: none}\n`)).toEqual(
      [],
    );
    const loop = `  - repeat:\n      every: 1s\n      for: 1m\n      while: entry.open\n      do:\n        - wait: 1s\n`;
    expect(stale(place() + loop + NOTIFY('entry.filled'))).toEqual(['place entry.filled']);
    expect(stale(place() + loop.replace('wait: 1s', 'refresh: entry') + NOTIFY('entry.filled'))).toEqual([]);
  });

  it.each([
    'refresh: entry',
    'cancel: entry',
    'cancel: {mine: BTC-USD}',
    'cancel: {ids: [entry.id]}',
    'amend: {order: entry, price: 59000}',
    'wait_for: {order: entry, is: live, within: 1m}\n    on_timeout: [{notify: {to: ops, text: "${entry.filled}"}}]',
    'wait_for: {any: [entry], is: any_fill, within: 1m}',
  ])('is used by %s', (step) => {
    expect(stale(`${place()}  - ${step}\n${NOTIFY('entry.filled')}`)).toEqual([]);
  });

  it.each([
    'cancel: {mine: ETH-USD}',
    'wait: 1s',
    'list_orders: {market: BTC-USD, status: open, since: run.started_at}',
  ])('is not used by %s', (step) => {
    expect(stale(`${place()}  - ${step}\n${NOTIFY('entry.filled')}`)).toEqual(['place entry.filled']);
  });

  describe('of an earlier round, or without an id', () => {
    const kept = 'vars: {kept: {type: list<order>, init: []}}\n';
    const rounds = (steps: string) =>
      `  - repeat:\n      max: 3\n      do:\n${steps.replace(/^/gm, '      ').trimEnd()}\n`;
    const ask = "  - if: position('BTC-USD') < 1\n    notify: {to: ops, text: more}\n";
    const stalePosition = ["place position('BTC-USD')"];

    it('is not read for the position that it changes', () => {
      expect(stale(rounds(ask + place()))).toEqual(stalePosition);
      expect(stale(rounds(ask + place().replace('id: entry\n    ', '')))).toEqual(stalePosition);
      expect(stale(place().replace('id: entry\n    ', '') + ask)).toEqual(stalePosition);
      expect(stale(rounds(ask + place('terminal')))).toEqual([]);
      expect(stale(place('terminal').replace('id: entry\n    ', '') + ask)).toEqual([]);
    });

    it.each(['cancel: {mine: BTC-USD}', 'close: BTC-USD'])('is used by %s', (step) => {
      expect(stale(rounds(`  - ${step}\n${ask}${place()}`))).toEqual([]);
      expect(stale(`${place().replace('id: entry\n    ', '')}  - ${step}\n${ask}`)).toEqual([]);
    });

    it.each([
      ['refresh: kept', []],
      ['if: kept.size() > 0\n    cancel: kept', []],
      ['if: kept.size() != 0\n    refresh: kept', []],
      ['if: "!(kept.size() == 0)"\n    refresh: kept', []],
      ['if: kept.size() > 1\n    refresh: kept', stalePosition],
      ['if: kept.size() == 0\n    refresh: kept', stalePosition],
    ])('is used through the list that keeps it by %s', (use, found) => {
      const keep = `${place()}  - set:\n      kept: kept + [entry]\n`;
      expect(stale(rounds(`  - ${use}\n${ask}${keep}`), kept)).toEqual(found);
    });

    it.each([
      ['in: kept\n      do:\n        - refresh: o', []],
      ['in: kept\n      do:\n        - cancel: o', []],
      ['in: kept\n      do:\n        - if: o.open\n          cancel: o', []],
      ['in: kept.filter(k, k.open)\n      do:\n        - refresh: o', []],
      ['in: kept.filter(k, k.price > 1)\n      do:\n        - refresh: o', stalePosition],
      ['in: kept\n      do:\n        - notify: {to: ops, text: "${o.side}"}', stalePosition],
    ])('is used through each item of the list that keeps it: %s', (loop, found) => {
      const keep = `${place()}  - set:\n      kept: kept + [entry]\n`;
      const each = `  - for_each:\n      each: o\n      ${loop}\n`;
      expect(stale(rounds(`${each}${ask}${keep}`), kept)).toEqual(found);
    });

    it('is in no list that was begun anew', () => {
      const keep = (value: string) =>
        `${place()}  - set:\n      kept: kept + [entry]\n  - set:\n      kept: "${value}"\n`;
      const use = '  - if: kept.size() > 0\n    cancel: kept\n';
      expect(stale(rounds(`${use}${ask}${keep('[entry]')}`), kept)).toEqual([]);
      expect(stale(rounds(`${use}${ask}${keep('[]')}`), kept)).toEqual(stalePosition);
    });

    it('is used through the list that collects it', () => {
      const loop = `  - id: ladder\n    for_each:\n      each: k\n      in: range(3)\n      do:\n${place().replace(/^/gm, '      ').trimEnd()}\n      collect: {o: entry}\n`;
      expect(stale(loop + ask)).toEqual(stalePosition);
      expect(stale(`${loop}  - cancel: ladder.map(x, x.o)\n${ask}`)).toEqual([]);
      expect(stale(`${loop.replace('do:', `do:\n${ask.replace(/^/gm, '      ').trimEnd()}`)}`)).toEqual(stalePosition);
    });

    it('may be a stop that the next round replaces', () => {
      const stop = `${place('filled')}  - id: guard\n    protect: {market: BTC-USD, side: short, stop_loss: {fraction: 1, trigger: 59000, price: 58000}}\n`;
      expect(stale(rounds(ask + stop))).toEqual([]);
    });
  });

  it('is known where a step has used a list that it is kept in', () => {
    const kept = 'vars: {kept: {type: list<order>, init: []}}\n';
    const keep = `${place()}  - set:\n      kept: kept + [entry]\n`;
    const shown = NOTIFY('entry.filled') + NOTIFY("position('BTC-USD')");
    expect(stale(keep + shown, kept)).toEqual(['place entry.filled', "place position('BTC-USD')"]);
    for (const use of ['refresh: kept', 'cancel: kept', 'cancel: kept.filter(o, o.open)', 'refresh: [entry]'])
      expect(stale(`${keep}  - ${use}\n${shown}`, kept)).toEqual([]);
    const ladder = `  - for_each:\n      each: level\n      in: [60000, 59000]\n      do:\n${`${place().replace('price: 60000', 'price: level')}  - set:\n      kept: kept + [entry]\n`.replaceAll(/^(?=.)/gm, '      ')}`;
    expect(stale(`${ladder}  - refresh: kept\n${NOTIFY("position('BTC-USD')")}`, kept)).toEqual([]);
    expect(stale(`${ladder}${NOTIFY("position('BTC-USD')")}`, kept)).toEqual(["place position('BTC-USD')"]);
  });

  it('is read too early by a condition that is awaited', () => {
    const wait = (condition: string) => `  - wait_for:\n      until: ${condition}\n      within: 1m\n`;
    expect(stale(place() + wait('entry.filled > 0'))).toEqual(['place entry.filled']);
    expect(stale(`${place()}  - refresh: entry\n${wait('entry.filled > 0')}`)).toEqual([]);
  });

  it('is read too early on one path of several', () => {
    const maybe = (condition: string) => `  - if: ${condition}\n    refresh: entry\n`;
    expect(stale(place() + maybe('inputs.wanted') + NOTIFY('entry.filled'))).toEqual(['place entry.filled']);
    const again = `  - if: inputs.wanted\n    notify: {to: ops, text: "\${entry.filled}"}\n`;
    expect(stale(place() + maybe('inputs.wanted') + again)).toEqual([]);
    const failing = `  - refresh: entry\n    catch: [{on: [transport], then: continue}]\n`;
    expect(stale(place() + failing + NOTIFY('entry.filled'))).toEqual(['place entry.filled']);
    const skipped = place().replace('- id', '- if: inputs.wanted\n    id');
    const awaited =
      '  - if: entry.hasValue()\n    wait_for: {order: entry, is: terminal, within: 1m}\n    on_timeout: [{wait: 1s}]\n';
    expect(stale(skipped + awaited + NOTIFY('entry.filled.orValue(0)'))).toEqual([]);
  });

  it('is read too early by an output, on_error and finally, which follow any step', () => {
    expect(stale(place(), 'outputs: {filled: entry.filled}\n')).toEqual(['place entry.filled']);
    expect(stale(place(), `finally:\n  - cancel: {mine: BTC-USD}\noutputs: {filled: entry.filled}\n`)).toEqual([]);
    const filled = NOTIFY('entry.filled.orValue(0)');
    const touched = `${place()}  - refresh: entry\n`;
    expect(stale(touched, `on_error:\n${filled}`)).toEqual(['place entry.filled']);
    expect(stale(touched, `finally:\n${filled}`)).toEqual(['place entry.filled']);
    expect(stale(place(), `finally:\n  - cancel: {mine: BTC-USD}\n${filled}`)).toEqual([]);
  });

  it.each([
    ['[timeout]', true],
    ['[timeout, rejected]', true],
    ['[rejected]', false],
    ['[not_placed, denied]', false],
  ])('may be there where its step failed with one of %s: %s', (on, mayBeThere) => {
    const handle = (name: string, read: string) =>
      `    catch: [{on: ${on}, do: [{if: ${name}.hasValue(), notify: {to: ops, text: "\${${read}}"}}], then: stop}]\n`;
    const guard =
      '  - id: guard\n    protect: {market: BTC-USD, side: short, stop_loss: {fraction: 1, trigger: 5, price: 4}}\n';
    expect(stale(place() + handle('entry', 'entry.filled'))).toEqual(mayBeThere ? ['place entry.filled'] : []);
    expect(stale(guard + handle('guard.stop_loss', 'guard.stop_loss.filled'))).toEqual(
      mayBeThere ? ['place guard.stop_loss.filled'] : [],
    );
  });

  it('is read too early where a cancel may not have arrived, and by an undo', () => {
    const lost = '  - cancel: entry\n    catch: [{on: [transport], then: continue}]\n';
    expect(stale(place() + lost + NOTIFY('entry.filled'))).toEqual(['place entry.filled']);
    const undone = `${place()}    undo: [{notify: {to: ops, text: "\${entry.filled}"}}]\n`;
    expect(stale(undone)).toEqual(['place entry.filled']);
  });

  it('may be a stop, one of a list, or have another name', () => {
    const guard =
      '  - id: guard\n    protect: {market: BTC-USD, side: short, stop_loss: {fraction: 1, trigger: 50000, price: 49000}}\n';
    expect(stale(place('filled') + guard + NOTIFY('guard.stop_loss.filled'))).toEqual(['place guard.stop_loss.filled']);
    expect(
      stale(`${place('filled')}${guard}  - refresh: guard.stop_loss\n${NOTIFY('guard.stop_loss.filled')}`),
    ).toEqual([]);
    expect(stale(`${place()}  - let: {o: entry}\n${NOTIFY('o.filled')}`)).toEqual(['place o.filled']);
    expect(stale(`${place()}  - let: {o: entry}\n  - refresh: o\n${NOTIFY('entry.filled')}`)).toEqual([]);
    const rungs = `  - id: rungs\n    for_each:\n      each: k\n      in: range(3)\n      do:\n${place().replaceAll(/^/gm, '      ').trimEnd()}\n      collect: {o: entry}\n`;
    const sum = NOTIFY('rungs.map(r, r.o.filled).sum()');
    const each = (inner: string) =>
      `  - for_each:\n      each: r\n      in: rungs.filter(r, r.o.open)\n      do:\n        - ${inner}\n`;
    expect(stale(rungs + sum)).toEqual(['place r.o.filled']);
    expect(stale(rungs + each('refresh: r.o') + sum)).toEqual([]);
    expect(stale(rungs + each('notify: {to: ops, text: "${r.o.filled}"}'))).toEqual(['place r.o.filled']);
    expect(stale(`${rungs}  - cancel: {mine: BTC-USD}\n${sum}`)).toEqual([]);
  });
});

describe('a condition', () => {
  it('says what it says, not what its comments do', () => {
    const inputs = `${place('accepted')}  - if: NOTED\n    notify: {to: ops, text: "\${entry.side}"}\n`;
    expect(stale(inputs.replace('NOTED', "inputs.wanted // && position('BTC-USD') == 0"))).toEqual([]);
    expect(stale(place() + STOP("inputs.wanted && position( 'BTC-USD' ) == 0"))).toEqual([
      "place position( 'BTC-USD' )",
    ]);
    expect(stale(place() + STOP('inputs.wanted && position(("BTC-USD")) == 0'))).toEqual([
      'place position(("BTC-USD"))',
    ]);
  });

  it('is read from left to right, in brackets too', () => {
    const asked = (condition: string) => stale(`${place()}  - if: "${condition}"\n    notify: {to: ops, text: none}\n`);
    expect(asked('!entry.open && (inputs.wanted && entry.filled == 0)')).toEqual([]);
    expect(asked('entry.filled == 0 && !entry.open')).toEqual(['place entry.filled']);
    expect(asked('(inputs.wanted || !entry.open) && entry.filled == 0')).toEqual(['place entry.filled']);
  });
});

describe('the position of the run', () => {
  it('is not read while an order of its market may have filled since', () => {
    expect(stale(place() + STOP("position('BTC-USD') == 0"))).toEqual(["place position('BTC-USD')"]);
    expect(stale(place() + STOP("position('ETH-USD') == 0"))).toEqual([]);
    const given = place().replace('market: BTC-USD', 'market: "${inputs.market}"');
    expect(stale(given + STOP('position(inputs.market) == 0'))).toEqual(['place position(inputs.market)']);
    expect(stale(`${place()}  - refresh: entry\n${STOP("position('BTC-USD') == 0")}`)).toEqual([]);
    const def = `def: {m: "'BTC-USD'", flat: position(m) == 0}\n`;
    expect(stale(place() + STOP('inputs.wanted && flat'), def)).toEqual(['place flat']);
    expect(stale(`${place()}  - refresh: entry\n${STOP('flat')}`, def)).toEqual([]);
    expect(stale(place() + STOP('position(m) == 0'), def)).toEqual(['place position(m)']);
  });
});

describe('an order whose cancel was only accepted', () => {
  const cancelled = `${place('any_fill')}  - cancel: entry\n    await: accepted\n`;

  it.each(['filled', 'remaining', 'avg_price', 'status', 'terminal', 'open'])('is not read for %s', (name) => {
    expect(stale(cancelled + NOTIFY(`entry.${name}`))).toEqual([`cancel entry.${name}`]);
  });

  it('is known after a refresh or a wait, and where the cancel was awaited', () => {
    expect(stale(`${cancelled}  - refresh: entry\n${NOTIFY('entry.filled')}`)).toEqual([]);
    expect(stale(`${place('any_fill')}  - cancel: entry\n${NOTIFY('entry.filled')}`)).toEqual([]);
    expect(
      stale(`${place('any_fill')}  - cancel: {mine: BTC-USD}\n    await: accepted\n${NOTIFY('entry.filled')}`),
    ).toEqual(['cancel entry.filled']);
  });
});
