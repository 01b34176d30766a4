/**
 * Finds, among the entries that a writer is given, the rounds of a loop that did what the round before them did, and the heartbeats
 * that say what the one before said. Those are held back and written as one `round.idle` entry (round-line.ts); everything else is
 * written at once. What is held is written before the next entry that differs, and whenever it is released, so the journal has the
 * same entries in the same sequence.
 */

import type { Entry } from '../entry.ts';
import { REPEATED } from '../repeated-rows.ts';
import type { StoredEntry } from '../store.ts';
import { HeartbeatShapes } from './idle-heartbeats.ts';
import { type FoundEntries, type HeldHeartbeat, IdleLine } from './round-line.ts';
import {
  type Draft,
  type Found,
  isOfHeartbeat,
  MOST_ENTRIES,
  MOST_ROUNDS,
  makeRoundPath,
  mayBeIdle,
  RoundShape,
} from './round-shape.ts';

/** An entry as it is written. */
export interface Sealed {
  readonly entry: Entry;
  readonly stored: StoredEntry;
}

interface Round {
  readonly loop: string;
  readonly number: number;
  /** Of this round, and of the one after it. */
  readonly path: string;
  readonly next: string;
}

/** An entry that is held back and belongs to no whole round or heartbeat yet. */
interface HeldEntry {
  readonly shape: RoundShape;
  readonly place: number;
  readonly found: Found;
  /** Of its round, or the call of its heartbeat. */
  readonly path: string;
}

/** A heartbeat under way. */
type OpenHeartbeat = HeldHeartbeat & { readonly call: string; readonly found: Found[]; readonly places: number[] };

export class IdleRounds {
  private readonly write: (draft: Draft) => Sealed;
  /** The round under way. */
  private round: Round | undefined;
  /** Of the entry before, which belongs to it: the entries of a step mostly follow each other. */
  private lastStep: string | undefined;
  /** A round that was written in full, with which the later ones of its loop are compared. */
  private shape: RoundShape | undefined;
  private readonly heartbeatShapes = new HeartbeatShapes();
  /** What is held back and whole, one entry can stand for it; for how many entries, and the number of its first round. */
  private readonly line = new IdleLine();
  private inLine = 0;
  private firstHeld = 0;
  /** Rounds and heartbeats behind it, which are whole while a heartbeat among them is not. */
  private rounds: FoundEntries[] = [];
  private heartbeats: HeldHeartbeat[] = [];
  private open: OpenHeartbeat | undefined;
  /** How many entries are held back, when the first of them was appended, and those behind the line. */
  private entries = 0;
  private heldSince = 0;
  /** When the first of those that read something new was appended. */
  private newSince = Number.POSITIVE_INFINITY;
  /** The same of the entries that `copy` did not give yet. */
  private uncopiedSince = Number.POSITIVE_INFINITY;
  private uncopiedNewSince = Number.POSITIVE_INFINITY;
  private rest: HeldEntry[] = [];
  /**
   * `matching`: the entries of the present round are those of the shape so far, and held back in `matched`. `keeping`: they are
   * written, and kept as the next shape. `passing`: they are written.
   */
  private mode: 'matching' | 'keeping' | 'passing' = 'passing';
  private matched: (Found | undefined)[] = [];
  /** Of a round that is written, its entries as texts: what a draft refers to may change. */
  private kept: string[] = [];
  /** Which bracket of a path names the round: the outermost, or a later one inside a round that is too long to be compared. */
  private depth = 1;
  private longRound = '';

  /** `write` seals and stores an entry. */
  constructor(write: (draft: Draft) => Sealed) {
    this.write = write;
  }

  /** Takes the next entry; undefined where it is held back. */
  add(draft: Draft): Sealed | undefined {
    if (isOfHeartbeat(draft)) return this.addToHeartbeat(draft);
    const round = this.findRound(draft.step);
    if (round !== undefined) return this.addToRound(draft, round);
    this.release();
    this.mode = 'passing';
    return this.write(draft);
  }

  /** Writes what is held back; with `until`, epoch ms, only where it begins that early, or where something new does, `untilNew`. */
  release(until = Number.POSITIVE_INFINITY, untilNew = until): void {
    if (this.entries === 0 || (this.heldSince > until && this.newSince > untilNew)) return;
    const begun = this.rest[0]?.found.at;
    if (begun !== undefined && begun <= Math.max(until, untilNew)) {
      if (this.endMatched()) this.mode = 'passing';
      else this.writeAll();
    }
    this.writeWhole();
  }

