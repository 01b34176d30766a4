/**
 * Reads a run for a resume without the rounds of loops that need not be executed again. Where lines follow each other that all hold
 * rounds of one loop in which nothing changed, the last ones are kept, and one `rounds.passed` replaces the rounds before them. So a
 * resume costs what happened in a run, however long the run has waited.
 */
import { settle } from '../../base/clock.ts';
import { readEntry } from '../chain.ts';
import { type DataOf, type Entry, type EntryOf, isFeedRequest, type Json } from '../entry.ts';
import { readPages } from '../reading.ts';
import type { JournalReader, StoredEntry } from '../store.ts';
import { expandEntry, listFeedsRead, nameFeed } from './round-line.ts';
import { HEARTBEAT_STEP, makeRoundPath, parseHeartbeat } from './round-shape.ts';

/** Rounds, with the heartbeats among them, that each said what those before them said. */
export interface PassedRounds {
  readonly type: 'rounds.passed';
  /** Of the line behind them. */
  readonly seq: number;
  /** The path of the loop, and of its rounds the first of these and the first behind them. */
  readonly step: string;
  readonly first: number;
  readonly next: number;
  /** When the first of them began, epoch ms. */
  readonly at: number;
  /** When the last of them began and ended, epoch ms. */
  readonly beganAt: number;
  readonly endedAt: number;
  /** The steps that each round executed: the verbs of their entries. */
  readonly verbs: ReadonlySet<string>;
  /** The number of the last heartbeat's call, and the calls of the newest heartbeat and reading of the switch, as their entries. */
  readonly heartbeats: { readonly number: number; readonly entries: readonly Entry[] };
  /** What the last of them set variables to, by name. */
  readonly variables: ReadonlyMap<string, Json>;
  /** The newest of their readings of each feed. */
  readonly feeds: readonly DataOf<'feed.read'>[];
  /** How many requests they sent, by `METHOD /path`; without those of heartbeats and feeds where these were not to be counted. */
  readonly requests: ReadonlyMap<string, number>;
}

/**
 * How many lines of each kind at the end of a stretch are looked at: with rounds, with heartbeats, with readings of the switch. At the
 * end of many a round a heartbeat is under way.
 */
const KEPT = [8, 8, 2];

/** The calls of heartbeats, as a line has them; a text that only looks like one moves the cut, or prevents it. */
const HEARTBEATS = ['POST /cancel_all_after', 'GET /cancel_all_after'] as const;

interface Line {
  readonly stored: StoredEntry;
  /** Whether it may hold each of the kinds. */
  readonly holds: readonly boolean[];
}

/** A line, from its entry of this place on. */
export interface KeptLine {
  readonly type: 'kept';
  readonly stored: StoredEntry;
  readonly from: number;
}

export type RecordPart = KeptLine | PassedRounds;

export interface PassingRules {
  /** Whether rounds may be passed over, by the path of their loop and the verbs of their steps. */
  readonly mayPass: (rounds: Pick<PassedRounds, 'step' | 'verbs'>) => boolean;
  /** Whether heartbeats, and requests that feeds send, are counted, for which every line is expanded. */
  readonly countsAll: boolean;
}

export interface PartsReading {
  /** How many lines are read at a time. */
  readonly size: number;
  /** Called with each line, in sequence. */
  readonly look?: (stored: StoredEntry) => void;
  /** Absent where every round is to be executed. */
  readonly passing?: PassingRules;
}

/** Lines were left out that are needed: the run has to be read whole. */
export class PassedTooMuch extends Error {}

/** Reads the stored lines of a run as what is to be executed of it. Throws PassedTooMuch. */
export async function* readParts(
  store: JournalReader,
  run: string,
  { size, look, passing }: PartsReading,
): AsyncGenerator<readonly RecordPart[]> {
  let stretch: Stretch | undefined;
  for await (const page of readPages(store, run, size)) {
    const parts: RecordPart[] = [];
    for (const stored of page) {
      look?.(stored);
      if (stretch?.take(stored) === true) continue;
      if (stretch !== undefined) parts.push(...(await endStretch(stretch)));
      stretch = passing === undefined ? undefined : Stretch.begin(stored, passing);
      if (stretch === undefined) parts.push({ type: 'kept', stored, from: 0 });
    }
    yield parts;
  }
  if (stretch !== undefined) yield await endStretch(stretch);
}

