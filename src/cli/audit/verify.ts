/** `runbook audit verify`: verifies that journals are unchanged. Exit code 1 when one is not. */

import { type ComparedLedger, compareLedger, readBaselines } from '../../app/account/ledger.ts';
import { EXIT, type ExitCode, UserError } from '../../app/errors.ts';
import { readText } from '../../app/files/files.ts';
import type { StateFolder } from '../../app/state.ts';
import { type PlacedAccount, readPlacedAccounts } from '../../app/stores/account-journals.ts';
import { listArchives } from '../../app/stores/archives.ts';
import { findRun } from '../../app/stores/find-run.ts';
import { accessStore, type StorePlace } from '../../app/stores/location.ts';
import {
  type AnchorsOfFile,
  describeNoRuns,
  findDamagedArchives,
  readAnchorFiles,
  withJournal,
} from '../../app/stores/review.ts';
import { SystemClock } from '../../base/clock.ts';
import { formatCount, formatFirst, pluralize } from '../../base/format.ts';
import { makePrintable } from '../../base/printable.ts';
import { isAccountChain } from '../../journal/account/acts.ts';
import { type Anchor, findGaps, groupAnchorsByRun, hashAnchor } from '../../journal/anchors/anchors.ts';
import { EVERY_ACCOUNT } from '../../journal/shared/shared.ts';
import type { JournalReader } from '../../journal/store.ts';
import { type AccountVerdict, describeMissingChain, verifyAccount } from '../../report/compare/account-chain.ts';
import {
  makeVerifyDocument,
  type RunFacts,
  type RunVerdict,
  verifyJournal,
  verifyRun,
} from '../../report/compare/verify.ts';
import { formatText } from '../../report/format.ts';
import type { Given } from '../actions/actions.ts';
import type { Invocation } from '../invocation.ts';
import type { Output } from '../terminal/output.ts';
import { type Cell, formatStyledTable } from '../terminal/text-table.ts';

type AnchorFiles = readonly (AnchorsOfFile & { readonly gaps: readonly Anchor[] })[];

export async function verify(
  { run: name, key, anchors: copies, ledger }: Given<'audit verify'>,
  review: Invocation,
): Promise<ExitCode> {
  const { terminal, state } = review;
  const publicKey = key === undefined ? undefined : readText(key, 'public key');
  // Before the entries: a run that is being written has entries without anchors, never the reverse.
  const read = readAnchorFiles(review, { publicKey, copies });
  const known = new Set(read.flatMap((file) => file.anchors.map(hashAnchor)));
  // Those of an archive are of its runs alone, and those of one run are not all of a file.
  const files = read.map((file) => ({
    ...file,
    gaps: file.isWhole && name === undefined ? findGaps(file.anchors, known, file) : [],
  }));
  const anchors = files.flatMap((file) => file.anchors);
  const anchored = [...new Set(anchors.map(({ run }) => run))].filter((run) => !isAccountChain(run));
  const isWhole = name === undefined && review.archive === undefined;
  if (ledger && !isWhole) throw new UserError('--ledger is for everything: it takes no run and no archive');
  const before = isWhole ? await readPlacedAccounts(state) : [];
  const facts = new Map<string, RunFacts>();
  const verdicts = await withJournal(review, async (store) => {
    if (name === undefined) return verifyJournal(store, anchors, (run, found) => facts.set(run, found));
    return [await verifyRun(store, await findRunOrAnchored(store, name, anchored), anchors)];
  });
  if (verdicts === undefined) return reportMissingJournal(name, anchored, terminal, state);
  const { ok: chainsOk, runs } = makeVerifyDocument(verdicts);
  const broken = name === undefined ? findDamagedArchives(review) : [];
  const accounts = isWhole ? await verifyAccounts(state, { before, anchors, facts, ledger }) : [];
  const ok =
    chainsOk &&
    accounts.every((account) => account.ok) &&
    broken.length === 0 &&
    files.every(({ unsigned, changed, gaps }) => unsigned.length + changed.length + gaps.length === 0);
  const archives = broken.length === 0 ? {} : { archives: broken };
  const ofAccounts = accounts.length === 0 ? {} : { accounts: accounts.map(makeAccountDocument) };
  terminal.answer({ ok, runs, ...ofAccounts, ...makeAnchorsDocument(files), ...archives }, () =>
    [formatVerdicts(verdicts, ok, terminal), formatAccounts(accounts, terminal)]
      .filter((part) => part !== '')
      .join('\n'),
  );
  warnAboutAnchors(files, terminal);
  const unanchored = verdicts.filter((verdict) => verdict.unanchored === true).map(({ run }) => run);
  if (unanchored.length > 0)
    terminal.note(
      `${formatCount(unanchored.length, 'live run')} without anchors, ${formatText(formatFirst(unanchored, 5))}: were the anchors lost or removed?`,
    );
  if (review.archive === undefined)
    for (const file of listArchives(state).gone)
      terminal.note(
        `the archive ${formatText(file)} is missing from where it was written: its runs were not verified; \`audit verify --archive FILE\` verifies it where it is now`,
      );
  return ok ? EXIT.done : EXIT.failed;
}

