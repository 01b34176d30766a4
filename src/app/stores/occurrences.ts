/**
 * Reads what schedulers decided about each occurrence, from the journals of the accounts that the state folder knows: whether its run was
 * started, and how late, or why it was not.
 */
import type { AccountJournal, DecidedVerdict } from '../../journal/account/acts.ts';
import { RESTORED } from '../../journal/stores/backup.ts';
import type { StateFolder } from '../state.ts';
import { readAccountJournals } from './account-journals.ts';
import { withJournal } from './review.ts';

/** `due`: it waits, or its run was promised and is not known to have begun. */
type OccurrenceVerdict = 'started' | 'skipped' | 'missed' | 'due';

export interface DecidedOccurrence {
  readonly account: string;
  readonly runbook: string;
  readonly slot: string;
  /** The scheduled instant, epoch ms. */
  readonly nominalMs: number;
  readonly verdict: OccurrenceVerdict;
  readonly why?: string;
  readonly run?: string;
  /** From the scheduled instant to the first entry of its run, ms. */
  readonly lateMs?: number;
}

export interface OccurrenceFilter {
  readonly runbook?: string | undefined;
  /** Scheduled instants: from the first on, and before the second, epoch ms. */
  readonly from?: number | undefined;
  readonly to?: number | undefined;
  readonly limit: number;
}

/** The newest occurrences that fit, newest first. */
export async function readOccurrences(
  state: StateFolder,
  filter: OccurrenceFilter,
): Promise<readonly DecidedOccurrence[]> {
  const found = await readAccountJournals(state, (journal, account) => foldOccurrences(journal, account));
  const fitting = found
    .flat()
    .filter(
      ({ runbook, nominalMs }) =>
        (filter.runbook === undefined || runbook === filter.runbook) &&
        nominalMs >= (filter.from ?? Number.NEGATIVE_INFINITY) &&
        nominalMs < (filter.to ?? Number.POSITIVE_INFINITY),
    )
    .sort((a, b) => b.nominalMs - a.nominalMs || compareTexts(a.slot, b.slot))
    .slice(0, filter.limit);
  return addPaperRuns(fitting, state);
}

/** Paper runs are not of the account, so only their own journals show that they began. */
async function addPaperRuns(
  occurrences: readonly DecidedOccurrence[],
  state: StateFolder,
): Promise<readonly DecidedOccurrence[]> {
  const open = occurrences.flatMap(({ verdict, run }) => (verdict === 'due' && run !== undefined ? [run] : []));
  const begun = new Map<string, number>();
  if (open.length > 0)
    await withJournal({ state }, async (store) => {
      for (const run of open) begun.set(run, (await store.run(run))?.startedAt ?? Number.NaN);
    });
  return occurrences.map((each) => {
    const startedAt = each.verdict === 'due' ? begun.get(each.run ?? '') : undefined;
    if (startedAt === undefined || Number.isNaN(startedAt)) return each;
    return { ...each, verdict: 'started', lateMs: Math.max(0, startedAt - each.nominalMs) };
  });
}

const TYPES = ['schedule.decided', 'schedule.lost', 'start.recorded', 'start.refused', 'store.restored'] as const;

/** The last verdict on each occurrence, with what became of its run. */
async function foldOccurrences(journal: AccountJournal, account: string): Promise<readonly DecidedOccurrence[]> {
  const decided = new Map<string, DecidedVerdict>();
  const begun = new Map<string, number>();
  const lost = new Map<string, string | undefined>();
  for (const { type, at, data } of await journal.find(account, TYPES)) {
    if (type === 'schedule.decided')
      for (const each of data.occurrences) decided.set(`${each.nominal} ${each.slot}`, each);
    else if (type === 'start.recorded') begun.set(data.run, at);
    else if (type === 'start.refused') lost.set(data.run ?? '', data.why);
    else if (type === 'schedule.lost') lost.set(data.run, lost.get(data.run));
    else for (const [key, each] of decided) decided.set(key, settleRestored(each, begun));
  }
  return [...decided.values()].map(({ slot: id, nominal, why, run, ...rest }) => {
    const startedAt = run === undefined ? undefined : begun.get(run);
    const verdict = judge(rest.verdict, startedAt !== undefined, run !== undefined && lost.has(run));
    const reason = why ?? (startedAt === undefined && run !== undefined ? lost.get(run) : undefined);
    return {
      account,
      ...splitSlot(id),
      nominalMs: nominal,
      verdict,
      ...(reason === undefined ? {} : { why: reason }),
      ...(run === undefined ? {} : { run }),
      ...(startedAt === undefined ? {} : { lateMs: Math.max(0, startedAt - nominal) }),
    };
  });
}

/** A restore lets nothing start that was waiting or promised when the backup was made. */
function settleRestored(each: DecidedVerdict, begun: ReadonlyMap<string, number>): DecidedVerdict {
  const isOpen = each.verdict === 'waiting' || (each.verdict === 'started' && !begun.has(each.run ?? ''));
  return isOpen ? { ...each, verdict: 'missed', why: RESTORED } : each;
}

function judge(verdict: DecidedVerdict['verdict'], hasBegun: boolean, isLost: boolean): OccurrenceVerdict {
  if (verdict === 'waiting') return 'due';
  if (verdict !== 'started' || hasBegun) return verdict;
  return isLost ? 'missed' : 'due';
}

/** The id of a slot is the runbook's name and the slot's times (app/schedule/runs/timetable.ts). */
function splitSlot(id: string): { readonly runbook: string; readonly slot: string } {
  const end = id.indexOf('/');
  return { runbook: id.slice(0, end), slot: id.slice(end + 1) };
}

function compareTexts(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
