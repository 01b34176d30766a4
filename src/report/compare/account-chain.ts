/**
 * Verifies the journal of an account: its own chain with its anchors, and that it agrees with what it is about: the runs that began
 * and ended, the kill switch, and what people answered. Pure; repairs nothing.
 */
import { formatCount } from '../../base/format.ts';
import { type Act, type ActType, readAct } from '../../journal/account/acts.ts';
import { isSameKey, isSigned } from '../../journal/account/signature.ts';
import type { Anchor } from '../../journal/anchors/anchors.ts';
import { type ChainProblem, makeProblem } from '../../journal/chain.ts';
import { type OccurrenceRow, VERDICTS_KEPT_MS } from '../../journal/schedule/store.ts';
import type { KillEvent } from '../../journal/shared/shared.ts';
import type { StoredEntry } from '../../journal/store.ts';
import { type RunFacts, verifyChain } from './verify.ts';

export interface AccountVerdict {
  /** The key of the account, or `*` for what concerns every account of a store. */
  readonly account: string;
  readonly ok: boolean;
  readonly entries: number;
  /** The number of anchors that agree. */
  readonly anchors: number;
  /** Each with the number of the act, or of the one that is missing. */
  readonly problems: readonly ChainProblem[];
}

export interface AccountEvidence {
  readonly account: string;
  /** Read before the runs and the switch: everything in it must be there. */
  readonly before: readonly StoredEntry[];
  /** Read after them: it must have everything that is there. */
  readonly after: readonly StoredEntry[];
  /** The journals of the same account in other stores: a profile may name one store after the other. */
  readonly elsewhere?: readonly (readonly StoredEntry[])[];
  /** Those that name this chain. */
  readonly anchors: readonly Anchor[];
  /** Every run of every journal and archive. */
  readonly runs: ReadonlyMap<string, RunFacts>;
  /** What the switch of the store shows for the account, oldest first. */
  readonly kills: readonly KillEvent[];
  /** The same with what the user's own switch shows, which is the source of an act that is late. */
  readonly killsOfUser: readonly KillEvent[];
  /** The positions that the ledger counts as stated by people. */
  readonly baselines: readonly StatedRow[];
  /** The verdicts that a scheduler goes by. */
  readonly occurrences: readonly OccurrenceRow[];
  /** Runs that its ledger counts, and those of them whose rows are not what their journals give; absent where that was not asked. */
  readonly ledger?: {
    readonly changed: readonly (Pick<ChainProblem, 'kind' | 'detail'> & { readonly run: string })[];
    readonly counted: ReadonlySet<string>;
  };
  /** Epoch ms. */
  readonly now: number;
}

interface StatedRow {
  readonly market: string;
  readonly size: string;
  readonly price?: string;
  readonly by: string;
  /** Epoch ms. */
  readonly at: number;
}

/** A kill is engaged before it is written here; this long it may be under way, ms, on a machine whose clock is ahead as well. */
const UNDER_WAY_MS = 60_000;

/** Verdicts are removed by the clock of another machine. */
const DAY_MS = 86_400_000;

export async function verifyAccount(evidence: AccountEvidence): Promise<AccountVerdict> {
  const { account, before, after, elsewhere = [] } = evidence;
  // A copy that is not continued: what was anchored since is where the journal goes on.
  const goesOn = elsewhere.some((lines) => lines.length > after.length && isBeginning(after, lines));
  const anchors = goesOn ? evidence.anchors.filter(({ seq }) => seq <= after.length) : evidence.anchors;
  const chain = await verifyChain(after, anchors);
  const problems: ChainProblem[] = chain.problem === undefined ? [] : [chain.problem];
  const then = new AccountActs(before.flatMap(readSound));
  const since = new AccountActs(after.flatMap(readSound));
  const anywhere = new AccountActs([after, ...elsewhere].flat().flatMap(readSound));
  const foreign = since.acts.find((act) => act.account !== account);
  if (foreign !== undefined)
    problems.push(makeProblem(foreign.seq, 'inserted', `it was written for ${foreign.account}`));
  problems.push(...findLostRuns(then, evidence), ...findUnlisted(since, anywhere, evidence));
  problems.push(
    ...findChangedKills(then, since, evidence),
    ...findChangedAnswers(since, anywhere, evidence),
    ...findChangedBaselines(then, since, evidence),
    ...findChangedVerdicts(then, since, evidence),
    ...findMiscounted(then, since, evidence),
    ...findForged(since, evidence),
  );
  problems.sort((a, b) => a.sequence - b.sequence);
  return { account, ok: problems.length === 0, entries: after.length, anchors: chain.anchors, problems };
}

