/**
 * Runs as a process of shared-processes.test.ts: holds a lease, takes tokens from the shared ledger without end, and sends
 * requests to the parent, which plays the venue. Arguments: folder or URL of a database, owner, settings as JSON.
 */
import { join } from 'node:path';
import { SystemClock } from '../../src/base/clock.ts';
import { LocalBudget } from '../../src/gateway/tokens/budget.ts';
import { openSharedPostgres } from '../../src/journal/shared/postgres.ts';
import { openSharedSqlite } from '../../src/journal/shared/sqlite.ts';
import { budgetSettings } from '../../src/venue/tokens/ledger.ts';

const [place = '', owner = '', settings = '{}'] = process.argv.slice(2);
const shared = place.startsWith('postgres:')
  ? await openSharedPostgres({ url: place, name: 'the database' })
  : await openSharedSqlite({ file: join(place, 'shared.db'), ledgerFile: join(place, 'ledger.db') });
await shared.leases.acquire(`account of ${owner}`, owner);
const budget = new LocalBudget(
  budgetSettings(JSON.parse(settings)),
  new SystemClock(),
  {},
  {
    random: Math.random,
    share: { rows: shared.ledgers, key: 'k', owner },
  },
);

interface Said {
  readonly request: number;
  readonly granted: boolean;
  readonly remaining: number;
}
const asked = new Map<number, (said: Said) => void>();
process.on('message', (said: Said) => asked.get(said.request)?.(said));
process.on('disconnect', () => process.exit(0));

let requests = 0;
async function ask(weight: number): Promise<void> {
  const answer = await budget.acquire({ endpoint: 'GET /account', weight, class: 'read' });
  if (answer.kind === 'refused') throw new Error(answer.code);
  const request = ++requests;
  const said = await new Promise<Said>((resolve) => {
    asked.set(request, resolve);
    process.send?.({ request, weight });
  });
  asked.delete(request);
  const headers = {
    'x-ratelimit-limit': String(budgetSettings(JSON.parse(settings)).tokens),
    'x-ratelimit-remaining': String(said.remaining),
  };
  answer.ticket.answered(headers, { limited: !said.granted });
}

async function lane(weights: readonly number[]): Promise<never> {
  for (let turn = 0; ; turn += 1) await ask(weights[turn % weights.length] as number);
}
for (const weights of [[1], [1, 1, 5], [10], [3]]) void lane(weights);
