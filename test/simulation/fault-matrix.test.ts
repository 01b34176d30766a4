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
    expect(FAULT_ROWS).toHaveLength(82);
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
  it('have a row each in the design, with what is durable and what recovery must do', () => {
    const page = readFileSync(`${ROOT}docs/design/reliability.md`, 'utf8');
    const rows = [...page.matchAll(/^\| (CP\d+) \|(.*)\|$/gm)].map(([, point, cells = '']) => [
      point,
      ...cells.split('|').map((cell) => cell.trim()),
    ]);
    expect(rows.map(([point, dies]) => [point, dies])).toEqual(Object.entries(CRASH_POINTS));
    for (const row of rows) expect(row.filter((cell) => cell !== undefined && cell.length > 1)).toHaveLength(5);
  });
});
