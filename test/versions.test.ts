/** The versions of package, language, entries and fixtures belong together (docs/versions.md, Releases). */
import { existsSync, readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import manifest from '../package.json' with { type: 'json' };
import packageLock from '../package-lock.json' with { type: 'json' };
import fixtureSchema from '../schemas/fixture.schema.json' with { type: 'json' };
import runbookSchema from '../schemas/runbook.schema.json' with { type: 'json' };
import { EXIT } from '../src/app/errors.ts';
import { MemoryStore } from '../src/journal/stores/memory.ts';
import { appendMany, newWriter } from './journal/sample.ts';
import { tableBelow } from './page-tables.ts';

const [header, ...releases] = tableBelow('docs/versions.md', 'Releases');
const [newest] = releases;

async function entryVersion(): Promise<unknown> {
  const store = new MemoryStore();
  const writer = newWriter(store, 'r1');
  appendMany(writer, 2);
  await writer.flush();
  const [first] = await store.read('r1');
  return (JSON.parse(first?.line ?? '{}') as { v?: unknown }).v;
}

describe('the table of releases', () => {
  it('begins with what this source writes and reads', async () => {
    expect(header).toEqual(['package', '`dsl`', 'entry version', 'fixture']);
    const { dsl } = runbookSchema.properties;
    expect(newest?.slice(1)).toEqual(
      [dsl.maximum, await entryVersion(), fixtureSchema.properties.fixture.const].map(String),
    );
    expect(dsl.minimum).toBe(1);
  });

  it('has the version of the package on top, or `next` while that is in development', () => {
    const { version } = manifest;
    expect(newest?.[0]).toBe(version.endsWith('-dev') ? 'next' : version);
    expect([packageLock.version, packageLock.packages[''].version]).toEqual([version, version]);
  });

  it('has a row for the version of each golden journal', () => {
    const folder = fileURLToPath(new URL('golden/journals', import.meta.url));
    const kept = existsSync(folder) ? readdirSync(folder) : [];
    expect(kept.filter((version) => !releases.some(([each]) => each === version))).toEqual([]);
  });
});

it('the exit codes are those of the contract', () => {
  const codes = tableBelow('docs/design/interface.md', 'Exit codes')
    .slice(1)
    .flatMap(([cell = '']) => cell.split(', ').map(Number));
  expect(codes).toEqual(Object.values(EXIT));
});
