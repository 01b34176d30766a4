/**
 * Executes a recorded run again. What came from outside (answers, feeds, commands) is delivered from the journal at its recorded
 * time; what the engine appends is compared with the record. To the end of the run this is a replay; to the entry at which a
 * process died it is the first half of a resume: there is no other state than the journal.
 */
import { type Clock, VirtualClock } from '../../base/clock.ts';
import { isSameJson, toCanonicalJson } from '../../base/json.ts';
import { RelayClock } from '../../base/relay-clock.ts';
import type { Away, DataOf, Entry, EntryOf, EntryType, ProcessFact } from '../../journal/entry.ts';
import { buildFeedId, isFeedRequest, ORIGIN } from '../../journal/entry.ts';
import { OrderTracker } from '../../journal/orders.ts';
import type { PassedRounds } from '../../journal/rounds/passed-rounds.ts';
import type { EndpointName } from '../../venue/catalogue.ts';
import type { CallOutcome, FeedValue, MarketRules, RequestOutcome, VenueCall, VenuePort } from '../../venue/port.ts';
import { FailedBefore } from '../interruption.ts';
import type { Notifier, OperatorCommand, RunJournal } from '../ports.ts';
import type { RunningRun } from '../run.ts';
import { toFeedValue, toOutcome, toRequestOutcome } from './answers.ts';

/** What a run that goes on finds at the end of its record. */
const END = 'the end of the journal';

/** The first entry at which this engine differs from the record. */
export class Divergence extends Error {
  readonly sequence: number;
  readonly step: string;
  readonly recorded: string;
  readonly found: string;

  /** Whether the record ends where the run goes on. */
  get isBehindRecord(): boolean {
    return this.recorded === END;
  }

  constructor(sequence: number, step: string, recorded: string, found: string) {
    super(`entry ${sequence}${step === '' ? '' : ` (${step})`}: recorded ${recorded}, now ${found}`);
    this.sequence = sequence;
    this.step = step;
    this.recorded = recorded;
    this.found = found;
  }
}

interface OpenCall {
  readonly call: VenueCall;
  readonly settle: (outcome: CallOutcome) => void;
  attempts: number;
}

interface WaitingFeed {
  readonly call: string;
  readonly settle: (value: FeedValue | undefined) => void;
  /** Reads it at the takeover, where the record has no answer: each reading is journaled when it is answered. */
  readonly ask: (takeover: Takeover) => void;
}

/** What a run gets of what happened to it. */
type PlayedRun = Partial<Pick<RunningRun, 'command' | 'clockPut' | 'storeMoved' | 'takenUp'>>;

/** The live parts that continue the run when the record ends before the run does. */
export interface Takeover {
  /** Appends an entry that the run's tracker has folded already. */
  readonly keep: RunJournal['append'];
  readonly log: Pick<RunJournal, 'append'>;
  readonly venue: VenuePort;
  readonly clock: Clock;
  /** The process that continues the run, for the record. */
  readonly process?: ProcessFact;
  /** How long no process executed the run; left out where no time passes outside of the clock. */
  readonly away?: Away;
  /** Settles a call whose process died: it was never sent, or its outcome is unknown. */
  continueCall(call: VenueCall, attempts: number): Promise<CallOutcome>;
}

export interface PlaybackOptions {
  readonly markets: Readonly<Record<string, MarketRules>>;
  readonly absenceHorizonMs?: number;
  /** True where the run continues after the end of the record; false for a replay, which must end with it. */
  readonly resume: boolean;
  /** Called with every recorded entry as it is played. */
  readonly observe?: (entry: Entry) => void;
  /** Awaited between turns, where the entries are read while they are played. */
  readonly readOn?: () => Promise<void> | undefined;
  /** Called with the rounds that are passed over, in their place. */
  readonly observePassed?: (passed: PassedRounds) => void;
}

