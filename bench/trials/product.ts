/** Defines the trials of the product: dry-runs like those of the command, with simulated venue, limits, token budget, journal. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inputValues, type LoadedRunbook } from '../../src/app/files/load.ts';
import { type DryRun, dryRun } from '../../src/app/run/virtual-run.ts';
import { decide, EMPTY_SCHEDULE } from '../../src/engine/schedule/decide.ts';
import type { JournalStore } from '../../src/journal/store.ts';
import { MemoryStore } from '../../src/journal/stores/memory.ts';
import { openSqliteStore } from '../../src/journal/stores/sqlite.ts';
import { checkRunbook } from '../../src/runbook/check.ts';
import {
  writeArmedWatch,
  writeBranches,
  writeConditionBranches,
  writeConditions,
  writeLine,
  writeLoop,
  writePolls,
  writeSchedule,
  writeWatch,
} from '../runbooks.ts';
import type { Trial } from './trial.ts';

const START_MS = Date.parse('2026-01-05T08:00:00Z');

export function loadRunbook(text: string): LoadedRunbook {
  const source = { file: 'bench.yaml', text };
  const { runbook, diagnostics } = checkRunbook(source, () => undefined);
  if (runbook === undefined) throw new Error(diagnostics.map(({ message }) => message).join('; '));
  return { runbook, sources: [{ name: runbook.name, source }] };
}

/** The day, prices and inputs of a trial that does not choose them. */
const TRIAL = { at: START_MS, seed: 1, inputs: {} };

export async function execute(
  loaded: LoadedRunbook,
  store: JournalStore,
  run: string,
  trial: Pick<DryRun, 'at' | 'seed' | 'inputs'> = TRIAL,
): Promise<void> {
  const { result } = await dryRun({ ...trial, loaded, run, store, venue: { kind: 'simulated' } });
  if (result.outcome !== 'succeeded') throw new Error(`the run ${result.outcome}: ${result.reason ?? ''}`);
}

/** Each run has its own store, so that it does not find the entries of the run before. */
function runInMemory(text: (size: number) => string): Trial {
  return {
    async prepare(size) {
      const runbook = loadRunbook(text(size));
      return () => execute(runbook, new MemoryStore(), 'bench');
    },
  };
}

function runInSqlite(text: (size: number) => string): Trial {
  return {
    async prepare(size) {
      const runbook = loadRunbook(text(size));
      const folder = mkdtempSync(join(tmpdir(), 'runbook-bench-'));
      process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
      const store = await openSqliteStore(join(folder, 'runbook.db'));
      let run = 0;
      return () => execute(runbook, store, `bench-${++run}`);
    },
  };
}

/** Measures from the text to the outcome, like the command: read, check, execute. */
function runFromText(text: (size: number) => string): Trial {
  return {
    async prepare(size) {
      const written = text(size);
      return () => execute(loadRunbook(written), new MemoryStore(), 'bench');
    },
  };
}

const DAY_MS = 86_400_000;
const DAYS_PER_WEEK = 5;

/** Measures dry-runs of the shipped TWAP: one on each of `size` trading days, each with prices of its own. */
const twapDays: Trial = {
  async prepare(size) {
    const loaded = loadRunbook(readFileSync(new URL('../../runbooks/twap.yaml', import.meta.url), 'utf8'));
    const inputs = inputValues(loaded.runbook, { pairs: [] });
    return async () => {
      for (let day = 0; day < size; day += 1) {
        const daysLater = Math.floor(day / DAYS_PER_WEEK) * 7 + (day % DAYS_PER_WEEK);
        const trial = { at: START_MS + daysLater * DAY_MS, seed: day, inputs };
        await execute(loaded, new MemoryStore(), `bench-${day}`, trial);
      }
    };
  },
};

/** Measures the first decision of a scheduler: when each of `size` slots is due next. */
const schedules: Trial = {
  async prepare(size) {
    const slots = Array.from({ length: size / 10 }, (_, n) => loadRunbook(writeSchedule(n)).runbook).flatMap(
      (runbook) =>
        runbook.schedule.map((declaration) => ({
          id: `${runbook.name} ${declaration.slot}`,
          declaration,
          knownSinceMs: START_MS,
          enabled: true,
        })),
    );
    if (slots.length !== size) throw new Error(`${slots.length} schedules, not ${size}`);
    return async () => void decide(slots, EMPTY_SCHEDULE, { nowMs: START_MS, running: [], killed: false });
  },
};

export const PRODUCT_TRIALS = {
  wholeLine: runFromText(writeLine),
  line: runInMemory(writeLine),
  lineSqlite: runInSqlite(writeLine),
  loop: runInMemory(writeLoop),
  conditions: runInMemory(writeConditions),
  conditionsSqlite: runInSqlite(writeConditions),
  conditionBranches: runInMemory(writeConditionBranches),
  branches: runInMemory(writeBranches),
  polls: runInMemory(writePolls),
  watch: runInSqlite(writeWatch),
  armedWatch: runInSqlite(writeArmedWatch),
  twapDays,
  schedules,
} as const satisfies Record<string, Trial>;