async function endStretch(stretch: Stretch): Promise<readonly RecordPart[]> {
  await settle();
  const { passed, kept } = stretch.cut();
  await settle();
  if (passed === undefined && !stretch.isWhole) throw new PassedTooMuch('lines were left out that are needed');
  const lines = kept.map((stored, index): KeptLine => {
    const from = index === 0 ? (passed?.entries ?? 0) : 0;
    return { type: 'kept', stored, from };
  });
  return passed === undefined ? lines : [passed.rounds, ...lines];
}

/** Lines that follow each other and stand for rounds of one loop; those that are certain to be passed over are let go. */
class Stretch {
  private readonly first: EntryOf<'round.idle'>;
  private readonly begunAt: number;
  private readonly verbs: ReadonlySet<string>;
  private lines: Line[] = [];
  private readonly counts = [0, 0, 0];
  /** Whether a line that was let go may have held each of the kinds. */
  private readonly letGo = [false, false, false];
  /** How many requests were in those lines; undefined where what differs from round to round is not counted. */
  private readonly gone: Map<string, number> | undefined;
  /** By feed that a round may read, the newest of those lines with a reading of it; undefined where none has one. */
  private readonly feeds: Map<string, StoredEntry | undefined>;
  isWhole = true;

  private constructor(
    first: EntryOf<'round.idle'>,
    begunAt: number,
    verbs: ReadonlySet<string>,
    gone: Map<string, number> | undefined,
  ) {
    this.first = first;
    const reads = first.data.entries.filter(({ type }) => type === 'feed.read') as unknown as EntryOf<'feed.read'>[];
    this.feeds = new Map(reads.map(({ data }) => [nameFeed(data), undefined]));
    this.gone = gone;
    this.begunAt = begunAt;
    this.verbs = verbs;
  }

  /** Undefined where a line does not stand for rounds that may be passed over. */
  static begin(stored: StoredEntry, { mayPass, countsAll }: PassingRules): Stretch | undefined {
    if (stored.type !== 'round.idle' || stored.step === HEARTBEAT_STEP) return undefined;
    const first = readEntry(stored);
    if (first.type !== 'round.idle' || first.data.loop !== stored.step) return undefined;
    // A heartbeat before the first round is played: the loop waits meanwhile.
    const begins = expandEntry(first).next().value;
    if (begins?.step.startsWith(makeRoundPath(stored.step, first.data.first)) !== true) return undefined;
    const begun = first.data.entries.filter(({ type }) => type === 'step.started');
    const verbs = new Set(begun.map(({ data }) => String(data['verb'])));
    if (!mayPass({ step: stored.step, verbs })) return undefined;
    const stretch = new Stretch(first, begins.at, verbs, countsAll ? new Map() : undefined);
    stretch.add(stored);
    return stretch;
  }

  /** False for a line that does not belong to it. */
  take(stored: StoredEntry): boolean {
    const { type, step, seq } = stored;
    const isOfLoop = step === this.first.step || step === HEARTBEAT_STEP;
    if (type !== 'round.idle' || !isOfLoop || seq !== (this.lines.at(-1)?.stored.seq ?? 0) + 1) return false;
    this.add(stored);
    return true;
  }

  private add(stored: StoredEntry): void {
    const holds = [stored.step !== HEARTBEAT_STEP, ...HEARTBEATS.map((name) => stored.line.includes(`"${name}"`))];
    this.lines.push({ stored, holds });
    this.count(holds, 1);
    for (let [oldest] = this.lines; oldest !== undefined && this.isSpare(oldest); [oldest] = this.lines) {
      this.lines.shift();
      this.count(oldest.holds, -1);
      for (const [kind, held] of oldest.holds.entries()) this.letGo[kind] ||= held;
      if (this.gone !== undefined) addRequests(this.gone, expandLine(oldest.stored), 1);
      const line = this.feeds.size === 0 ? undefined : readEntry(oldest.stored);
      if (line?.type === 'round.idle') for (const feed of listFeedsRead(line.data)) this.feeds.set(feed, oldest.stored);
      this.isWhole = false;
    }
  }

