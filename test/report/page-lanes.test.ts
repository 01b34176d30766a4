/** Tests the lanes of the time axis by the page's own script: their shapes and words for a span of time. */
import { describe, expect, it } from 'vitest';
import type { Entry } from '../../src/journal/entry.ts';
import { type RunPageDocument, RunPageFold } from '../../src/report/folds/run-facts.ts';
import { createTimeScale } from '../../src/report/time-scale.ts';
import { sampleRun } from './sample-run.ts';

interface Drawn {
  readonly paths: readonly { readonly name: string; readonly d: string }[];
  readonly texts: readonly { readonly text: string; readonly name: string }[];
}
interface Lane {
  readonly key: string;
  readonly tone?: string;
  draw(scale: object, width: number): Drawn;
  describeAt(time: number): string | undefined;
}
const folder = new URL('../../src/report/page/assets/', import.meta.url).href;
const { makeLanes } = (await import(`${folder}lanes.js`)) as {
  makeLanes(run: RunPageDocument, known: number): readonly { readonly key: string; readonly lanes: readonly Lane[] }[];
};

const KNOWN = 75_160;

/** The sample run with a rate limit in its settings and one price reading. */
async function page(): Promise<RunPageDocument> {
  const fold = new RunPageFold();
  for (const entry of await sampleRun()) {
    const started = entry.type === 'run.started';
    fold.apply(started ? { ...entry, data: { ...entry.data, settings: { rate_limit: { tokens: 1200 } } } } : entry);
    if (entry.type !== 'run.started') continue;
    const data = { call: 'f1', name: 'mid', value: '64300', at: entry.at };
    fold.apply({ ...entry, type: 'feed.read', data } as Entry);
  }
  return fold.document();
}

async function lane(key: string): Promise<Lane & { readonly drawn: Drawn }> {
  const found = makeLanes(await page(), KNOWN)
    .flatMap(({ lanes }) => lanes)
    .find((each) => each.key === key);
  if (found === undefined) throw new Error(`there is no lane ${key}`);
  return { ...found, drawn: found.draw(createTimeScale(0, KNOWN, 1000), 1000) };
}

const names = ({ paths }: Drawn) => paths.map(({ name }) => name);
const words = ({ texts }: Drawn) => texts.map(({ text }) => text);

describe('the time axis', () => {
  it('has its lanes in reading order', async () => {
    expect(makeLanes(await page(), KNOWN).map(({ key }) => key)).toEqual([
      'steps',
      'orders',
      'price BTC-USD',
      'requests',
      'deadman',
      'tokens',
    ]);
  });

  it('draws steps by their outcome', async () => {
    expect(names((await lane('steps/0:set_leverage')).drawn)).toEqual(['bar skipped']);
    expect(names((await lane('steps/2:read_account')).drawn)).toEqual(['bar failed']);
    expect((await lane('steps/2:read_account')).tone).toBe('failed');
  });

  it("draws an order's states and its fills", async () => {
    const { drawn, describeAt } = await lane('k2entry2');
    expect(names(drawn)).toEqual(['bar meant', 'bar flight', 'bar open', 'bar over', 'fillmark']);
    expect(describeAt(30_000)).toBe('BTC-USD@11 open at 64200');
  });

  it('draws prices that were read and prices of orders, with a text for each level', async () => {
    const { drawn, describeAt } = await lane('price BTC-USD');
    expect(names(drawn)).toEqual(['feed feed0', 'reading feed0', 'level price long', 'fillmark']);
    expect(words(drawn)).toEqual(['64300', '64190', 'long 64200']);
    expect(describeAt(30_000)).toBe('mid 64300, long 64200');
  });

  it('draws tokens against the limit', async () => {
    const { drawn, describeAt } = await lane('tokens');
    expect(names(drawn)).toEqual(['spent', 'limit']);
    expect(words(drawn)).toEqual(['1\u202f200']);
    expect(describeAt(3000)).toBe('21 tokens of 1\u202f200');
  });

  it('draws a risky silence and one beyond the time-out in other colours', async () => {
    const { drawn, describeAt } = await lane('silence');
    expect(names(drawn)).toEqual(['bar armed', 'silence', 'silence risky', 'silence lost', 'risk']);
    expect(words(drawn)).toEqual(['30 s']);
    expect(describeAt(12_000)).toContain('fires in 50 s');
    expect(describeAt(70_000)).toContain('time-out');
  });

  it('separates lost requests from answered ones', async () => {
    expect(names((await lane('problem')).drawn)).toEqual(['tick problem']);
    expect((await lane('problem')).describeAt(KNOWN)).toContain('no answer');
  });
});
