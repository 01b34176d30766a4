/** Measures row 14e: processes that share one token budget, on the real clock. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { computePercentile } from '../measure.ts';
import { getWorkFolder } from '../work-folder.ts';
import type { Row } from './row.ts';

const ACQUIRER = fileURLToPath(new URL('./acquirer.mjs', import.meta.url));
const PROCESSES = 3;
/** Limit at full load: three processes exhaust it at once, repeatedly. */
const LIMIT = 600;
const WINDOW_MS = 2000;
const FULL_LOAD_MS = 9000;
/** Limit at light load: only the cost of sharing is measured. */
const AMPLE = 1e9;
const LIGHT_LOAD_MS = 4000;
/** Time in which all processes start. */
const HEAD_START_MS = 1500;

interface Acquired {
  readonly sent: readonly number[];
  readonly took: readonly number[];
}

let ledgers = 0;

async function runTogether(tokens: number, forMs: number, pauseMs: number): Promise<readonly Acquired[]> {
  const ledger = join(getWorkFolder(), `ledger-${++ledgers}.db`);
  const start = Date.now() + HEAD_START_MS;
  const words = [ledger, tokens, WINDOW_MS, forMs, start, pauseMs].map(String);
  return Promise.all(
    Array.from({ length: PROCESSES }, async () => {
      const child = spawn(process.execPath, [ACQUIRER, ...words], { stdio: ['ignore', 'pipe', 'inherit'] });
      let text = '';
      child.stdout.setEncoding('utf8').on('data', (piece: string) => {
        text += piece;
      });
      const [exit] = (await once(child, 'close')) as [number | null];
      if (exit !== 0) throw new Error(`a process that shares the budget ended with ${exit}`);
      return JSON.parse(text) as Acquired;
    }),
  );
}

/** Counts the requests that a venue would refuse if it counts each for one window after it was sent. */
function countRefusals(sent: readonly number[]): number {
  const times = [...sent].sort((a, b) => a - b);
  const counted: number[] = [];
  let from = 0;
  let refused = 0;
  for (const at of times) {
    while (from < counted.length && (counted[from] as number) <= at - WINDOW_MS) from += 1;
    if (counted.length - from < LIMIT) counted.push(at);
    else refused += 1;
  }
  return refused;
}

let lightLoad: Promise<readonly number[]> | undefined;

function measureAcquisitions(): Promise<readonly number[]> {
  lightLoad ??= runTogether(AMPLE, LIGHT_LOAD_MS, 2).then((all) => all.flatMap(({ took }) => took));
  return lightLoad;
}

export const SHARED_BUDGET_ROWS: readonly Row[] = [
  {
    id: '14e',
    what: `refusals by the venue, ${PROCESSES} processes share one budget at full load`,
    against: 'none',
    unit: 'count',
    pass: 0,
    excellent: 0,
    measure: async () => {
      const sent = (await runTogether(LIMIT, FULL_LOAD_MS, 0)).flatMap((each) => each.sent);
      if (sent.length < LIMIT * 2)
        throw new Error(`only ${sent.length} requests: the budget was never exhausted twice`);
      return countRefusals(sent);
    },
  },
  {
    id: '14e',
    what: `an acquisition by one of ${PROCESSES} processes, tokens to spare, median`,
    against: 'none',
    unit: 'ms',
    pass: 0.5,
    excellent: 0.1,
    measure: async () => computePercentile(await measureAcquisitions(), 0.5),
  },
  {
    id: '14e',
    what: 'the same, 99 of 100',
    against: 'none',
    unit: 'ms',
    pass: 20,
    excellent: 2,
    measure: async () => computePercentile(await measureAcquisitions(), 0.99),
  },
];
