/** Tests what `runbook new --from` writes for each runbook that ships, in this process: test/cli has the command itself. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { checkProject } from '../../src/app/project/checks.ts';
import { makeNewFiles } from '../../src/cli/authoring/new.ts';
import { testing } from '../cli/testing-bench.ts';
import { SHIPPED } from '../shipped-runbooks.ts';

/** What the checker says of the example of the language design. */
const MEANT: Readonly<Record<string, readonly string[]>> = { flatten: ['unused-input'] };

const folder = mkdtempSync(join(tmpdir(), 'runbook-new-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function textsOf(from: string | undefined): Readonly<Record<string, string>> {
  const { own, called } = makeNewFiles('mine', from);
  return Object.fromEntries(Object.entries({ ...own, ...called }).map(([file, { text }]) => [file, text]));
}

describe('a new runbook', () => {
  it.each([undefined, ...SHIPPED])(
    'from %s has tests, a simulated venue and a profile, all of them valid',
    async (from) => {
      const texts = textsOf(from);
      expect(Object.keys(texts)).toEqual(
        expect.arrayContaining(['mine.yaml', 'mine.test.yaml', 'mine.sim.yaml', 'mine.profile.yaml']),
      );
      expect(texts['mine.yaml']).toMatch(/^runbook: mine$/m);
      const place = mkdtempSync(join(folder, 'one-'));
      for (const [file, text] of Object.entries(texts)) writeFileSync(join(place, file), text);
      const { files } = await checkProject([place]);
      expect(files.filter(({ refused }) => refused !== undefined)).toEqual([]);
      expect(files.map(({ kind }) => kind)).toEqual(
        expect.arrayContaining(['runbook', 'test', 'simulator', 'profile']),
      );
      expect(files).toHaveLength(Object.keys(texts).length);
      const known = [from ?? '', ...Object.keys(texts).map((file) => file.replace('.yaml', ''))];
      const said = files.flatMap(({ diagnostics }) => diagnostics.map(({ code }) => code));
      expect(said).toEqual(known.flatMap((name) => MEANT[name] ?? []));
    },
  );

  it('brings along what it calls, without which its tests could not run', async () => {
    const texts = textsOf('weekend-flatten');
    expect(Object.keys(texts)).toContain('flatten.yaml');
    const { failed, passed } = await testing(texts, { textToo: false });
    expect({ failed, some: passed > 0 }).toEqual({ failed: 0, some: true });
  });
});
