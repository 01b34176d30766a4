/** Plans a release from the content of files and git: its changes, and the problems that prevent it. Reads and runs nothing. */

export interface ReleaseSource {
  /** The version in package.json. */
  readonly version: string;
  /** The versions in package-lock.json: its own and that of its root package. */
  readonly locked: readonly (string | undefined)[];
  readonly changelog: string;
  /** The first column of the releases (docs/versions.md, Releases), newest first. */
  readonly releases: readonly string[];
  /** The folders of test/golden/journals. */
  readonly journals: readonly string[];
  /** The output of `git status --porcelain`. */
  readonly changes: string;
  readonly tags: readonly string[];
}

export interface ReleasePlan {
  readonly tag: string;
  /** Problems to fix first; a release is made only without any. */
  readonly problems: readonly string[];
  /** The changelog of the release; unchanged if its section already names the version. */
  readonly changelog: string;
}

/** Plans the release; `date` has the form YYYY-MM-DD. */
export function planRelease(source: ReleaseSource, date: string): ReleasePlan {
  const { version, locked, releases, journals, changes, tags } = source;
  const tag = `v${version}`;
  const changelog = releaseChangelog(source.changelog, version, date);
  const problems: readonly (readonly [fault: boolean, problem: string])[] = [
    [!/^\d+\.\d+\.\d+$/.test(version), `package.json: ${version} is not MAJOR.MINOR.PATCH`],
    [changes.trim() !== '', `the working tree has changes that are not committed:\n${changes.trimEnd()}`],
    [
      tags.includes(tag),
      `the tag ${tag} exists: give package.json the next version with npm version --no-git-tag-version`,
    ],
    [locked.some((each) => each !== version), `package-lock.json has ${locked.join(' and ')}, package.json ${version}`],
    [
      releases[0] !== version,
      `docs/versions.md begins with ${releases[0] ?? 'no row'}: its top row must be ${version}`,
    ],
    [!journals.includes(version), `test/golden/journals/${version} is missing: each release keeps its journals`],
    [changelog === undefined, `CHANGELOG.md has no entry for ${version}: fill a section "Unreleased"`],
  ];
  return {
    tag,
    problems: problems.filter(([fault]) => fault).map(([, problem]) => problem),
    changelog: changelog ?? source.changelog,
  };
}

/** Names the section "Unreleased" for the version; undefined if no section has an entry for it. */
export function releaseChangelog(text: string, version: string, date: string): string | undefined {
  const sections = text.split(/^(?=## )/m);
  const findTitle = (title: string) =>
    sections.findIndex((section) => section.startsWith(`## ${title}\n`) || section.startsWith(`## ${title} (`));
  const [own, unreleased] = [findTitle(version), findTitle('Unreleased')];
  const index = own === -1 ? unreleased : own;
  const [heading = '', ...lines] = sections[index]?.split('\n') ?? [];
  const isEmpty = lines.every((line) => line.trim() === '' || line.startsWith('#'));
  if (index === -1 || isEmpty || (own !== -1 && unreleased !== -1)) return undefined;
  if (own !== -1) return text;
  return text.replace(heading, () => `## ${version} (${date})`);
}
