/** Which invariant of ARCHITECTURE.md the simulation asks of what, and what of it only tests elsewhere can show. */
import type { Cover } from './fault-rows.ts';
import { INVARIANTS, type Invariant } from './invariants.ts';

interface Elsewhere {
  /** What the simulation does not ask. */
  readonly rest: string;
  readonly covers: readonly Cover[];
}

/** I16 is asked of the scheduler alone: a simulation has no timetable. */
export const ELSEWHERE: Readonly<Record<string, Elsewhere>> = {
  I24: {
    rest: 'what closed a proven position, gaps through a stop, called runbooks, an armed switch',
    covers: [['test/venue/residual.test.ts'], ['test/engine/golden.test.ts']],
  },
  I1: {
    rest: 'a second order that comes in spite of all is reported',
    covers: [['test/venue/surprises.test.ts']],
  },
  I3: {
    rest: 'orders with our prefix that no journal knows refuse the start of a run',
    covers: [
      [
        'test/live/newest-journal.test.ts',
        'an older state folder is refused with exit 3, until a person adopts the orders that it does not know',
      ],
    ],
  },
  I8: { rest: 'the whole table of states and events', covers: [['test/venue/order.test.ts']] },
  I10: {
    rest: 'the reserve for urgent requests; a sliding counter, which only bounded probes can meet, may refuse some',
    covers: [['test/venue/budget.test.ts'], ['test/contract/shared-processes.test.ts']],
  },
  I11: {
    rest: 'half the time only where the token limit is large enough for all runs; else, that it does not fire',
    covers: [['test/venue/deadman.test.ts']],
  },
  I13: {
    rest: '`runbook kill` sweeps until nothing is open, and a named person lifts it',
    covers: [
      ['test/live/processes.test.ts', 'a second run of the account is refused with exit 3 and sends nothing'],
      ['test/contract/shared.test.ts'],
    ],
  },
  I15: {
    rest: 'sizes, notional, collars, positions, throttles',
    covers: [['test/venue/limits.test.ts'], ['test/gateway/limit-facts.test.ts'], ['test/engine/limits.test.ts']],
  },
  I16: {
    rest: 'one verdict for each nominal instant',
    covers: [['test/engine/decide.test.ts'], ['test/engine/scheduler.test.ts']],
  },
  I17: { rest: 'journals of other machines and versions', covers: [['test/engine/golden.test.ts']] },
  I18: {
    rest: 'edits, deletions and cuts before the last anchor show',
    covers: [['test/report/verify.test.ts'], ['test/journal/anchors.test.ts']],
  },
  I19: {
    rest: 'output, crash reports, recordings',
    covers: [['test/gateway/secret.test.ts'], ['test/cli/state.test.ts']],
  },
  I20: { rest: 'a dry-run opens no socket', covers: [['test/venue/wire.test.ts'], ['test/architecture.test.ts']] },
};

const NAMES: Readonly<Record<string, string>> = { I16: 'schedule' };

/** A section of docs/fault-matrix.md. */
export function invariantTable(): string[] {
  const rows = Array.from({ length: 25 }, (_, index) => {
    const id = `I${index + 1}`;
    const asked: Invariant | undefined = (INVARIANTS as Readonly<Record<string, Invariant>>)[id];
    const { rest, covers } = ELSEWHERE[id] ?? { rest: '', covers: [] };
    const tests = covers.map(([file]) => `\`${file}\``).join(', ');
    const other = rest === '' ? '' : `${rest}: ${tests === '' ? '**open**, no test of its own' : tests}`;
    return `| ${id} | ${asked?.name ?? NAMES[id] ?? ''} | ${asked?.asks ?? ''} | ${asked?.against.join(', ') ?? ''} | ${other} |`;
  });
  return [
    '## Invariants',
    '',
    'What every simulation is asked, and of what: the venue’s own `books`, the `wire` (what left the processes, and what was on',
    'the disk then), or the `journal`.',
    '',
    '| | invariant | every simulation is asked whether | of | tested elsewhere |',
    '|---|---|---|---|---|',
    ...rows,
  ];
}
