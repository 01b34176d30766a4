/** Tests `account.position` where recorded exchanges replace the venue. */
import { expect, it } from 'vitest';
import { dryRun } from '../../src/app/run/virtual-run.ts';
import type { DecimalString } from '../../src/base/decimal.ts';
import { MemoryStore } from '../../src/journal/stores/memory.ts';
import { loadedFrom } from '../engine/stage.ts';

const START = Date.UTC(2026, 0, 5, 8);
const text = `runbook: one
dsl: 1
steps:
  - notify: {to: desk, text: "\${account.position('BTC-USD')}"}
`;

it.each([
  [
    'what the fixture records',
    [{ name: 'account.position', key: 'BTC-USD', value: '0.3' as DecimalString, afterMs: -1 }],
    '0.3',
  ],
  ['what the run has filled, where it records nothing', [], '0'],
])('is %s', async (_what, feeds, held) => {
  const said: unknown[] = [];
  await dryRun({
    loaded: loadedFrom({ file: 'one.yaml', text }),
    inputs: {},
    run: 'r',
    at: START,
    seed: 1,
    store: new MemoryStore(),
    venue: {
      kind: 'fixtures',
      file: 'f.yaml',
      sha256: '',
      fixture: {
        recordedAt: START,
        startMs: START,
        markets: { 'BTC-USD': { tick: '1', lot: '0.0001', min_size: '0.0001' } },
        feeds,
        exchanges: [],
      },
    },
    onEntry: (entry) => void (entry.type === 'notification.sent' && said.push(entry.data.text)),
  });
  expect(said).toEqual([held]);
});