function isBeginning(lines: readonly StoredEntry[], whole: readonly StoredEntry[]): boolean {
  return lines.every(({ run, hash }, index) => run === whole[index]?.run && hash === whole[index]?.hash);
}

/** The chain check reports a line that cannot be read. */
function readSound(stored: StoredEntry): readonly Act[] {
  try {
    return [readAct(stored)];
  } catch {
    return [];
  }
}

class AccountActs {
  readonly acts: readonly Act[];

  constructor(acts: readonly Act[]) {
    this.acts = acts;
  }

  get next(): number {
    return (this.acts.at(-1)?.seq ?? 0) + 1;
  }

  list<T extends ActType>(type: T): readonly Extract<Act, { type: T }>[] {
    return this.acts.filter((act): act is Extract<Act, { type: T }> => act.type === type);
  }
}

/** Runs that began or ended according to the account, and whose journals do not say so. */
function findLostRuns(acts: AccountActs, { runs }: AccountEvidence): readonly ChainProblem[] {
  const problems: ChainProblem[] = [];
  const lost = new Set<string>();
  for (const { seq, data } of acts.list('start.recorded')) {
    const found = runs.get(data.run);
    if (found === undefined) {
      lost.add(data.run);
      problems.push(makeProblem(seq, 'missing', `run ${data.run} began; it is in no journal and no archive`));
    } else if (found.first !== data.head)
      problems.push(makeProblem(seq, 'edited', `run ${data.run} began with another entry`));
  }
  for (const { seq, data } of acts.list('end.sealed')) {
    const found = runs.get(data.run);
    if (found === undefined) {
      if (!lost.has(data.run))
        problems.push(makeProblem(seq, 'missing', `run ${data.run} ended; it is in no journal and no archive`));
    } else if (found.ends.get(data.entries) !== data.head)
      problems.push(
        makeProblem(
          seq,
          found.entries < data.entries ? 'truncated' : 'edited',
          `run ${data.run} ended ${data.outcome} with entry ${data.entries}; its journal has another one or none`,
        ),
      );
  }
  return problems;
}

/** Runs that began or ended since this journal of the account began, and that none of its journals has. */
function findUnlisted(
  acts: AccountActs,
  anywhere: AccountActs,
  { account, runs }: AccountEvidence,
): readonly ChainProblem[] {
  const begun = new Set(anywhere.list('start.recorded').map(({ data }) => data.run));
  const ended = new Set(anywhere.list('end.sealed').map(({ data }) => `${data.run} ${data.entries}`));
  const since = acts.list('start.recorded')[0]?.at ?? Number.POSITIVE_INFINITY;
  const problems: ChainProblem[] = [];
  for (const [run, { account: of, startedAt, ends }] of runs) {
    if (of !== account || startedAt < since) continue;
    if (!begun.has(run))
      problems.push(makeProblem(acts.next, 'truncated', `run ${run} has a journal, and no start here`));
    else
      for (const entry of ends.keys())
        if (!ended.has(`${run} ${entry}`))
          problems.push(makeProblem(acts.next, 'truncated', `run ${run} has ended, and has no end here`));
  }
  return problems;
}

const describeKill = ({ action, by, at }: KillEvent) =>
  `${action === 'engage' ? 'a kill' : 'a release'} by ${by} at ${new Date(at).toISOString()}`;
const nameKill = ({ action, scope, by, reason, at }: KillEvent) => JSON.stringify([action, scope, by, reason, at]);

function listKills(
  acts: AccountActs,
): readonly (KillEvent & { readonly sequence: number; readonly isLate: boolean })[] {
  return [...acts.list('kill.engaged'), ...acts.list('kill.released')].map(({ seq, type, by, data }) => {
    const { scope, reason, at, late = false } = data;
    const action = type === 'kill.engaged' ? 'engage' : 'release';
    return { action, scope, by, reason, at, sequence: seq, isLate: late };
  });
}