  private count(holds: readonly boolean[], by: 1 | -1): void {
    for (const [kind, held] of holds.entries()) if (held) this.counts[kind] = (this.counts[kind] ?? 0) + by;
  }

  /** Whether enough lines of each kind that there is follow it. */
  private isSpare({ holds }: Line): boolean {
    return this.counts.every(
      (count, kind) => (count === 0 && !this.letGo[kind]) || count - (holds[kind] ? 1 : 0) >= (KEPT[kind] as number),
    );
  }

  /** Cuts as late as can be, where behind the cut is a line of each kind that may stand before it. */
  cut(): { readonly passed: Passed | undefined; readonly kept: readonly StoredEntry[] } {
    const stored = this.lines.map((line) => line.stored);
    for (let end = stored.length - 2; end >= 0; end -= 1) {
      const [before, behind] = [this.lines.slice(0, end + 1), this.lines.slice(end + 1)];
      const mayHold = (lines: readonly Line[], kind: number) => lines.some(({ holds }) => holds[kind]);
      if (!this.letGo.every((gone, kind) => !(gone || mayHold(before, kind)) || mayHold(behind, kind))) continue;
      const passed = this.passUpTo(end);
      if (passed !== undefined) return { passed, kept: stored.slice(end) };
    }
    return { passed: undefined, kept: stored };
  }

  /** Cuts the line at `end` behind the last of its rounds at whose end no heartbeat is under way. */
  private passUpTo(end: number): Passed | undefined {
    const { first, begunAt, verbs } = this;
    const { stored } = this.lines[end] as Line;
    const line = readEntry(stored);
    if (line.type !== 'round.idle') return undefined;
    const { loop, like, first: firstOfLine, rounds } = line.data;
    if (loop !== first.data.loop || like !== first.data.like) return undefined;
    const entries = [...expandEntry(line)];
    for (let round = firstOfLine + rounds - 1; round >= firstOfLine; round -= 1) {
      const isOfRound = ({ step }: Entry) => step.startsWith(makeRoundPath(loop, round));
      const last = entries.findLastIndex(isOfRound);
      const before = entries.slice(0, last + 1);
      const [began, ended] = [entries.find(isOfRound), entries[last]];
      if (began === undefined || ended === undefined || isHeartbeatOpen(before)) continue;
      const heartbeats = this.findHeartbeats(end, before);
      if (heartbeats === undefined) return undefined;
      const range = { seq: stored.seq, step: loop, first: first.data.first, next: round + 1, at: begunAt };
      const times = { beganAt: began.at, endedAt: ended.at };
      const requests = this.countRequests(end, before, round + 1 - first.data.first);
      const feeds = this.listFeeds(end, before);
      const set = before.filter(
        (entry) => entry.type === 'variable.set' && isOfRound(entry),
      ) as EntryOf<'variable.set'>[];
      const variables = new Map(set.map(({ data }) => [data.name, data.value]));
      const left = { verbs, heartbeats, variables, feeds, requests };
      return { rounds: { type: 'rounds.passed', ...range, ...times, ...left }, entries: last + 1 };
    }
    return undefined;
  }

  private countRequests(end: number, ofLast: readonly Entry[], rounds: number): ReadonlyMap<string, number> {
    if (this.gone === undefined) {
      const counts = new Map<string, number>();
      addRequests(counts, listRound(this.first), rounds);
      return counts;
    }
    const counts = new Map(this.gone);
    for (const { stored } of this.lines.slice(0, end)) addRequests(counts, expandLine(stored), 1);
    addRequests(counts, ofLast, 1);
    return counts;
  }