  /**
   * What would have to be written for everything that is held back, which it stays; undefined where nothing that begins by `until`, or
   * reads something new by `untilNew`, epoch ms, was held back since the last copy.
   */
  copy(until: number, untilNew: number): readonly Draft[] | undefined {
    if (this.uncopiedSince > until && this.uncopiedNewSince > untilNew) return undefined;
    this.uncopiedSince = Number.POSITIVE_INFINITY;
    this.uncopiedNewSince = Number.POSITIVE_INFINITY;
    const rest = this.rest.map(({ shape, place, found, path }) => shape.rebuild(place, found, path));
    return this.inLine === 0 ? rest : [this.describeLine(), ...rest];
  }

  private describeLine(): Draft {
    return this.line.write(this.round?.loop ?? '', this.firstHeld, this.shape);
  }

  private addToRound(draft: Draft, round: Round): Sealed | undefined {
    if (this.mode === 'matching') {
      const { shape } = this;
      let place = this.matched.length;
      let found = shape?.match(place, draft, round.path);
      for (; found === undefined && shape?.isOptional(place) === true; found = shape.match(place, draft, round.path))
        place += 1;
      if (found !== undefined && shape !== undefined) {
        while (this.matched.length < place) this.matched.push(undefined);
        this.matched.push(found);
        this.hold({ shape, place, found, path: round.path });
        return undefined;
      }
      // Behind the rounds the loop itself goes on; an entry of a round makes it another one than those before it.
      if (draft.step === round.loop) this.release();
      else this.writeAll();
    } else this.release();
    const sealed = this.write(draft);
    if (this.mode !== 'keeping') return sealed;
    if (!mayBeIdle(draft)) this.mode = 'passing';
    else if (this.kept.length < MOST_ENTRIES) this.kept.push(toText(draft, sealed));
    else this.goDeeper(draft.step);
    return sealed;
  }

  /** A heartbeat does not wait for the round that it falls into, so its entries may stand anywhere among those of rounds. */
  private addToHeartbeat(draft: Draft): Sealed | undefined {
    if (this.mode !== 'keeping' && this.matchHeartbeat(draft)) return undefined;
    this.release();
    const sealed = this.write(draft);
    this.heartbeatShapes.learn(draft, sealed.stored);
    return sealed;
  }

  private matchHeartbeat(draft: Draft): boolean {
    if (draft.type === 'call.intended') {
      const begun = this.open === undefined ? this.heartbeatShapes.find(draft) : undefined;
      this.open = begun === undefined ? this.open : { ...begun, found: [], places: [] };
      if (begun === undefined) return false;
    }
    const { open } = this;
    const place = open?.found.length ?? 0;
    const found = open?.shape.match(place, draft, open.call);
    if (open === undefined || found === undefined) {
      // One that differs in its first entry has not begun.
      if (place === 0) this.open = undefined;
      return false;
    }
    open.found.push(found);
    open.places.push(this.entries);
    this.hold({ shape: open.shape, place, found, path: open.call });
    if (this.open === undefined || open.found.length < open.shape.length) return true;
    this.heartbeats.push(open);
    this.open = undefined;
    const between = this.isMatched();
    // Between two rounds, or outside of any, what is held ends here.
    if (this.endMatched()) this.mode = between ? 'passing' : this.mode;
    else if (this.line.heartbeats + this.heartbeats.length >= MOST_ROUNDS) this.writeAll();
    return true;
  }

  private hold(entry: HeldEntry): void {
    const { at, isNew } = entry.found;
    if (this.entries === 0) this.heldSince = at;
    this.uncopiedSince = Math.min(this.uncopiedSince, at);
    if (isNew === true) {
      this.newSince = Math.min(this.newSince, at);
      this.uncopiedNewSince = Math.min(this.uncopiedNewSince, at);
    }
    this.entries += 1;
    this.rest.push(entry);
    if (this.rest.length > 2 * MOST_ENTRIES) this.writeAll();
  }

  /** The round to which an entry belongs, and which is then under way; undefined outside of loops. */
  private findRound(step: string): Round | undefined {
    const { round } = this;
    if (round !== undefined && (step === this.lastStep || step.startsWith(round.path) || step === round.loop)) {
      this.lastStep = step;
      return round;
    }
    this.lastStep = undefined;
    if (round !== undefined && step.startsWith(round.next)) {
      this.endRound();
      return this.begin(round.loop, round.number + 1);
    }
    const outer = parseRound(step, 1);
    if (outer !== undefined && outer.path !== this.longRound) this.depth = 1;
    const found = parseRound(step, this.depth);
    if (found === undefined) return undefined;
    this.release();
    this.shape = undefined;
    return this.begin(found.loop, found.number);
  }