function findChangedKills(
  then: AccountActs,
  since: AccountActs,
  { kills, killsOfUser, now }: AccountEvidence,
): readonly ChainProblem[] {
  const [shown, shownToUser] = [new Set(kills.map(nameKill)), new Set(killsOfUser.map(nameKill))];
  const chained = new Set(listKills(since).map(nameKill));
  return [
    ...listKills(then).flatMap((kill): ChainProblem[] =>
      (kill.isLate ? shownToUser : shown).has(nameKill(kill))
        ? []
        : [makeProblem(kill.sequence, 'missing', `the kill switch does not show ${describeKill(kill)}`)],
    ),
    ...kills.flatMap((kill): ChainProblem[] =>
      chained.has(nameKill(kill)) || Math.abs(now - kill.at) < UNDER_WAY_MS
        ? []
        : [makeProblem(since.next, 'inserted', `the kill switch shows ${describeKill(kill)}, which is not here`)],
    ),
  ];
}

/** Answers in the journals of runs that began since, which no person gave according to the account, or not with their key. */
function findChangedAnswers(
  acts: AccountActs,
  anywhere: AccountActs,
  { account, runs }: AccountEvidence,
): readonly ChainProblem[] {
  const given = new Map(
    anywhere.list('command.given').map((act) => {
      const { run, command, step = '' } = act.data;
      return [JSON.stringify([run, command, step, act.by]), act];
    }),
  );
  const problems: ChainProblem[] = [];
  for (const run of new Set(acts.list('start.recorded').map(({ data }) => data.run))) {
    const { answers = [], keys } = runs.get(run) ?? {};
    for (const { command, by, step = '', seq } of answers) {
      const act = given.get(JSON.stringify([run, command, step, by]));
      const key = command === 'approve' ? keys?.get(by) : undefined;
      const found = `entry ${seq} of run ${run} has a ${command} by ${by}`;
      if (act === undefined) problems.push(makeProblem(acts.next, 'edited', `${found}, which is not here`));
      else if (key !== undefined && !isSigned(account, act, key))
        problems.push(makeProblem(act.seq, 'edited', `${found}, which is not signed with this person's key`));
    }
  }
  return problems;
}

const nameStated = ({ market, size, price, by, at }: StatedRow) => JSON.stringify([market, size, price, by, at]);

/** Positions that the ledger counts as stated and that no person stated, and the newest of each market that it lacks. */
function findChangedBaselines(
  then: AccountActs,
  since: AccountActs,
  { baselines }: AccountEvidence,
): readonly ChainProblem[] {
  const listStated = (acts: AccountActs) =>
    acts.list('baseline.stated').map(({ seq, by, at, data }) => ({ ...data, by, at, sequence: seq }));
  const [stated, counted] = [new Set(listStated(since).map(nameStated)), new Set(baselines.map(nameStated))];
  const newest = new Map(listStated(then).map((each) => [each.market, each]));
  const describe = ({ market, size, by }: StatedRow) => `a position of ${size} ${market}, stated by ${by}`;
  return [
    ...baselines.flatMap((row): ChainProblem[] =>
      stated.has(nameStated(row))
        ? []
        : [makeProblem(since.next, 'inserted', `the ledger counts ${describe(row)}, which is not here`)],
    ),
    ...[...newest.values()].flatMap((act): ChainProblem[] =>
      counted.has(nameStated(act))
        ? []
        : [makeProblem(act.sequence, 'missing', `the ledger does not count ${describe(act)}; state it again`)],
    ),
  ];
}

/** Runs that the ledger counts otherwise than their journals say, or not at all. */
function findMiscounted(
  then: AccountActs,
  since: AccountActs,
  { ledger, runs }: AccountEvidence,
): readonly ChainProblem[] {
  if (ledger === undefined) return [];
  const starts = new Map(since.list('start.recorded').map(({ seq, data }) => [data.run, seq]));
  return [
    ...ledger.changed.map(({ run, kind, detail }) => makeProblem(starts.get(run) ?? since.next, kind, detail)),
    ...then
      .list('start.recorded')
      .filter(({ data }) => runs.has(data.run) && !ledger.counted.has(data.run))
      .map(({ seq, data }) => makeProblem(seq, 'missing', `the ledger does not count run ${data.run}`)),
  ];
}

