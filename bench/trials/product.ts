/** Dry-runs of the product, as the command does them: simulated venue, limits, token budget, journal. */
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
import { branchesOf, conditionBranchesOf, conditionsOf, lineOf, loopOf, pollsOf, scheduleOf } from '../runbooks.ts';
import type { Trial } from './trial.ts';

const START_MS = Date.parse('2026-01-05T08:00:00Z');

export function loaded(text: string): LoadedRunbook {
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

/** Each run has a store of its own, so that none finds the entries of the one before. */
function inMemory(text: (size: number) => string): Trial {
  return {
    async prepare(size) {
      const runbook = loaded(text(size));
      return () => execute(runbook, new MemoryStore(), 'bench');
    },
  };
}

function inSqlite(text: (size: number) => string): Trial {
  return {
    async prepare(size) {
      const runbook = loaded(text(size));
      const folder = mkdtempSync(join(tmpdir(), 'runbook-bench-'));
      process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
      const store = await openSqliteStore(join(folder, 'runbook.db'));
      let run = 0;
      return () => execute(runbook, store, `bench-${++run}`);
    },
  };
}

/** From the text to the outcome, as the command does it: read, checked, executed. */
function whole(text: (size: number) => string): Trial {
  return {
    async prepare(size) {
      const written = text(size);
      return () => execute(loaded(written), new MemoryStore(), 'bench');
    },
  };
}

/** What a scheduler does first: looks at the time, and finds when each of so many slots is due next. */
const schedules: Trial = {
  async prepare(size) {
    const slots = Array.from({ length: size / 10 }, (_, n) => loaded(scheduleOf(n)).runbook).flatMap((runbook) =>
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
  wholeLine: whole(lineOf),
  line: inMemory(lineOf),
  lineSqlite: inSqlite(lineOf),
  loop: inMemory(loopOf),
  conditions: inMemory(conditionsOf),
  conditionsSqlite: inSqlite(conditionsOf),
  conditionBranches: inMemory(conditionBranchesOf),
  branches: inMemory(branchesOf),
  polls: inMemory(pollsOf),
  schedules,
} as const satisfies Record<string, Trial>;
