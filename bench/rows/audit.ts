/** Measures rows 10 and 11: a journal of a million entries, read by a reviewer and by a process that resumes its last run. */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { readLines } from '../../src/journal/reading.ts';
import { openDatabase } from '../../src/journal/sql/sqlite.ts';
import { openSqliteStore } from '../../src/journal/stores/sqlite.ts';
import { TimelineFold } from '../../src/report/timeline/timeline.ts';
import { type LargeJournal, prepareJournal } from '../journals.ts';
import { alternate, computeMedian, measureProcessMs, measureRatio } from '../measure.ts';
import type { Row } from './row.ts';
import { COMMAND } from './start-up.ts';

const RECOVERY = fileURLToPath(new URL('./recovery.mjs', import.meta.url));
const MILLION = 1_000_000;
const SMALL = 10_000;
/** The most that a run may have: the venue allows 1000, and fifty are left to other programs of the account. */
const OPEN = 950;
const ROUNDS = 41;
const PROCESSES = 5;

const openLarge = () => prepareJournal(MILLION, OPEN);
const openSmall = () => prepareJournal(SMALL, OPEN);

interface Reader {
  once(): Promise<number>;
  close(): Promise<void>;
}

/** Reads a run and makes the lines of its timeline, as `audit show` does before it prints. */
async function openReviewer({ file, run }: LargeJournal): Promise<Reader> {
  const store = await openSqliteStore(file);
  return {
    async once() {
      const begun = performance.now();
      const fold = new TimelineFold();
      let rows = 0;
      for (const entry of [...readLines(await store.read(run))]) rows += fold.apply(entry).length;
      if (rows === 0) throw new Error(`run ${run} has no timeline`);
      return performance.now() - begun;
    },
    close: () => store.close(),
  };
}

/** Reads the same entries by hand: one prepared query, and JSON.parse for each line. */
async function openParser({ file, run }: LargeJournal): Promise<Reader> {
  const database = await openDatabase(file);
  const query = database.statement('SELECT line FROM entries WHERE run = ? ORDER BY seq');
  return {
    async once() {
      const begun = performance.now();
      const entries = query.all(run).map(({ line }) => JSON.parse(String(line)) as object);
      if (entries.length === 0) throw new Error(`there is no run ${run}`);
      return performance.now() - begun;
    },
    close: async () => database.close(),
  };
}

async function measureReadingRatio(ours: Promise<Reader>, theirs: Promise<Reader>): Promise<number> {
  const [first, second] = [await ours, await theirs];
  try {
    return await measureRatio(
      ROUNDS,
      () => first.once(),
      () => second.once(),
    );
  } finally {
    await first.close();
    await second.close();
  }
}

/** Median time of whole processes of the command over a journal, ms. */
async function measureCommandMs(journal: LargeJournal, words: readonly string[], rounds: number): Promise<number> {
  const times: number[] = [];
  for (let round = 0; round < rounds; round += 1)
    times.push(measureProcessMs([COMMAND, ...words, '--state', journal.folder], { ...process.env, NO_COLOR: '1' }));
  return computeMedian(times);
}

function measureRecoveryMs({ file }: LargeJournal, open: number): number {
  const { status, stdout, stderr } = spawnSync(process.execPath, [RECOVERY, file], { encoding: 'utf8' });
  if (status !== 0) throw new Error(stderr.slice(0, 1000));
  const found = JSON.parse(stdout) as { readonly tookMs: number; readonly open: number };
  if (found.open !== open) throw new Error(`${found.open} orders were open, not ${open}`);
  return found.tookMs;
}

async function measureRecoveryRatio(
  ours: Promise<LargeJournal>,
  theirs: Promise<LargeJournal>,
  open: number,
  fewer: number,
) {
  const [first, second] = [await ours, await theirs];
  const rounds = await alternate(
    PROCESSES,
    () => measureRecoveryMs(first, open),
    () => measureRecoveryMs(second, fewer),
  );
  return computeMedian(rounds.map((round) => round.ours / round.theirs));
}

export const AUDIT_ROWS: readonly Row[] = [
  {
    id: '10',
    what: 'a run of 200 entries among 1 000 000, read and shown as a timeline',
    against: 'a prepared query and JSON.parse',
    pass: 3,
    excellent: 1.5,
    measure: async () => measureReadingRatio(openReviewer(await openLarge()), openParser(await openLarge())),
  },
  {
    id: '10',
    what: 'the same among 1 000 000',
    against: 'among 10 000',
    pass: 2,
    excellent: 1.3,
    measure: async () => measureReadingRatio(openReviewer(await openLarge()), openReviewer(await openSmall())),
  },
  {
    id: '10',
    what: 'audit show of it, the whole process',
    against: 'none',
    unit: 'ms',
    pass: 150,
    excellent: 100,
    measure: async () => {
      const journal = await openLarge();
      return measureCommandMs(journal, ['audit', 'show', journal.run], PROCESSES);
    },
  },
  {
    id: '10b',
    what: 'audit verify of 1 000 000 entries, the whole process',
    against: 'none',
    unit: 'ms',
    pass: 5000,
    excellent: 2000,
    measure: async () => measureCommandMs(await openLarge(), ['audit', 'verify'], 3),
  },
  {
    id: '11',
    what: `resuming a run with ${OPEN} open orders, journal of 1 000 000 entries, up to the first question to the venue`,
    against: 'a start that finds nothing',
    unit: 'ms',
    pass: 250,
    excellent: 60,
    measure: async () => {
      const journal = await openLarge();
      return computeMedian(Array.from({ length: PROCESSES }, () => measureRecoveryMs(journal, OPEN)));
    },
  },
  {
    id: '11',
    what: 'the same, journal of 1 000 000 entries',
    against: 'of 10 000',
    pass: 1.5,
    excellent: 1.2,
    measure: () => measureRecoveryRatio(openLarge(), openSmall(), OPEN, OPEN),
  },
  {
    id: '11',
    what: `${OPEN} open orders`,
    against: `${OPEN / 10}`,
    pass: 15,
    excellent: 12,
    measure: () => measureRecoveryRatio(openSmall(), prepareJournal(SMALL, OPEN / 10), OPEN, OPEN / 10),
  },
];