/** Verifies every chain that a store has, and names those that only anchors know. */
async function verifyAccounts(
  state: StateFolder,
  read: {
    readonly before: readonly PlacedAccount[];
    readonly anchors: readonly Anchor[];
    readonly facts: ReadonlyMap<string, RunFacts>;
    readonly ledger: boolean;
  },
): Promise<readonly AccountVerdict[]> {
  const byChain = groupAnchorsByRun(read.anchors.filter(({ run }) => isAccountChain(run)));
  const missing = new Map(byChain);
  const verdicts: AccountVerdict[] = [];
  const placed = await readPlacedAccounts(state);
  for (const { account, store, place, lines, kills, killsOfUser, rows, occurrences } of placed) {
    const [name = ''] = lines.map(({ run }) => run);
    missing.delete(name);
    const then = read.before.find((each) => each.account === account && each.store === store);
    const anchors = byChain.get(name) ?? [];
    const evidence = {
      account,
      anchors,
      before: then?.lines ?? [],
      after: lines,
      elsewhere: placed.flatMap((each) => (each.account === account && each.store !== store ? [each.lines] : [])),
      runs: read.facts,
      kills,
      killsOfUser,
      baselines: readBaselines(rows),
      occurrences,
      ...(read.ledger ? { ledger: await compareLedgerAt(place, account, state) } : {}),
    };
    verdicts.push(await verifyAccount({ ...evidence, now: new SystemClock().now() }));
  }
  for (const [account, anchors] of missing)
    verdicts.push({ account, ok: false, entries: 0, anchors: 0, problems: [describeMissingChain(anchors)] });
  return verdicts;
}

async function compareLedgerAt(place: StorePlace, key: string, state: StateFolder): Promise<ComparedLedger> {
  const store = await accessStore(place, state.environment).openJournal();
  const compared = withJournal({ state }, (reader) => compareLedger({ store, key }, reader));
  return (await compared.finally(() => store.close())) ?? { changed: [], counted: new Set() };
}

function makeAccountDocument({ account, ok, entries, problems }: AccountVerdict): object {
  return {
    account,
    ok,
    entries,
    problems: problems.map(({ sequence, kind, detail }) => ({ sequence, kind, detail: makePrintable(detail, 400) })),
  };
}

function formatAccounts(accounts: readonly AccountVerdict[], terminal: Output): string {
  if (accounts.length === 0) return '';
  const rows = accounts.flatMap(({ account, entries, anchors, problems }): (readonly Cell[])[] => {
    const start = [formatText(account === EVERY_ACCOUNT ? 'every account' : account), String(entries), String(anchors)];
    if (problems.length === 0) return [[...start, { text: 'unchanged', style: 'good' }]];
    return problems.map(({ kind, detail }) => [...start, { text: `${kind}: ${formatText(detail)}`, style: 'bad' }]);
  });
  return formatStyledTable(['account', '#acts', '#anchors', 'verdict'], rows, terminal);
}