export class Playback {
  readonly log: RunJournal;
  readonly venue: VenuePort;
  readonly clock: RelayClock;
  private readonly first: EntryOf<'run.started'>;
  private readonly rest: Iterator<Entry | PassedRounds, undefined>;
  /** The entry that is played next; undefined at the end of the record. */
  private next: Entry | PassedRounds | undefined;
  /** The number of the line that was played last. */
  private playedTo = 0;
  private readonly options: PlaybackOptions;
  private readonly time: VirtualClock;
  private readonly open = new Map<string, OpenCall>();
  private readonly feeds: WaitingFeed[] = [];
  private readonly requests = new Map<string, (outcome: RequestOutcome) => void>();
  /** What the run does after the end of the record, in sequence, and feeds that wait for their reading: held back until the takeover. */
  private readonly beyond: ((takeover: Takeover) => void)[] = [];
  /** Sweeps that keep new orders of the account back and have not ended where the record ends. */
  private readonly keepingBack = new Set<Promise<unknown>>();
  /** A Divergence, or an error with which the record could not be read on. */
  private problem: unknown;
  private takeover: Takeover | undefined;
  /** Whether the record holds the engine's last entry. */
  private wasRecorded = true;
  /** When the calls that the record leaves open were decided, epoch ms on the clock that takes over. */
  private decidedAt = 0;
  private played: PlayedRun = {};

  /** `entries` are taken one by one as they are played, so they need not be in memory together; a resume may leave rounds out. */
  constructor(entries: Iterable<Entry | PassedRounds>, options: PlaybackOptions) {
    this.rest = entries[Symbol.iterator]();
    const first = this.rest.next().value;
    if (first?.type !== 'run.started') throw new Error('a journal begins with run.started');
    this.first = first;
    this.next = first;
    this.options = options;
    this.time = new VirtualClock(first.data.startedAt, { promisesAlone: true });
    this.clock = new RelayClock(this.time);
    const tracker = new OrderTracker(
      options.absenceHorizonMs === undefined ? {} : { absenceHorizonMs: options.absenceHorizonMs },
    );
    this.log = {
      tracker,
      append: (type, data, step, actor) => this.compare(type, data, step ?? '', actor),
      passing: { find: (loop, round) => this.findPassed(loop, round), move: (passed) => this.movePast(passed) },
    };
    this.venue = this.createVenue();
    this.take(first);
  }

  /**
   * Names the run that gets the recorded commands, adjustments of the wall clock, failures of the store and resumes, and the resume
   * of `takeOver`; what it leaves out is not delivered. To be called before `play`.
   */
  drive(played: PlayedRun): void {
    this.played = played;
  }

  /**
   * A notifier that does not send recorded messages again. Messages after the end of the record are sent at the takeover. `inner` is not
   * asked for before that.
   */
  notifier(inner: () => Notifier): Notifier {
    return {
      send: (...notice) => {
        if (this.takeover !== undefined) inner().send(...notice);
        else if (!this.wasRecorded) this.beyond.push(() => inner().send(...notice));
      },
      settled: () => {
        if (this.takeover !== undefined) return inner().settled?.();
        // A recorded end has waited for what the record shows.
        if (this.nextRecorded() !== undefined) return undefined;
        return new Promise((resolve) => {
          this.beyond.push(() => void Promise.resolve(inner().settled?.()).then(resolve));
        });
      },
    };
  }

  /**
   * Plays the record to its end. Throws the first Divergence, or what the entries throw. `work` is the run: it is over then where the
   * record has its end, else still under way.
   */
  async play(work: Promise<unknown>): Promise<void> {
    work.catch(() => {});
    await this.time.quiesce();
    for (let entry = this.next; entry !== undefined && this.problem === undefined; entry = this.next) {
      const reading = this.options.readOn?.();
      if (reading !== undefined) await reading;
      if (entry.type === 'run.resumed') this.time.skipTo(entry.at);
      else {
        const due = this.time.jumpTo(entry.at);
        if (due !== undefined) await due;
      }
      if (this.next !== entry || this.problem !== undefined) continue;
      if (entry.type === 'rounds.passed') {
        this.problem = notPassed(entry);
        break;
      }
      if (ORIGIN[entry.type] === 'engine') {
        this.problem = new Divergence(entry.seq, entry.step, formatBrief(entry), 'nothing');
        break;
      }
      this.deliver(entry);
      // Most entries of the gateway wake nothing.
      if (!isSilent(entry) || entry.type === 'run.resumed') await this.time.quiesce();
    }
    if (this.problem !== undefined) throw this.problem;
  }