  /** The newest reading of each feed up to there; of one that none of the rounds read, it is the one that was read before them. */
  private listFeeds(end: number, ofLast: readonly Entry[]): PassedRounds['feeds'] {
    const found = new Map<string, DataOf<'feed.read'>>();
    const takeNewest = (entries: readonly Entry[], isWanted: (feed: string) => boolean = () => true) => {
      for (const { type, data } of entries.toReversed()) {
        const feed = type === 'feed.read' ? nameFeed(data) : undefined;
        if (type === 'feed.read' && feed !== undefined && isWanted(feed) && !found.has(feed)) found.set(feed, data);
      }
    };
    takeNewest(ofLast);
    for (let index = end - 1; index >= 0 && found.size < this.feeds.size; index -= 1)
      takeNewest(expandLine((this.lines[index] as Line).stored));
    for (const [feed, stored] of this.feeds)
      if (stored !== undefined && !found.has(feed)) takeNewest(expandLine(stored), (each) => each === feed);
    return [...found.values()];
  }

  /** The newest heartbeat and the newest reading of the switch up to there; undefined where the line of one may have been let go. */
  private findHeartbeats(end: number, ofLast: readonly Entry[]): PassedRounds['heartbeats'] | undefined {
    const wanted = new Set<string>(HEARTBEATS);
    const found: Entry[] = [];
    for (let index = end; index >= 0 && wanted.size > 0; index -= 1) {
      const { holds, stored } = this.lines[index] as Line;
      if (!HEARTBEATS.some((name, kind) => wanted.has(name) && holds[kind + 1])) continue;
      const entries = index === end ? ofLast : expandLine(stored);
      const newest = new Map<string, string>();
      for (const { type, step, data } of entries)
        if (type === 'call.intended' && step === HEARTBEAT_STEP) newest.set(data.endpoint, data.call);
      const calls = new Set([...newest].flatMap(([name, call]) => (wanted.delete(name) ? [call] : [])));
      found.unshift(...entries.filter((entry) => calls.has(callOf(entry) ?? '')));
    }
    if (HEARTBEATS.some((name, kind) => wanted.has(name) && this.letGo[kind + 1])) return undefined;
    const numbers = found.map((entry) => parseHeartbeat(callOf(entry) ?? '') ?? 0);
    return { number: Math.max(0, ...numbers), entries: found };
  }
}

/** The rounds that are passed over, and how many entries of the last of their lines are theirs. */
interface Passed {
  readonly rounds: PassedRounds;
  readonly entries: number;
}

/** Adds the requests that entries sent, each so many times. */
function addRequests(counts: Map<string, number>, entries: readonly Entry[], times: number): void {
  const endpoints = new Map<string, string>();
  for (const entry of entries) {
    if (entry.type === 'call.intended') endpoints.set(entry.data.call, entry.data.endpoint);
    const endpoint = entry.type === 'call.attempted' ? endpoints.get(entry.data.call) : undefined;
    if (endpoint !== undefined) counts.set(endpoint, (counts.get(endpoint) ?? 0) + times);
  }
}

function expandLine(stored: StoredEntry): readonly Entry[] {
  return [...expandEntry(readEntry(stored))];
}

/** The entries of a round, without those of requests that feeds send, of which a round may have fewer. */
function listRound({ data }: EntryOf<'round.idle'>): readonly Entry[] {
  const entries = data.entries as readonly unknown[] as readonly Entry[];
  return entries.filter((entry) => !isFeedRequest(callOf(entry) ?? ''));
}

/** Whether the last heartbeat, or reading of the switch, is not over. */
function isHeartbeatOpen(entries: readonly Entry[]): boolean {
  const last = entries.findLast(({ step }) => step === HEARTBEAT_STEP);
  if (last === undefined || last.type === 'deadman.moved') return false;
  if (last.type !== 'call.settled') return true;
  // The answer to a heartbeat is followed by the renewal.
  const asked = entries.find((entry) => entry.type === 'call.intended' && callOf(entry) === last.data.call);
  return asked?.type !== 'call.intended' || asked.data.endpoint !== HEARTBEATS[1];
}

function callOf({ data }: Entry): string | undefined {
  return 'call' in data && typeof data.call === 'string' ? data.call : undefined;
}
