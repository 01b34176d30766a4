/**
 * Acquires tokens as one of several processes that share a budget: `acquirer.mjs LEDGER TOKENS WINDOW-MS FOR-MS START PAUSE-MS`.
 * From the epoch ms START it acquires one token after another and reports each request as answered. Prints when each request was
 * sent (epoch ms) and how long its token took (ms).
 */
import { SystemClock } from '../src/base/clock.ts';
import { LocalBudget } from '../src/gateway/tokens/budget.ts';
import { openSharedSqlite } from '../src/journal/shared/sqlite.ts';
import { budgetSettings } from '../src/venue/tokens/ledger.ts';

const [ledgerFile = '', tokens = '0', windowMs = '0', forMs = '0', start = '0', pauseMs = '0'] = process.argv.slice(2);
const shared = await openSharedSqlite({ file: `${ledgerFile}.shared`, ledgerFile });
const budget = new LocalBudget(
  budgetSettings({ tokens: Number(tokens), windowMs: Number(windowMs) }),
  new SystemClock(),
  {},
  { random: Math.random, share: { rows: shared.ledgers, key: 'bench', owner: String(process.pid) } },
);
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

await pause(Number(start) - Date.now());
const end = Date.now() + Number(forMs);
const sent: number[] = [];
const took: number[] = [];
while (Date.now() < end) {
  const begun = performance.now();
  const answer = await budget.acquire({
    endpoint: 'PUT /orders',
    weight: 1,
    class: 'protect',
    withinMs: end - Date.now(),
  });
  if (answer.kind === 'refused') break;
  took.push(performance.now() - begun);
  sent.push(performance.timeOrigin + performance.now());
  await pause(Number(pauseMs));
  answer.ticket.answered({}, { limited: false });
}
process.stdout.write(JSON.stringify({ sent, took }), () => process.exit(0));
