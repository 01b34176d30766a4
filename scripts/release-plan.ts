/** What a release changes, and what prevents it, from what the files and git say. Nothing is read or run here. */

export interface ReleaseSource {
  /** Of package.json. */
  readonly version: string;
  /** Of package-lock.json: its own and that of its root package. */
  readonly locked: readonly (string | undefined)[];
  readonly changelog: string;
  /** The first column of the releases (docs/versions.md, Releases), newest first. */
  readonly releases: readonly string[];
  /** Folders of test/golden/journals. */
  readonly journals: readonly string[];
  /** `git status --porcelain`. */
  readonly changes: string;
  readonly tags: readonly string[];
}

export interface ReleasePlan {
  readonly tag: string;
  /** What must be put right first; a release is made only where there is none. */
  readonly problems: readonly string[];
  /** The changelog of the release; as it is where its section has the version already. */
  readonly changelog: string;
}

/** `date` as YYYY-MM-DD. */
export function planRelease(source: ReleaseSource, date: string): ReleasePlan {
  const { version, locked, releases, journals, changes, tags } = source;
  const tag = `v${version}`;
  const changelog = releasedChangelog(source.changelog, version, date);
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
      `docs/versions.md begins with ${releases[0] ?? 'no row'}: its top row is to be ${version}`,
    ],
    [!journals.includes(version), `test/golden/journals/${version} is missing: the journals of a release are kept`],
    [changelog === undefined, `CHANGELOG.md says nothing of ${version}: fill a section "Unreleased"`],
  ];
  return {
    tag,
    problems: problems.filter(([fault]) => fault).map(([, problem]) => problem),
    changelog: changelog ?? source.changelog,
  };
}

/** The changelog with its section "Unreleased" named for the version; undefined where no section says anything of it. */
export function releasedChangelog(text: string, version: string, date: string): string | undefined {
  const sections = text.split(/^(?=## )/m);
  const titled = (title: string) =>
    sections.findIndex((section) => section.startsWith(`## ${title}\n`) || section.startsWith(`## ${title} (`));
  const [own, unreleased] = [titled(version), titled('Unreleased')];
  const index = own === -1 ? unreleased : own;
  const [heading = '', ...lines] = sections[index]?.split('\n') ?? [];
  const isEmpty = lines.every((line) => line.trim() === '' || line.startsWith('#'));
  if (index === -1 || isEmpty || (own !== -1 && unreleased !== -1)) return undefined;
  if (own !== -1) return text;
  return text.replace(heading, () => `## ${version} (${date})`);
}