type Decided = Pick<OccurrenceRow, 'slot' | 'nominalMs' | 'verdict' | 'why' | 'run'>;
const nameOccurrence = ({ slot, nominalMs }: Decided) => JSON.stringify([slot, nominalMs]);
const nameVerdict = ({ slot, nominalMs, verdict, why, run }: Decided) =>
  JSON.stringify([slot, nominalMs, verdict, why, run]);

/** Verdicts that a scheduler goes by and that none has given, and those that it lacks: it would decide them again. */
function findChangedVerdicts(
  then: AccountActs,
  since: AccountActs,
  { occurrences, now }: AccountEvidence,
): readonly ChainProblem[] {
  const listDecided = (acts: AccountActs) =>
    acts
      .list('schedule.decided')
      .flatMap(({ seq, data }) =>
        data.occurrences.map((each) => ({ ...each, nominalMs: each.nominal, sequence: seq })),
      );
  const newest = new Map(listDecided(then).map((each) => [nameOccurrence(each), each]));
  // One that was decided while this was read, or since, shows the verdict of before or of later.
  const given = new Set(
    [...newest.values(), ...listDecided(since).filter(({ sequence }) => sequence >= then.next)].map(nameVerdict),
  );
  const kept = new Set(occurrences.map(nameOccurrence));
  // A store of an earlier version has verdicts from before its account had a journal; none was given before its occurrence.
  const begun = since.acts[0]?.at ?? Number.POSITIVE_INFINITY;
  const describe = ({ slot, nominalMs, verdict }: Decided) =>
    `${verdict} for ${slot} at ${new Date(nominalMs).toISOString()}`;
  return [
    ...occurrences.flatMap((row): ChainProblem[] =>
      given.has(nameVerdict(row)) || Math.max(row.nominalMs, row.decidedAt) < begun
        ? []
        : [
            makeProblem(
              newest.get(nameOccurrence(row))?.sequence ?? since.next,
              'edited',
              `the schedule goes by ${describe(row)}, which is not here`,
            ),
          ],
    ),
    ...[...newest.values()].flatMap((each): ChainProblem[] =>
      kept.has(nameOccurrence(each)) || each.nominalMs < now - VERDICTS_KEPT_MS + DAY_MS
        ? []
        : [makeProblem(each.sequence, 'missing', `the schedule does not know ${describe(each)}`)],
    ),
  ];
}

/**
 * Acts whose signature does not fit them, or is of a key that no run's profile has for a person of whom one has a key. A new key is in
 * the profile of the next run only: until one with a key of this person has begun, nothing is said of it.
 */
function findForged(acts: AccountActs, { account, runs }: AccountEvidence): readonly ChainProblem[] {
  const known = [...runs.values()].flatMap(({ keys }) => [...keys]);
  return acts.acts.flatMap((act): ChainProblem[] => {
    const { seq, by, data } = act;
    const { signature } = data;
    if (signature === undefined) return [];
    if (!isSigned(account, act)) return [makeProblem(seq, 'edited', `the signature of ${by} does not fit it`)];
    const isKnown = known.some(([name, key]) => name === by && isSameKey(key, signature.key));
    const isJudged = [...runs.values()].some(({ startedAt, keys }) => startedAt >= act.at && keys.has(by));
    if (isKnown || !isJudged) return [];
    return [makeProblem(seq, 'inserted', `it is signed with a key that no run's profile has for ${by}`)];
  });
}

/** Of a chain that is anchored and that no store has. */
export function describeMissingChain(anchors: readonly Anchor[]): ChainProblem {
  const last = [...anchors].sort((a, b) => a.seq - b.seq).at(-1);
  const count = formatCount(last?.count ?? 0, 'act was', 'acts were');
  return makeProblem(1, 'missing', `the whole journal is missing: ${count} anchored at ${last?.time}`);
}
