import { it } from 'vitest';
import { readTestFile } from '../../src/cli/testing/test-file.ts';
import { runCase } from '../../src/cli/testing/case-run.ts';
import { casesFor } from '../../src/cli/testing/runbook-names.ts';
import { checkRunbook } from '../../src/runbook/check.ts';
import { PATIENT } from './testing-bench.ts';
const GUARDED = `${PATIENT.replace('runbook: patient', 'runbook: guarded')}deadman: {market: BTC-USD, timeout: 20s, on_exit: disarm}\n`;
it('x', async () => {
  const { file } = readTestFile({ file: 'a', text: `tests: guarded
cases:
  - name: nobody there for longer than the switch waits
    inputs: {patience: 5m}
    venue: [{on: POST /orders, reply: {id: BTC-USD@3}}]
    crash_at: {before: GET /orders, call: 5, down: 1m}
    expect: {orders: [{order_id: BTC-USD@3, state: canceled}], deadman: [armed, assumed_fired], never: [DELETE /orders], error: {kind: deadman_fired}}
` }, () => { throw new Error('x'); });
  const source = { file: 'guarded.yaml', text: GUARDED };
  const { runbook } = checkRunbook(source, () => undefined);
  const cases = casesFor(file!, runbook!);
  const r = await runCase({ loaded: { runbook: runbook!, sources: [{ name: 'guarded', source }] }, test: cases.cases[0]!.test, inputs: cases.cases[0]!.inputs, run: 'r' });
  for (const e of r.entries) console.log(e.seq, new Date(e.at).toISOString().slice(11, 23), e.type, e.step, JSON.stringify(e.data).slice(0, 200));
  console.log(r.problem);
});
