/** Tests that a sweep is the sum of its single runs, whatever thread made them. */
import { describe, expect, it } from 'vitest';
import { EXIT } from '../../src/app/errors.ts';
import { formatInputs, loadRunbook } from '../../src/app/files/load.ts';
import { readGrid } from '../../src/app/sweep/grid.ts';
import { listSources, runAll } from '../../src/app/sweep/runs.ts';
import { makeFigureTable } from '../../src/app/sweep/table.ts';
import { SILENT } from '../../src/app/voice.ts';
import { decimal } from '../../src/base/decimal.ts';
import { folder } from './command.ts';

const TURN = `runbook: turn
dsl: 1
inputs:
  size: {type: size, default: 0.01}
  pause: {type: duration, default: 5m}
  tags: {type: list<text>, default: [a]}
limits: {markets: [BTC-USD]}
leaves: {position: none}
feeds:
  mid: {type: price, max_age: 5s}
steps:
  - id: entry
    place: {type: market, market: BTC-USD, side: long, size: inputs.size, price: tick(feeds.mid * 1.01)}
    await: filled
  - wait: inputs.pause
  - place: {type: market, market: BTC-USD, side: short, size: entry.filled, price: tick(feeds.mid * 0.99)}
    await: filled
outputs: {tags: inputs.tags}
`;
const AT = '2026-01-05T08:00:00.000Z';
const SEEDS = [11, 12, 13, 14, 15, 16, 17] as const;

interface Report {
  readonly outcome: string;
  readonly startedAt: string;
  readonly endedAt: string;
  readonly money: Readonly<Record<string, Readonly<Record<'net' | 'fees' | 'slippage' | 'maxDrawdown', string>>>>;
}

