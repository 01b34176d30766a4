import { describe, expect, it } from 'vitest';
import { planRelease, type ReleaseSource, releaseChangelog } from '../scripts/release-plan.ts';

const DATE = '2026-03-01';
const CHANGELOG = '# Changelog\n\n## Unreleased\n\n### New\n\n- A thing.\n\n## 0.1.0\n\nThe first version.\n';

describe('the changelog of a release', () => {
  it('has the version and its date in the place of Unreleased, and the rest as it was', () => {
    expect(releaseChangelog(CHANGELOG, '0.2.0', DATE)).toBe(CHANGELOG.replace('Unreleased', `0.2.0 (${DATE})`));
  });

  it('is left alone where the section has the version already', () => {
    const released = CHANGELOG.replace('Unreleased', '0.2.0 (2026-02-28)');
    expect(releaseChangelog(released, '0.2.0', DATE)).toBe(released);
    expect(releaseChangelog(released, '0.1.0', DATE)).toBe(released);
  });

  it.each([
    ['no section speaks of the version', CHANGELOG.replace('Unreleased', 'Later')],
    ['its section is empty', CHANGELOG.replace('- A thing.\n', '')],
    ['it has a section of its own beside Unreleased', CHANGELOG.replace('0.1.0', '0.2.0')],
    ['another version begins alike', CHANGELOG.replace('Unreleased', '0.2.01')],
  ])('is none where %s', (_, text) => expect(releaseChangelog(text, '0.2.0', DATE)).toBeUndefined());
});

describe('a release', () => {
  const READY: ReleaseSource = {
    version: '0.2.0',
    locked: ['0.2.0', '0.2.0'],
    changelog: CHANGELOG,
    releases: ['0.2.0', '0.1.0'],
    journals: ['0.1.0', '0.2.0'],
    changes: '',
    tags: ['v0.1.0', ''],
  };

  it('is made where nothing prevents it', () => {
    expect(planRelease(READY, DATE)).toEqual({
      tag: 'v0.2.0',
      problems: [],
      changelog: releaseChangelog(CHANGELOG, '0.2.0', DATE),
    });
  });

  it.each<[string, Partial<ReleaseSource>, RegExp]>([
    [
      'a version of another form',
      { version: '0.2', locked: ['0.2'], releases: ['0.2'], journals: ['0.2'] },
      /0\.2 is not/,
    ],
    ['changes that are not committed', { changes: ' M src/a.ts\n' }, /not committed:\n M src\/a\.ts$/],
    ['a version that was released', { tags: ['v0.2.0'] }, /v0\.2\.0 exists/],
    ['a lock file of another version', { locked: ['0.2.0', '0.1.0'] }, /package-lock\.json has 0\.2\.0 and 0\.1\.0/],
    ['a table that still says next', { releases: ['next', '0.1.0'] }, /begins with next/],
    ['a table without rows', { releases: [] }, /begins with no row/],
    ['journals that were not kept', { journals: ['0.1.0'] }, /journals\/0\.2\.0 is missing/],
    ['nothing in the changelog', { changelog: '# Changelog\n' }, /CHANGELOG\.md has no entry/],
  ])('is refused for %s', (_, fault, problem) => {
    const { problems } = planRelease({ ...READY, ...fault }, DATE);
    expect(problems).toEqual([expect.stringMatching(problem)]);
  });
});
