/**
 * Adds a step to the table, and sees it everywhere: schema, checks, run, plan, bounds, chart, timeline and reference. The program is
 * bundled with one more row, and nothing else is changed.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Plugin } from 'esbuild';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { bundleProgram } from '../bundle.js';
import type * as Everything from './new-step-bundle.ts';

/** Sets the leverage of a market to one: a call of an endpoint that has one already, so no function is needed. */
const ROW = `
  lower_leverage: {
    group: 'venue',
    summary: 'Sets the leverage of a market to one.',
    takes: fields({ market: need(MARKET, 'market id') }),
    calls: [
      call('lower_leverage', 'PUT /account/leverage', {
        class: 'enter',
        params: (args, values) => ({ market_id: values.text(args.market), leverage: 1 }),
      }),
    ],
    retry: 'write',
    risk: 'none',
    yields: ACCOUNT,
    yieldsDoc: 'the account record after the change',
    modifiers: WRITE,
    say: (args) => args.market.text,
  },`;
const FAMILY = /src\/runbook\/steps\/readings\.ts$/;
const addRow: Plugin = {
  name: 'one more row',
  setup: ({ onLoad }) =>
    onLoad({ filter: FAMILY }, async ({ path }) => {
      const text = await readFile(path, 'utf8');
      const head = 'export const READING_STEPS = {';
      if (!text.includes(head)) throw new Error(`${path} has no table`);
      return { contents: text.replace(head, head + ROW), loader: 'ts' };
    }),
};

let bundle: Awaited<ReturnType<typeof bundleProgram>>;
let program: typeof Everything;
beforeAll(async () => {
  bundle = await bundleProgram(join(import.meta.dirname, 'new-step-bundle.ts'), { plugins: [addRow] });
  program = (await import(pathToFileURL(bundle.file).href)) as typeof Everything;
});
afterAll(() => bundle.remove());

const SOURCE =
  'runbook: lower\ndsl: 1\nsteps:\n  - id: account\n    lower_leverage: {market: BTC-USD}\noutputs: {equity: account.account_equity}\n';

it('a row is checked, planned, bounded, run, drawn and documented', async () => {
  expect(JSON.stringify(program.buildRunbookSchema())).toContain('"lower_leverage"');
  expect(program.makeReferencePages()['steps']).toContain('## lower_leverage');
  const missing = program.check(SOURCE.replace('market: BTC-USD', ''));
  expect(missing.diagnostics.map(({ code }) => code)).toContain('missing-key');
  const { runbook, diagnostics } = program.check(SOURCE);
  expect(diagnostics).toEqual([]);
  if (runbook === undefined) throw new Error('the runbook was refused');
  const plan = program.planFor(runbook, {}, { now: 0 });
  expect(plan.rows).toContainEqual(
    expect.objectContaining({ path: '/account/leverage', params: { market_id: 'BTC-USD', leverage: '1' } }),
  );
  expect(plan.bounds.requests['PUT /account/leverage']).toMatchObject({ min: 1 });
  const { report, books } = await program.run(SOURCE);
  expect(report).toMatchObject({ outcome: 'succeeded', steps: [{ verb: 'lower_leverage', outcome: 'succeeded' }] });
  expect(books).toContainEqual(expect.objectContaining({ endpoint: 'PUT /account/leverage' }));
  expect(program.renderMermaidChart(runbook)).toContain('lower_leverage BTC-USD');
});
