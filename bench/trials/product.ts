/** Defines the trials of the product: dry-runs like those of the command, with simulated venue, limits, token budget, journal. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { LoadedRunbook } from '../../src/app/files/load.ts';
import { dryRun } from '../../src/app/run/virtual-run.ts';
import { decide, EMPTY_SCHEDULE } from '../../src/engine/schedule/decide.ts';
import type { JournalStore } from '../../src/journal/store.ts';
import { MemoryStore } from '../../src/journal/stores/memory.ts';
import { openSqliteStore } from '../../src/journal/stores/sqlite.ts';
import { checkRunbook } from '../../src/runbook/check.ts';
import {
  writeBranches,
  writeConditionBranches,
  writeConditions,
  writeLine,
  writeLoop,
  writePolls,
  writeSchedule,
} from '../runbooks.ts';
import type { Trial } from './trial.ts';

const START_MS = Date.parse('2026-01-05T08:00:00Z');

export function loadRunbook(text: string): LoadedRunbook {
  const source = { file: 'bench.yaml', text };
  const { runbook, diagnostics } = checkRunbook(source, () => undefined);
  if (runbook === undefined) throw new Error(diagnostics.map(({ message }) => message).join('; '));
  return { runbook, sources: [{ name: runbook.name, source }] };
}

export async function execute(runbook: LoadedRunbook, store: JournalStore, run: string): Promise<void> {
  const { result } = await dryRun({
    loaded: runbook,
    inputs: {},
    run,
    at: START_MS,
    seed: 1,
    store,
    venue: { kind: 'simulated' },
  });
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
  schedules,
} as const satisfies Record<string, Trial>;
