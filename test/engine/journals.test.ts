/**
 * Holds the entries that the engine writes into the journal of a run. A replay compares a journal with the same engine: only
 * entries that are kept show that it writes others. Sentences are left out. `npx vitest run test/engine/journals.test.ts -u` writes
 * them anew: read the difference before you commit it.
 */
import { expect, it } from 'vitest';
import { type Entry, ORIGIN } from '../../src/journal/entry.ts';
import { formatSince, makeScene, readGolden } from './goldens.ts';
import { perform } from './stage.ts';

const FOLDER = new URL('../golden/journal-entries/', import.meta.url);
const SENTENCES = new Set(['message', 'because', 'reason', 'text', 'why', 'detail']);

/** Goldens of the engine that together take every way through the order manager, the switch and the end of a run. */
const NAMES = [
  'deadman-is-released-after-the-step-that-protects',
  'deadman-is-assumed-fired-when-no-heartbeat-is-answered',
  'deadman-is-armed-again-before-the-next-order-after-it-fired',
  'deadman-heartbeats-go-on-through-a-long-wait',
  'deadman-that-cannot-be-armed-fails-before-any-order',
  'call-shares-one-switch-the-shortest-time-wins',
  'a-refused-order-that-appears-is-adopted-by-the-retry',
  'a-lost-order-is-sent-again-only-when-its-absence-is-proven',
  'a-lost-order-that-appears-after-its-absence-is-cancelled',
  'an-expired-session-is-renewed-and-the-order-looked-up',
  'a-limited-order-is-looked-up-before-it-is-sent-again',
  'protect-tries-a-refused-leg-again-without-doubling-the-other',
  'refresh-and-cancel-take-the-orders-of-a-written-list',
  'cancel-all-keeps-new-orders-back-while-it-is-under-way',
  'approve-goes-on-when-a-person-agrees',
  'catch-stop-ends-the-run-cleanly',
  'finally-that-fails-fails-the-run',
  'a-person-cancels-a-run',
  'leaves-after-a-stop-what-on-error-closes',
  'wait-for-a-condition-reads-its-feeds-each-time',
  'outputs-of-a-stopped-run-are-null-where-nothing-was-made',
  'undo-goes-backwards-through-what-was-done',
];

function formatEntry({ at, type, step, data }: Entry): string {
  const kept = JSON.stringify(data, (key, value) => (SENTENCES.has(key) ? undefined : value));
  return `${formatSince(at)} ${type}${step === '' ? '' : ` ${step}`} ${kept}`;
}

it.each(NAMES)('%s', async (name) => {
  const { runbook, asked } = readGolden(`${name}.yml`);
  const { entries } = await perform(makeScene(name, runbook, asked));
  const written = entries.filter(({ type }) => ORIGIN[type] === 'engine' || type === 'call.intended');
  const lines = written.filter(({ type }) => type !== 'run.started').map(formatEntry);
  await expect(`${lines.join('\n')}\n`).toMatchFileSnapshot(new URL(`${name}.txt`, FOLDER).pathname);
});