/** Without a journal there is nothing to verify, unless anchors show that there was one. */
function reportMissingJournal(
  name: string | undefined,
  anchored: readonly string[],
  terminal: Output,
  state: StateFolder,
): ExitCode {
  if (anchored.length === 0) {
    if (name !== undefined) throw new UserError(describeNoRuns(state));
    terminal.answer({ ok: true, runs: [] }, () => describeNoRuns(state));
    return EXIT.done;
  }
  const runs = anchored.map((run) => ({ run, ok: false, entries: 0, problem: { sequence: 1, kind: 'missing' } }));
  terminal.answer(
    { ok: false, runs },
    () =>
      `the journal is gone: there are anchors of ${formatCount(anchored.length, 'run')}, ${formatText(formatFirst(anchored, 5))}`,
  );
  return EXIT.failed;
}

/** Problem lines by file, for files that have any. */
function makeAnchorsDocument(files: AnchorFiles): object {
  const odd = files.filter(({ unreadable, unsigned, gaps }) => unreadable.length + unsigned.length + gaps.length > 0);
  return odd.length === 0
    ? {}
    : {
        anchors: odd.map(({ file, unreadable, unsigned, gaps }) => ({
          file,
          unreadable,
          unsigned,
          ...(gaps.length === 0 ? {} : { gaps: gaps.map(({ run, seq, time }) => ({ run, seq, time })) }),
        })),
      };
}

function warnAboutAnchors(files: AnchorFiles, terminal: Output): void {
  for (const { file, unreadable, changed, unsigned, gaps } of files) {
    const formatLineNumbers = (list: readonly number[]) => formatFirst(list.map(String), 10);
    const cut = unreadable.filter((line) => !changed.includes(line));
    if (cut.length > 0)
      terminal.note(
        `${formatText(file)}: line ${formatLineNumbers(cut)} is an incomplete anchor, as a crash can leave it`,
      );
    if (changed.length > 0)
      terminal.complain(
        `${formatText(file)}: no anchor in line ${formatLineNumbers(changed)}, which no crash can cause: the file was changed`,
      );
    const [gap] = gaps;
    if (gap !== undefined)
      terminal.complain(
        `${formatText(file)}: the anchor before that of ${formatText(gap.run)}, entry ${gap.seq}, of ${formatText(gap.time)} is in no file: it was removed, or is in a file that was moved away (--anchors FILE)`,
      );
    if (unsigned.length > 0)
      terminal.complain(`${formatText(file)}: line ${formatLineNumbers(unsigned)} is not signed with this key`);
  }
}

/** A run that is missing from the journal can still be named by its anchors. */
async function findRunOrAnchored(store: JournalReader, name: string, anchored: readonly string[]): Promise<string> {
  const fitting = anchored.filter((run) => run === name || run.startsWith(name));
  try {
    return (await findRun(store, name)).run;
  } catch (error) {
    const [only] = fitting;
    if (error instanceof UserError && only !== undefined && fitting.length === 1) return only;
    throw error;
  }
}

function formatVerdicts(verdicts: readonly RunVerdict[], ok: boolean, terminal: Output): string {
  const rows = verdicts.map(({ run, ok: sound, entries, anchors, unanchored, problem }): readonly Cell[] => [
    formatText(run),
    String(entries),
    String(anchors),
    sound
      ? unanchored === true
        ? { text: '! unchanged by its own chain; it ended, but has no anchor', style: 'warning' }
        : { text: 'unchanged', style: 'good' }
      : { text: `${problem?.kind ?? 'odd'}: ${formatText(problem?.detail ?? '')}`, style: 'bad' },
  ]);
  const bad = verdicts.filter((verdict) => !verdict.ok).length;
  const verdict = ok
    ? terminal.style('good', `${formatCount(verdicts.length, 'run is', 'runs are')} unchanged`)
    : terminal.style(
        'bad',
        bad === 0
          ? 'archives or anchors have problems'
          : `${bad} of ${formatCount(verdicts.length, 'run')} ${pluralize(bad, 'was', 'were')} changed`,
      );
  return [formatStyledTable(['run', '#entries', '#anchors', 'verdict'], rows, terminal), verdict]
    .filter((part) => part !== '')
    .join('\n');
}
