/** The oracle that holds journals against the chart refuses what the chart does not allow. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { Entry, EntryOf } from '../../src/journal/entry.ts';
import { findDeparture } from './chart-oracle.ts';
import { loadedFrom, type Performance, perform } from './stage.ts';

const text = (name: string) =>
  readFileSync(new URL(`../golden/engine/${name}.yml`, import.meta.url), 'utf8').split(/^---\n/m)[0] ?? '';

async function play(source: string) {
  const loaded = loadedFrom({ file: 'case.yaml', text: source });
  const { entries }: Performance = await perform({ loaded, inputs: {}, config: {} });
  return { runbook: loaded.runbook, entries };
}

const SOURCE = `runbook: case
dsl: 1
vars: {n: {type: integer, init: 0}}
steps:
  - id: first
    set: {n: 1}
  - id: second
    set: {n: 2}
  - id: caught
    assert: n > 5
    catch: [{on: [assertion], do: [{id: handled, set: {n: 3}}], then: continue}]
  - id: rounds
    repeat: {max: 2, do: [{id: inside, wait: 1s}]}
  - id: both
    parallel:
      branches:
        left: [{id: l, wait: 1s}]
        right: [{id: r, wait: 2s}]
  - if: n > 9
    id: never
    set: {n: 4}
finally:
  - id: last
    set: {n: 5}
`;

describe('a journal', async () => {
  const { runbook, entries } = await play(SOURCE);
  const isOf = (entry: Entry, id: string) => entry.step.endsWith(`/${id}`);
  const without = (...ids: readonly string[]) => entries.filter((entry) => !ids.some((id) => isOf(entry, id)));
  const ending = (id: string, data: Partial<EntryOf<'step.ended'>['data']>): readonly Entry[] =>
    entries.map((entry) =>
      entry.type === 'step.ended' && isOf(entry, id) ? { ...entry, data: { ...entry.data, ...data } } : entry,
    );
  const error = { kind: 'rejected', message: 'no' };
  const swapped = () => {
    const first = entries.filter((entry) => isOf(entry, 'first'));
    const second = entries.filter((entry) => isOf(entry, 'second'));
    const at = entries.indexOf(first[0] as Entry);
    const rest = entries.filter((entry) => !first.includes(entry) && !second.includes(entry));
    return rest.toSpliced(at, 0, ...second, ...first);
  };

  it('is a path through the chart of its runbook', () => {
    expect(findDeparture(runbook, entries)).toBeUndefined();
    expect(entries.at(-1)).toMatchObject({ type: 'run.ended', data: { outcome: 'succeeded' } });
  });

  it.each(['first', 'second', 'caught', 'rounds', 'both', 'l', 'never', 'last'])(
    'is refused without the step %s',
    (id) => {
      expect(findDeparture(runbook, without(id))).toBeDefined();
    },
  );

  it('is refused with two steps swapped', () => {
    expect(findDeparture(runbook, swapped())).toBeDefined();
  });

  it('is refused with a catch that was not taken', () => {
    expect(findDeparture(runbook, without('handled'))).toBeDefined();
  });

  it.each([
    ['first', { outcome: 'failed', error }],
    ['first', { outcome: 'halted' }],
    ['second', { outcome: 'skipped' }],
    ['caught', { outcome: 'succeeded' }],
    ['handled', { outcome: 'failed', error }],
    ['inside', { outcome: 'failed', error }],
    ['rounds', { outcome: 'failed', error }],
    ['r', { outcome: 'failed', error }],
    ['both', { outcome: 'failed', error }],
    ['never', { outcome: 'succeeded' }],
    ['last', { outcome: 'failed', error }],
  ] as const)('is refused with another outcome of %s: %j', (id, data) => {
    expect(findDeparture(runbook, ending(id, data))).toBeDefined();
  });

  it.each(['failed', 'stopped', 'halted'] as const)('is refused with the outcome %s of the run', (outcome) => {
    const changed = entries.map((entry) =>
      entry.type === 'run.ended' ? { ...entry, data: { ...entry.data, outcome } } : entry,
    );
    expect(findDeparture(runbook, changed)).toBeDefined();
  });

  it('is refused with a round left out', () => {
    const round = entries.filter(({ step }) => step.includes('rounds[0]'));
    expect(round.length).toBeGreaterThan(0);
    expect(
      findDeparture(
        runbook,
        entries.filter((entry) => !round.includes(entry)),
      ),
    ).toBeDefined();
  });

  it('is refused by the chart of another runbook', async () => {
    const other = await play(text('catch-continue-goes-on-after-the-failed-step'));
    expect(findDeparture(other.runbook, entries)).toBeDefined();
    expect(findDeparture(runbook, other.entries)).toBeDefined();
    expect(findDeparture(other.runbook, other.entries)).toBeUndefined();
  });
});

describe('a called runbook', () => {
  const inner = `runbook: inner
dsl: 1
leaves: {position: none}
vars: {n: {type: integer, init: 0}}
steps:
  - place: {type: market, market: BTC-USD, side: long, size: 0.01}
on_error:
  - assert: n > 0
finally:
  - set: {n: 2}
`;
  const outer = `runbook: case
dsl: 1
leaves: {position: open, because: the case asks about the runbook that it calls}
steps:
  - call: {runbook: inner, with: {}}
`;

  it('that leaves too much, and fails with another error in its on_error, is a path: drawn 777071', async () => {
    const loaded = loadedFrom({ file: 'case.yaml', text: outer }, () => ({ file: 'inner.yaml', text: inner }));
    const config = { markets: { 'BTC-USD': { tick: '1', lot: '0.0001', min_size: '0.0001', start: '64000' } } };
    const { entries } = await perform({ loaded, inputs: {}, config });
    const errors = entries.flatMap(({ type, data }) => (type === 'step.ended' && data.error ? [data.error.kind] : []));
    expect(errors).toEqual(['assertion', 'unprotected_position']);
    expect(findDeparture(loaded.runbook, entries)).toBeUndefined();
    // Without the entry that says so its steps have succeeded, and no `on_error` follows.
    const kept = entries.filter(({ type, step }) => type !== 'run.residual' || step === '');
    expect(kept).toHaveLength(entries.length - 1);
    expect(findDeparture(loaded.runbook, kept)).toBeDefined();
  });
});

describe('a called runbook that fails, and stops its own clean-up', () => {
  const play = async (stopping: string) => {
    const inner = `runbook: inner
dsl: 1
vars: {n: {type: integer, init: 0}}
steps:
  - assert: n > 0
on_error:
  - parallel: {branches: {a: [${stopping}], b: [{wait: 1s}]}, join: any}
  - {id: handled, wait: 1s}
finally:
  - parallel: {branches: {a: [${stopping}], b: [{wait: 1s}]}, join: any}
  - {id: last, wait: 1s}
`;
    const outer = 'runbook: case\ndsl: 1\nsteps:\n  - call: {runbook: inner, with: {}}\n';
    const loaded = loadedFrom({ file: 'case.yaml', text: outer }, () => ({ file: 'inner.yaml', text: inner }));
    const { entries } = await perform({ loaded, inputs: {}, config: {} });
    const ids = entries.flatMap((entry) =>
      entry.type === 'step.ended' && entry.data.id !== undefined ? [entry.data.id] : [],
    );
    return { runbook: loaded.runbook, entries, ids };
  };

  it('is a path: drawn 1760007824', async () => {
    const { runbook, entries, ids } = await play('{stop: {outcome: enough}}');
    expect(ids).toEqual([]);
    expect(findDeparture(runbook, entries)).toBeUndefined();
  });

  it('does all of it where nothing stops', async () => {
    const { runbook, entries, ids } = await play('{set: {n: 0}}');
    expect(ids).toEqual(['handled', 'last']);
    expect(findDeparture(runbook, entries)).toBeUndefined();
    for (const id of ids)
      expect(
        findDeparture(
          runbook,
          entries.filter(({ step }) => !step.endsWith(`/${id}`)),
        ),
      ).toBeDefined();
  });
});

describe('a called runbook whose time is over while one of its steps fails', async () => {
  const inner = `runbook: inner
dsl: 1
leaves: {position: open, because: the case asks about the path}
steps:
  - {id: entry, place: {type: limit, market: BTC-USD, side: long, size: 0.01, price: 60000}}
on_error:
  - {id: handled, wait: 1s, catch: [{on: any, then: continue}]}
  - {id: then, wait: 1s}
finally:
  - {id: last, wait: 1s}
`;
  const outer = `runbook: case
dsl: 1
leaves: {position: open, because: the case asks about the path}
steps:
  - parallel: {branches: {only: [{call: {runbook: inner, with: {}}}]}}
    timeout: 3500ms
    catch: [{on: [timeout, rejected], then: continue}]
`;
  const loaded = loadedFrom({ file: 'case.yaml', text: outer }, () => ({ file: 'inner.yaml', text: inner }));
  const playAt = async (refusedAfterMs: number) => {
    const market = { tick: '1', lot: '0.0001', min_size: '0.0001', start: '64000' };
    const { entries } = await perform({
      loaded,
      inputs: {},
      config: {
        markets: { 'BTC-USD': market },
        faults: [{ on: 'POST /orders', do: 'error', error: 'INSUFFICIENT_MARGIN' }],
      },
      between: (venue, time) => ({
        async send(request, options) {
          const reply = await venue.send(request, options);
          if (request.endpoint === 'POST /orders')
            await new Promise<void>((resolve) => void time.at(time.now() + refusedAfterMs, resolve));
          return reply;
        },
      }),
    });
    return entries;
  };
  const endsOf = (entries: readonly Entry[]) =>
    entries.flatMap((entry) =>
      entry.type === 'step.ended' && entry.data.id !== undefined ? [[entry.data.id, entry.data.outcome]] : [],
    );

  it.each([
    [
      4000,
      [
        ['entry', 'failed'],
        ['last', 'succeeded'],
      ],
    ],
    [
      3000,
      [
        ['entry', 'failed'],
        ['handled', 'failed'],
        ['last', 'succeeded'],
      ],
    ],
    [
      1500,
      [
        ['entry', 'failed'],
        ['handled', 'succeeded'],
        ['then', 'failed'],
        ['last', 'succeeded'],
      ],
    ],
  ])('and is refused after %i ms, goes on with its finally: drawn 901748', async (refusedAfterMs, expected) => {
    const entries = await playAt(refusedAfterMs);
    expect(endsOf(entries)).toEqual(expected);
    expect(findDeparture(loaded.runbook, entries)).toBeUndefined();
  });

  it('does its on_error where its time is not over', async () => {
    const entries = await playAt(0);
    expect(endsOf(entries).map(([id]) => id)).toEqual(['entry', 'handled', 'then', 'last']);
    expect(findDeparture(loaded.runbook, entries)).toBeUndefined();
    const without = (...ids: readonly string[]) =>
      entries.filter(({ step }) => !ids.some((id) => step.endsWith(`on_error/${id}`)));
    expect(findDeparture(loaded.runbook, without('then'))).toBeDefined();
    expect(findDeparture(loaded.runbook, without('handled', 'then'))).toBeDefined();
  });
});

describe('a run that the deadman switch interrupts while no step waits', () => {
  it('and that halts, goes on behind a failure that a clause took: drawn 1790014053', async () => {
    const loaded = loadedFrom({
      file: 'case.yaml',
      text: `runbook: case
dsl: 1
leaves: {position: open, because: the case asks about the path}
deadman: {market: BTC-USD, timeout: 6s, on_exit: disarm, keep_alive: 0s}
vars: {n: {type: integer, init: 0}}
steps:
  - if: n == 0
    do:
      - id: entry
        place: {type: limit, market: BTC-USD, side: long, size: 0.01, price: 60000}
        catch: [{on: [unknown_outcome], then: retry}, {on: any, then: continue}]
  - wait: 1s
`,
    });
    const market = { tick: '1', lot: '0.0001', min_size: '0.0001', start: '64000' };
    const faults = [{ on: 'POST /orders', do: 'error', error: 'CLIENT_ORDER_ID_DUPLICATE' }] as const;
    const { entries } = await perform({ loaded, inputs: {}, config: { markets: { 'BTC-USD': market }, faults } });
    const ends = entries.flatMap(({ type, data }) =>
      type === 'step.ended' || type === 'step.retried' ? [[data.verb, data.error?.kind]] : [],
    );
    expect(ends).toEqual([
      ['place', 'unknown_outcome'],
      ['place', 'not_found'],
      ['if', undefined],
    ]);
    const moves = entries.flatMap(({ type, data }) => (type === 'run.moved' ? [data.event] : []));
    expect(moves).toEqual(['STARTED', 'FAILED', 'DONE', 'DONE', 'HALTED']);
    expect(findDeparture(loaded.runbook, entries)).toBeUndefined();
    const open = entries.filter(({ type, step }) => !(type === 'step.ended' && step.endsWith('/entry')));
    expect(findDeparture(loaded.runbook, open)).toBeDefined();
  });
});

describe('a parallel step', () => {
  const head = 'runbook: case\ndsl: 1\nvars: {n: {type: integer, init: 0}}\nsteps:\n';

  it('that fails, and succeeds when a clause tries it again, is a path: drawn 400007225', async () => {
    const { runbook, entries } = await play(`${head}  - id: both
    parallel:
      branches:
        left: [{assert: n > 0}]
        right: [{wait: 1s}]
      on_fail: let_others_finish
    catch: [{on: [assertion], do: [{set: {n: 1}}], then: retry}]
`);
    expect(entries.filter(({ type }) => type === 'step.retried')).toHaveLength(1);
    expect(findDeparture(runbook, entries)).toBeUndefined();
    const failing = entries.map((entry) =>
      entry.type === 'step.ended' && entry.step.includes('~2/branches/left')
        ? { ...entry, data: { ...entry.data, outcome: 'failed', error: { kind: 'assertion', message: 'no' } } }
        : entry,
    ) as readonly Entry[];
    expect(findDeparture(runbook, failing)).toBeDefined();
  });

  it('of whose items one stops the run while others are under way is a path: drawn 400003979', async () => {
    const { runbook, entries } = await play(`${head}  - parallel:
      each: k
      in: '[1, 2, 3]'
      max: 3
      do:
        - wait: 1s
        - {if: k == 1, stop: {outcome: enough}}
        - wait: 5s
`);
    expect(entries.at(-1)).toMatchObject({ type: 'run.ended', data: { outcome: 'stopped' } });
    expect(findDeparture(runbook, entries)).toBeUndefined();
  });

  it('of whose items one stops the run inside a loop, and the others do all their rounds, is a path: drawn 1730003102', async () => {
    const { runbook, entries } = await play(`${head}  - parallel:
      each: k
      in: '[1, 2]'
      max: 2
      on_fail: let_others_finish
      do:
        - repeat: {max: 2, do: [{if: k == 1, wait: 30s}, {if: k == 1, stop: {outcome: enough}}, {if: k == 2, wait: 1s}]}
`);
    expect(entries.at(-1)).toMatchObject({ type: 'run.ended', data: { outcome: 'stopped' } });
    expect(findDeparture(runbook, entries)).toBeUndefined();
    const last = entries.filter(({ step }) => step.includes('[1]/do/1:repeat[1]/do/3:wait'));
    expect(last.length).toBeGreaterThan(0);
    const failed = entries.map((entry) =>
      last.includes(entry) && entry.type === 'step.ended'
        ? { ...entry, data: { ...entry.data, outcome: 'failed', error: { kind: 'rejected', message: 'no' } } }
        : entry,
    ) as readonly Entry[];
    expect(findDeparture(runbook, failed)).toBeDefined();
  });

  it('that could have stopped a clean-up, and is followed by a step that is skipped, is a path: drawn 400003307', async () => {
    const { runbook, entries } = await play(`${head}  - wait: 1s
finally:
  - parallel:
      each: k
      in: '[1, 2]'
      max: 2
      do: [{if: k == 3, stop: {outcome: enough}}, {wait: 1s}]
  - {if: n > 0, wait: 1s}
`);
    expect(entries.filter(({ type, step }) => type === 'step.ended' && step === 'finally/2:wait')).toHaveLength(1);
    expect(findDeparture(runbook, entries)).toBeUndefined();
  });

  it('whose items fail in loops while another branch ends it is a path, found in finite time: drawn 410000062', async () => {
    const { runbook, entries } = await play(`${head}  - parallel:
      branches:
        left: [{wait: 1s}, {assert: n > 0}]
        right:
          - parallel:
              each: k
              in: '[1, 2]'
              max: 2
              on_fail: let_others_finish
              do:
                - for_each:
                    each: j
                    in: '[1]'
                    do: [{if: k == 1, wait: 5s}, {if: k == 2, assert: n > 0}]
`);
    expect(entries.at(-1)).toMatchObject({ type: 'run.ended', data: { outcome: 'failed' } });
    expect(findDeparture(runbook, entries)).toBeUndefined();
  });

  it('whose items are undone by waits for a read is a path: drawn 1760305670', async () => {
    const { runbook, entries } = await play(`${head}  - parallel:
      each: k
      in: '[1, 2]'
      max: 2
      do:
        - place: {type: limit, market: BTC-USD, side: long, size: 0.01, price: 60000}
          undo: [{wait_for: {read: {id: w, list_orders: {market: BTC-USD}}, until: w.orders.size() > 0, every: 1s, within: 5s}}]
  - assert: n > 0
`);
    const undone = entries.filter(({ type, step }) => type === 'step.ended' && step.endsWith('/undo/1:wait_for'));
    expect(undone.map(({ step }) => /parallel\[(\d)\]/.exec(step)?.[1])).toEqual(['1', '0']);
    expect(findDeparture(runbook, entries)).toBeUndefined();
    const open = entries.filter(({ type, step }) => !(type === 'step.decided' && step.includes('parallel[0]')));
    expect(findDeparture(runbook, open)).toBeDefined();
  });

  describe.each([
    ['a loop', 'repeat: {max: 2, do: [{if: k > 9, do: [{wait: 1ms}]}, {wait: 1ms}, {if: k == 3, assert: n > 0}]}'],
    ['a block', 'if: k > 0, do: [{if: k == 3, wait: 1ms}, {if: k == 3, assert: n > 0}]'],
  ])('of whose items one fails before others come to %s', (_, next) => {
    it.each([
      ['fails the run', '[1, 1, 3]', ''],
      ['fails the run', '[1, 2, 3]', ''],
      ['is handled', '[3, 1]', 'catch: [{on: any, then: continue}]'],
      ['is tried again', '[3, 1]', 'catch: [{on: any, do: [{set: {n: 1}}], then: retry}]'],
    ])('and %s, is a path, %s: drawn 1780001021', async (_, list, clause) => {
      const { runbook, entries } = await play(`${head}  - parallel:
      each: k
      in: '${list}'
      max: 3
      do:
        - {if: k == 1, place: {type: limit, market: BTC-USD, side: long, size: 0.01, price: 60000}, await: accepted}
        - {${next}}
        - {if: k < 3, wait: 5s}
    ${clause}
`);
      const failed = entries.filter((entry) => entry.type === 'step.ended' && entry.data.error !== undefined);
      const isIn = ({ step }: Entry) => step.startsWith('steps/1:parallel[') && step.endsWith(':assert');
      expect(failed.filter(isIn)).toHaveLength(1);
      expect(findDeparture(runbook, entries)).toBeUndefined();
      expect(
        findDeparture(
          runbook,
          entries.filter((entry) => entry !== failed[0]),
        ),
      ).toBeDefined();
    });
  });

  it('of whose items one comes to no loop, and none fails, is refused', async () => {
    const { runbook, entries } = await play(`${head}  - parallel:
      each: k
      in: '[1, 2]'
      max: 2
      do: [{wait: 1ms}, {repeat: {max: 2, do: [{wait: 1ms}]}}]
`);
    expect(findDeparture(runbook, entries)).toBeUndefined();
    const less = entries.filter(({ step }) => !step.startsWith('steps/1:parallel[0]/do/2'));
    expect(less.length).toBeLessThan(entries.length);
    expect(findDeparture(runbook, less)).toBeDefined();
  });

  it('that fails before its first step, a loop, is a path: drawn 81942', async () => {
    const { runbook, entries } = await play(`${head}  - for_each: {each: k, in: '[1]', do: [{wait: 1s}]}
  - wait: 1s
finally: [{wait: 1s}]
`);
    const error = { kind: 'transport', message: 'nothing was placed' };
    const failed = entries.flatMap((entry): readonly Entry[] => {
      if (entry.step.startsWith('steps/')) return [];
      if (entry.type === 'run.moved' && entry.data.from === 'running')
        return [{ ...entry, data: { ...entry.data, event: 'FAILED' } }];
      return entry.type === 'run.ended' ? [{ ...entry, data: { ...entry.data, outcome: 'failed', error } }] : [entry];
    });
    expect(findDeparture(runbook, failed)).toBeUndefined();
  });
});
