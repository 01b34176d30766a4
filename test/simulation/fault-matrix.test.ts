import { existsSync, readFileSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { CRASH_POINTS } from '../../src/gateway/crash-points.ts';
import { FAULT_ROWS, faultPage } from './fault-rows.ts';
import { ELSEWHERE } from './invariant-rows.ts';
import { INVARIANTS } from './invariants.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

describe('the fault matrix', () => {
  it('has a row for each fault, and each has a test or says what is open', () => {
    expect(FAULT_ROWS).toHaveLength(79);
    expect(FAULT_ROWS.filter(({ covers, open }) => covers.length === 0 && open === undefined)).toEqual([]);
  });

  it('names tests that exist', () => {
    const missing = FAULT_ROWS.flatMap(({ fault, covers }) =>
      covers
        .filter(([file, name]) => {
          const path = `${ROOT}${file}`;
          if (!existsSync(path)) return true;
          return statSync(path).isFile() && !readFileSync(path, 'utf8').includes(name ?? '');
        })
        .map(([file, name]) => `${fault}: ${file}: ${name ?? ''}`),
    );
    expect(missing).toEqual([]);
  });

  it('has each of the twenty invariants, asked here or tested elsewhere, by tests that exist', () => {
    const ids = Array.from({ length: 20 }, (_, index) => `I${index + 1}`);
    expect(ids.filter((id) => !(id in INVARIANTS) && ELSEWHERE[id] === undefined)).toEqual([]);
    const files = Object.values(ELSEWHERE).flatMap(({ covers }) => covers.map(([file]) => file));
    expect(files.filter((file) => !existsSync(`${ROOT}${file}`))).toEqual([]);
  });

  it('is the page in docs', () => {
    expect(
      readFileSync(`${ROOT}docs/fault-matrix.md`, 'utf8'),
      'node test/launch.js simulation/fault-page writes it',
    ).toBe(faultPage());
  });
});

describe('the crash points', () => {
  it('are CP0 to CP22, each with what is durable and what recovery must do', () => {
    expect(Object.keys(CRASH_POINTS)).toEqual(Array.from({ length: 24 }, (_, index) => `CP${index}`));
    for (const row of Object.values(CRASH_POINTS)) {
      for (const text of [row.dies, row.durable, row.venueMayHave, row.recoveryMust])
        expect(text.length).toBeGreaterThan(1);
    }
  });
});