  /**
   * Continues the run live, in a turn of the clock that takes over: first what it did after the end of the record, then the
   * calls without an outcome, then its timers. To be called after `play`, on an unfinished run.
   */
  takeOver(takeover: Takeover): void {
    this.takeover = takeover;
    for (const work of this.keepingBack) takeover.venue.keepOrdersBack(work);
    const { process, away } = takeover;
    // An absence that only the wall clock measured may have lasted any time.
    this.decidedAt = away?.by === 'wall' ? Number.NEGATIVE_INFINITY : this.time.now();
    for (const act of this.beyond.splice(0)) act(takeover);
    takeover.log.append('run.resumed', {
      openCalls: this.openCalls,
      ...(process === undefined ? {} : { process }),
      ...(away === undefined ? {} : { away }),
    });
    this.clock.switchTo(takeover.clock);
    // Before anything under way continues, as in a replay.
    this.played.takenUp?.(away);
    for (const [id, { call, settle, attempts }] of [...this.open]) {
      this.open.delete(id);
      void takeover.continueCall(this.markOld(call), attempts).then(settle);
    }
    this.loseRequests();
  }

  /** Ends the declared requests of a process that died. It has no entry of its own: `run.resumed` stands for it. */
  private loseRequests(): void {
    for (const [id, settle] of [...this.requests]) {
      this.requests.delete(id);
      settle({ kind: 'unresolved', failure: 'transport', message: 'the process ended before the answer' });
    }
  }

  /** Ids of calls that were under way where the record ends. */
  get openCalls(): readonly string[] {
    return [...this.open.keys()];
  }

  private markOld<E extends EndpointName>(call: VenueCall<E>): VenueCall<E> {
    return { ...call, decidedAt: this.decidedAt };
  }

  private compare<T extends EntryType>(type: T, data: DataOf<T>, step: string, actor?: string): void {
    if (this.takeover !== undefined) {
      this.takeover.log.append(type, data, step, actor);
      return;
    }
    const recorded = this.nextRecorded();
    if (this.problem !== undefined) return;
    this.wasRecorded = recorded !== undefined;
    if (recorded === undefined) {
      if (!this.mayContinue(step, type)) return;
      this.beyond.push(({ keep }) => keep(type, data, step, actor));
      // The tracker must fold it now; the entry is sealed at the takeover.
      this.log.tracker.apply({ ...this.first, type, data, step, at: this.time.now() } as Entry);
      return;
    }
    if (recorded.type !== type || recorded.step !== step || !isSameJson(recorded.data, data)) {
      const failed = findFailed(recorded, step);
      if (failed !== undefined) {
        const isItsEnd =
          type === 'step.ended' && step === failed && (data as DataOf<'step.ended'>).outcome === 'failed';
        if (!isItsEnd) throw new FailedBefore(failed);
        this.take(recorded);
        return;
      }
      this.problem = new Divergence(recorded.seq, step, formatBrief(recorded), `${type} ${toCanonicalJson(data)}`);
      return;
    }
    // What a process concluded from the record of a dead one was folded at the end of that record, and stored when it took over.
    this.take(recorded, this.time.now());
  }

  /** The next entry that the engine must match. Gateway entries that wake nothing are played on the way. */
  private nextRecorded(): Entry | undefined {
    for (let { next } = this; next !== undefined; next = this.next) {
      if (next.type === 'rounds.passed') {
        this.problem ??= notPassed(next);
        return undefined;
      }
      if (!isSilent(next)) return next;
      this.deliver(next);
    }
    return undefined;
  }

  private findPassed(loop: string, round: number): PassedRounds | undefined {
    const { next } = this;
    return next?.type === 'rounds.passed' && next.step === loop && next.first === round ? next : undefined;
  }