describe('dry-run --sweep', () => {
  const here = folder();
  here.write('turn.yaml', TURN);
  const sweep = (...args: readonly string[]) => {
    const { exit, out, err } = here.run('dry-run', 'turn.yaml', '--at', AT, '--json', ...args);
    return { exit, err, ...JSON.parse(out) };
  };

  it('gives the percentiles of the single runs by nearest rank, and a command that repeats the worst', () => {
    const { exit, err, runs, outcomes, percentiles, worst } = sweep('--sweep', '7', '--seed', '11');
    const single = SEEDS.map((seed): Report & { seed: number } => ({
      seed,
      ...JSON.parse(here.run('dry-run', 'turn.yaml', '--at', AT, '--json', '--seed', String(seed)).out),
    }));
    expect([exit, runs, outcomes]).toEqual([EXIT.done, 7, { succeeded: 7 }]);
    expect(err).not.toContain('#');
    const rank = (percent: number) => Math.ceil((percent * 7) / 100) - 1;
    for (const figure of ['net', 'fees', 'slippage', 'maxDrawdown'] as const) {
      const values = single
        .map(({ money }) => money['BTC-USD']?.[figure] ?? '')
        .sort((a, b) => decimal(a).comparedTo(decimal(b)));
      expect(percentiles[figure]).toEqual({
        p5: values[rank(5)],
        p25: values[rank(25)],
        p50: values[rank(50)],
        p75: values[rank(75)],
        p95: values[rank(95)],
      });
    }
    const durations = single
      .map(({ startedAt, endedAt }) => Date.parse(endedAt) - Date.parse(startedAt))
      .sort((a, b) => a - b);
    expect(percentiles.durationMs.p50).toBe(durations[3]);
    // The position is open from the fill to the exit, without a stop.
    expect(percentiles.unprotectedMs.p5).toBeGreaterThan(299_000);
    expect(percentiles.unprotectedMs.p95).toBeLessThan(percentiles.durationMs.p95);

    const ranked = [...single].sort((a, b) =>
      decimal(a.money['BTC-USD']?.net ?? '').comparedTo(decimal(b.money['BTC-USD']?.net ?? '')),
    );
    expect(worst.map(({ seed }: { seed: number }) => seed)).toEqual(ranked.slice(0, 5).map(({ seed }) => seed));
    const [, ...words] = worst[0].command.split(' ');
    const again: Report = JSON.parse(here.run(...words, '--json').out);
    expect(again.money['BTC-USD']?.net).toBe(worst[0].net);
  });

  it('gives the same table from one thread and from all', { tags: ['long'] }, async () => {
    const { percentiles, outcomes } = sweep('--sweep', '7', '--seed', '11');
    const loaded = loadRunbook(`${here.path}/turn.yaml`, SILENT);
    const [point] = readGrid(loaded.runbook, [], undefined);
    const setup = { sources: listSources(loaded), at: Date.parse(AT), config: {}, feeds: {}, answers: new Map() };
    const inputs = formatInputs(point?.inputs ?? {});
    const done: number[] = [];
    const figures = await runAll(
      setup,
      SEEDS.map((seed) => ({ inputs, seed })),
      { threads: 1, onDone: (count) => done.push(count) },
    );
    const { percentiles: alone, outcomes: ends } = makeFigureTable(figures);
    expect(done).toEqual([1, 2, 3, 4, 5, 6, 7]);
    expect({ percentiles, outcomes }).toEqual({ percentiles: alone, outcomes: ends });
  });

  it('runs every combination of the inputs, and says so in the commands', () => {
    const { runs, grid, worst } = sweep('--sweep', '2', '--input', 'size=0.01,0.02', '--input', 'pause=1m,2m,3m');
    expect(runs).toBe(12);
    expect(grid.map(({ inputs }: { inputs: object }) => inputs)).toEqual(
      ['0.01', '0.02'].flatMap((size) => ['1m', '2m', '3m'].map((pause) => ({ size, pause }))),
    );
    for (const each of grid) expect(each).toMatchObject({ runs: 2, outcomes: { succeeded: 2 } });
    expect(worst[0].command).toMatch(/--input size=0\.0[12] --input pause=[123]m --seed [12]$/);
  });

  it('takes commas in a list as part of it, and several lists as several values', () => {
    expect(sweep('--sweep', '1', '--input', 'tags=["a","b"]').runs).toBe(1);
    const { grid, worst } = sweep('--sweep', '1', '--input', 'tags=["a","b"]', '--input', 'tags=[]');
    expect(grid.map(({ inputs }: { inputs: object }) => inputs)).toEqual([{ tags: '["a","b"]' }, { tags: '[]' }]);
    expect(worst.map(({ command }: { command: string }) => command)).toContainEqual(
      expect.stringContaining(`'tags=["a","b"]'`),
    );
  });

  it('writes no journal, and draws its histogram as a picture without scripts', () => {
    expect(here.run('dry-run', 'turn.yaml', '--sweep', '3', '--chart', 'net.svg', '--state', 'empty').exit).toBe(
      EXIT.done,
    );
    expect(JSON.parse(here.run('audit', 'list', '--json', '--state', 'empty').out).runs).toEqual([]);
    const svg = here.read('net.svg');
    expect(svg).toMatch(/^<svg [\s\S]*<\/svg>\n$/);
    expect(svg.match(/class="bar/g)?.length).toBeGreaterThan(0);
    here.run('dry-run', 'turn.yaml', '--sweep', '3', '--chart', 'net.html');
    expect(here.read('net.html')).toMatch(/^<!doctype html>[\s\S]*<svg/);
    expect(here.read('net.html')).not.toContain('<script');
  });

  it.each([
    [['--sweep', '0'], 'at least 1'],
    [['--sweep', 'many'], 'whole number'],
    [['--sweep', '200000'], 'at most 100000'],
    [['--sweep', '2', '--record', 'x.yaml'], '--record'],
    [['--sweep', '2', '--fixtures', 'x.yaml'], '--fixtures'],
    [['--sweep', '2', '--chart', 'net.png'], '.svg or .html'],
    [['--sweep', '2', '--input', 'size=0.01,0.01'], 'twice'],
    [['--sweep', '2', '--input', 'size=0.01,big'], 'size'],
  ])('refuses %j', (args, message) => {
    expect(sweep(...args)).toMatchObject({ exit: EXIT.usage, error: { message: expect.stringContaining(message) } });
  });
});