  private begin(loop: string, number: number): Round {
    this.round = { loop, number, path: makeRoundPath(loop, number), next: makeRoundPath(loop, number + 1) };
    this.kept = [];
    this.mode = this.shape === undefined ? 'keeping' : 'matching';
    return this.round;
  }

  private endRound(): void {
    if (this.mode === 'matching' && this.isMatched()) {
      this.holdMatched();
      return;
    }
    if (this.mode === 'matching') this.writeAll();
    const { kept, round, mode } = this;
    if (mode === 'keeping' && kept.length > 0 && round !== undefined)
      this.shape = RoundShape.ofRound(
        round.loop,
        round.number,
        kept.length,
        (place) => JSON.parse(kept[place] as string) as Draft,
      );
  }

  private isMatched(): boolean {
    const { shape, matched } = this;
    if (shape === undefined) return false;
    let place = matched.length;
    while (shape.isOptional(place)) place += 1;
    return place === shape.length;
  }

  /** Ends what is held with the round under way, where that is whole; false where something is not. */
  private endMatched(): boolean {
    if (this.open !== undefined || (this.matched.length > 0 && !this.isMatched())) return false;
    this.holdMatched();
    return true;
  }

  private holdMatched(): void {
    const { line, shape } = this;
    if (line.rounds + this.rounds.length === 0) this.firstHeld = this.round?.number ?? 0;
    if (this.matched.length > 0) this.rounds.push(this.matched);
    this.matched = [];
    if (this.open !== undefined) {
      if (line.rounds + this.rounds.length >= MOST_ROUNDS) this.writeAll();
      return;
    }
    if (shape !== undefined) for (const found of this.rounds) line.addRound(shape, found);
    for (const heartbeat of this.heartbeats) line.addHeartbeat(heartbeat);
    [this.rounds, this.heartbeats, this.rest] = [[], [], []];
    this.inLine = this.entries;
    if (line.rounds >= MOST_ROUNDS || line.heartbeats >= MOST_ROUNDS) this.writeWhole();
  }

  /** Writes the entry that stands for what is whole. */
  private writeWhole(): void {
    const { line, inLine } = this;
    if (inLine === 0) return;
    for (const { places } of [...this.heartbeats, ...(this.open === undefined ? [] : [this.open])])
      for (const index of places.keys()) (places as number[])[index] = (places[index] as number) - inLine;
    const draft = this.describeLine();
    this.inLine = 0;
    this.firstHeld += line.rounds;
    this.entries -= inLine;
    this.heldSince = this.rest[0]?.found.at ?? 0;
    this.newSince = this.rest.find(({ found }) => found.isNew === true)?.found.at ?? Number.POSITIVE_INFINITY;
    // What was copied followed another line.
    this.uncopiedSince = this.rest[0]?.found.at ?? Number.POSITIVE_INFINITY;
    this.uncopiedNewSince = this.newSince;
    line.clear();
    this.write(draft);
  }

  /** The present round is not, or not in time, a whole one like the shape: its entries are written, and those that follow. */
  private writeAll(): void {
    this.writeWhole();
    const { rest, round } = this;
    [this.rounds, this.heartbeats, this.matched, this.rest] = [[], [], [], []];
    this.open = undefined;
    this.entries = 0;
    this.newSince = Number.POSITIVE_INFINITY;
    this.uncopiedSince = Number.POSITIVE_INFINITY;
    this.uncopiedNewSince = Number.POSITIVE_INFINITY;
    if (this.mode === 'matching') this.mode = 'keeping';
    for (const { shape, place, found, path } of rest) {
      const draft = shape.rebuild(place, found, path);
      const sealed = this.write(draft);
      if (path === round?.path) this.kept.push(toText(draft, sealed));
    }
  }

  private goDeeper(step: string): void {
    this.longRound = parseRound(step, 1)?.path ?? '';
    this.depth += 1;
    this.round = undefined;
    this.lastStep = undefined;
    this.shape = undefined;
    this.mode = 'passing';
  }
}

/** The line of an entry, which is there already; of an answer that repeats rows it has not all of them. */
function toText(draft: Draft, { stored }: Sealed): string {
  return stored.type === REPEATED ? JSON.stringify(draft) : stored.line;
}

/** The round that the bracket at this depth of a step's path names. */
function parseRound(step: string, depth: number): Pick<Round, 'loop' | 'number' | 'path'> | undefined {
  let end = -1;
  for (let n = 0; n < depth; n += 1) {
    end = step.indexOf(']', end + 1);
    if (end === -1) return undefined;
  }
  const begin = step.lastIndexOf('[', end);
  const number = Number(step.slice(begin + 1, end));
  if (!Number.isSafeInteger(number)) return undefined;
  return { loop: step.slice(0, begin), number, path: step.slice(0, end + 1) };
}