  private movePast(passed: PassedRounds): boolean {
    const isBusy = [this.open.size, this.feeds.length, this.requests.size, this.keepingBack.size].some((n) => n > 0);
    if (this.next !== passed || isBusy || (this.time.nextTimerAt() ?? Infinity) <= passed.endedAt) return false;
    this.time.skipTo(passed.endedAt);
    this.options.observePassed?.(passed);
    this.moveOn();
    return true;
  }

  private moveOn(): void {
    try {
      this.next = this.rest.next().value;
    } catch (error) {
      // The engine, which may have called, must not fail by it: a record that cannot be read fails no step.
      this.problem ??= error;
      this.next = undefined;
    }
  }

  /** Whether the run may continue after the end of the record: for a replay that is a divergence. */
  private mayContinue(step: string, found: string): boolean {
    if (this.options.resume) return true;
    this.problem = new Divergence(this.playedTo + 1, step, END, found);
    return false;
  }

  /** `at`: when the run folded it, epoch ms. */
  private take(entry: Entry, at = entry.at): void {
    this.playedTo = entry.seq;
    this.moveOn();
    this.options.observe?.(entry);
    this.log.tracker.apply(at === entry.at ? entry : { ...entry, at });
  }

  private deliver(entry: Entry): void {
    this.take(entry);
    if ((entry.type === 'call.intended' || entry.type === 'call.settled') && isFeedRequest(entry.data.call)) return;
    switch (entry.type) {
      case 'call.attempted': {
        const open = this.open.get(entry.data.call);
        if (open !== undefined) open.attempts += 1;
        return;
      }
      case 'call.settled': {
        this.settle(entry);
        return;
      }
      case 'feed.read': {
        if (entry.data.by === 'limits') return;
        const index = this.feeds.findIndex((each) => each.call === entry.data.call);
        const [feed] = index === -1 ? [] : this.feeds.splice(index, 1);
        if (feed === undefined) {
          this.problem ??= new Divergence(entry.seq, entry.step, formatBrief(entry), 'no such feed was read');
          return;
        }
        this.beyond.splice(this.beyond.indexOf(feed.ask), 1);
        feed.settle(toFeedValue(entry.data));
        return;
      }
      case 'operator.acted':
        this.played.command?.(entry.data as OperatorCommand);
        return;
      case 'clock.adjusted':
        this.played.clockPut?.(entry.data.wallAheadMs);
        return;
      case 'store.moved':
        this.played.storeMoved?.(entry.data.event);
        return;
      case 'run.resumed':
        this.played.takenUp?.(entry.data.away);
        this.loseRequests();
        return;
      case 'call.intended':
        this.problem ??= new Divergence(entry.seq, entry.step, formatBrief(entry), 'no such call');
        return;
      default:
    }
  }

  private settle(entry: EntryOf<'call.settled'>): void {
    const request = this.requests.get(entry.data.call);
    if (request !== undefined) {
      this.requests.delete(entry.data.call);
      request(toRequestOutcome(entry));
      return;
    }
    const open = this.open.get(entry.data.call);
    if (open === undefined) {
      this.problem ??= new Divergence(entry.seq, entry.step, formatBrief(entry), 'no such call is under way');
      return;
    }
    this.open.delete(entry.data.call);
    open.settle(toOutcome(entry));
  }

  private createVenue(): VenuePort {
    const { markets } = this.options;
    return {
      call: <E extends EndpointName>(call: VenueCall<E>): Promise<CallOutcome<E>> => {
        if (this.takeover !== undefined) return this.takeover.venue.call(call);
        return new Promise((resolve) => {
          const asked = this.matchCall(call.id, call.endpoint, call.params, call.step);
          if (asked === 'beyond') this.beyond.push(({ venue }) => void venue.call(this.markOld(call)).then(resolve));
          if (asked !== 'recorded') return;
          this.open.set(call.id, {
            call: call as unknown as VenueCall,
            settle: resolve as (outcome: CallOutcome) => void,
            attempts: 0,
          });
        });
      },
      findDenial: (call) => {
        if (this.takeover !== undefined) return this.takeover.venue.findDenial(call);
        const recorded = this.nextRecorded();
        if (recorded === undefined && this.options.resume)
          return new Promise((resolve) => this.beyond.push(({ venue }) => void venue.findDenial(call).then(resolve)));
        // Only a denial is recorded.
        const isDenied = recorded?.type === 'call.intended' && recorded.data.call === call.id;
        return isDenied ? this.venue.call(call) : Promise.resolve(undefined);
      },
      keepOrdersBack: (until) => {
        if (this.takeover !== undefined) return this.takeover.venue.keepOrdersBack(until);
        const release = () => void this.keepingBack.delete(until);
        this.keepingBack.add(until);
        void until.then(release, release);
      },
      feed: (...which) => {
        if (this.takeover !== undefined) return this.takeover.venue.feed(...which);
        const [name, key, step] = which;
        return new Promise((resolve) => {
          const ask = ({ venue }: Takeover) => void venue.feed(...which).then(resolve);
          this.feeds.push({ call: buildFeedId(step, name, key), settle: resolve, ask });
          this.beyond.push(ask);
        });
      },
      request: (...which) => {
        if (this.takeover !== undefined) return this.takeover.venue.request(...which);
        const [, params, id, step] = which;
        return new Promise((resolve) => {
          const asked = this.matchCall(id, undefined, params, step);
          if (asked === 'beyond') this.beyond.push(({ venue }) => void venue.request(...which).then(resolve));
          if (asked === 'recorded') this.requests.set(id, resolve);
        });
      },
      market: (id) => this.takeover?.venue.market(id) ?? (Object.hasOwn(markets, id) ? markets[id] : undefined),
      markets: Object.keys(markets),
    };
  }

  /** Compares a call of the engine with the record, which must have the same one next or have ended. */
  private matchCall(
    id: string,
    endpoint: string | undefined,
    params: object,
    step: string,
  ): 'recorded' | 'beyond' | 'nowhere' {
    const recorded = this.nextRecorded();
    if (this.problem !== undefined) return 'nowhere';
    // Formatted only for a divergence: a run that matches its record needs no text.
    const formatFound = () => `${endpoint ?? 'request'} ${toCanonicalJson(params)}`;
    if (recorded === undefined) return this.mayContinue(step, formatFound()) ? 'beyond' : 'nowhere';
    const isSame =
      recorded.type === 'call.intended' &&
      recorded.data.call === id &&
      (endpoint === undefined || recorded.data.endpoint === endpoint) &&
      (endpoint === 'POST /jwt' || isSameJson(recorded.data.params, params));
    if (!isSame) {
      const failed = findFailed(recorded, step);
      if (failed !== undefined) throw new FailedBefore(failed);
      this.problem = new Divergence(recorded.seq, step, formatBrief(recorded), formatFound());
      return 'nowhere';
    }
    this.take(recorded);
    return 'recorded';
  }
}

/** What the record lacks has to be executed after all: the run is played from a whole record. */
function notPassed({ seq, step, first, next }: PassedRounds): Divergence {
  return new Divergence(seq, step, `rounds ${first} to ${next - 1} in one piece`, 'a round of them');
}

/**
 * The step, at or around `step`, that an internal error of the build which wrote the journal ended: only then is an end without an
 * error recorded. Undefined where the entry says nothing of the kind.
 */
function findFailed(recorded: Entry, step: string): string | undefined {
  const isMistake = recorded.type === 'step.ended' && recorded.data.outcome === 'failed' && !('error' in recorded.data);
  return isMistake && step.startsWith(recorded.step) ? recorded.step : undefined;
}

const SILENT: ReadonlySet<string> = new Set([
  'call.attempted',
  'call.answered',
  'call.checked',
  'notification.settled',
  'run.resumed',
]);

/** Whether a gateway entry answers nothing that the engine waits for. */
function isSilent(entry: Entry): boolean {
  if (entry.type === 'call.intended' || entry.type === 'call.settled') return isFeedRequest(entry.data.call);
  if (entry.type === 'feed.read') return entry.data.by === 'limits';
  return SILENT.has(entry.type);
}

function formatBrief(entry: Entry): string {
  return `${entry.type} ${toCanonicalJson(entry.data)}`;
}
