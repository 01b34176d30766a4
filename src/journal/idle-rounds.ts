/**
 * Finds, among the entries that a writer is given, the rounds of a loop that say what the round before them said. Those are held
 * back and written as one `round.idle` entry (round-line.ts); everything else is written at once. What is held is written before
 * the next entry that differs, and whenever it is released, so the journal has the same entries in the same sequence.
 */

import type { Entry } from './entry.ts';
import {
  type Draft,
  type Found,
  MOST_ENTRIES,
  MOST_ROUNDS,
  makeRoundPath,
  mayBeIdle,
  packRounds,
  RoundShape,
} from './round-line.ts';
import type { StoredEntry } from './store.ts';

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

export class IdleRounds {
  private readonly write: (draft: Draft) => Sealed;
  /** The round under way. */
  private round: Round | undefined;
  /** A round that was written in full, with which the later ones of its loop are compared. */
  private shape: RoundShape | undefined;
  /** Whole rounds that are held back; they end with the round before the present one, or with it. */
  private held: (readonly Found[])[] = [];
  private firstHeld = 0;
  /**
   * `matching`: the entries of the present round are those of the shape so far, and held back in `matched`. `keeping`: they are
   * written, and kept as the next shape. `passing`: they are written.
   */
  private mode: 'matching' | 'keeping' | 'passing' = 'passing';
  private matched: Found[] = [];
  private kept: StoredEntry[] = [];
  /** Which bracket of a path names the round: the outermost, or a later one inside a round that is too long to be compared. */
  private depth = 1;
  private longRound = '';

  /** `write` seals and stores an entry. */
  constructor(write: (draft: Draft) => Sealed) {
    this.write = write;
  }

  /** Takes the next entry; undefined where it is held back. */
  add(draft: Draft): Sealed | undefined {
    const round = this.findRound(draft.step);
    if (round !== undefined) return this.addToRound(draft, round);
    this.release();
    this.mode = 'passing';
    return this.write(draft);
  }

  /** Writes what is held back; with `until`, epoch ms, only where it begins that early. */
  release(until = Number.POSITIVE_INFINITY): void {
    const { shape, matched } = this;
    const [begun] = matched;
    if (begun !== undefined && begun.at <= until) {
      if (matched.length === shape?.length) {
        this.holdMatched();
        this.mode = 'passing';
      } else this.writeMatched();
    }
    const [oldest] = this.held;
    if (oldest !== undefined && (oldest[0] as Found).at <= until) this.writeHeld();
  }

  private addToRound(draft: Draft, round: Round): Sealed | undefined {
    if (this.mode === 'matching') {
      const found = this.shape?.match(this.matched.length, draft, round.path);
      if (found !== undefined) {
        this.matched.push(found);
        return undefined;
      }
      // Behind the rounds the loop itself goes on; an entry of a round makes it another one than those before it.
      if (draft.step === round.loop) this.release();
      else this.writeMatched();
    }
    const sealed = this.write(draft);
    if (this.mode !== 'keeping') return sealed;
    if (!mayBeIdle(draft)) this.mode = 'passing';
    else if (this.kept.length < MOST_ENTRIES) this.kept.push(sealed.stored);
    else this.goDeeper(draft.step);
    return sealed;
  }

  /** The round to which an entry belongs, and which is then under way; undefined outside of loops. */
  private findRound(step: string): Round | undefined {
    const { round } = this;
    if (round !== undefined && (step.startsWith(round.path) || step === round.loop)) return round;
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
    if (this.mode === 'matching' && this.matched.length === this.shape?.length) {
      this.holdMatched();
      if (this.held.length >= MOST_ROUNDS) this.writeHeld();
      return;
    }
    if (this.mode === 'matching') this.writeMatched();
    const { kept, round, mode } = this;
    if (mode === 'keeping' && kept.length > 0 && round !== undefined)
      this.shape = new RoundShape(round.loop, round.number, kept.length, (place) =>
        parseStored(kept[place] as StoredEntry),
      );
  }

  private holdMatched(): void {
    if (this.held.length === 0) this.firstHeld = this.round?.number ?? 0;
    this.held.push(this.matched);
    this.matched = [];
  }

  private writeHeld(): void {
    const { held: rounds, firstHeld: first, round, shape } = this;
    if (rounds.length === 0 || round === undefined || shape === undefined) return;
    this.held = [];
    this.write(packRounds({ loop: round.loop, first, shape, rounds }));
  }

  /** The present round is not, or not in time, a whole one like the shape: its entries are written, and those that follow. */
  private writeMatched(): void {
    this.writeHeld();
    const { matched, round, shape } = this;
    this.matched = [];
    this.mode = 'keeping';
    if (round === undefined || shape === undefined) return;
    this.kept = matched.map((found, place) => this.write(shape.rebuild(place, found, round.path)).stored);
  }

  private goDeeper(step: string): void {
    this.longRound = parseRound(step, 1)?.path ?? '';
    this.depth += 1;
    this.round = undefined;
    this.shape = undefined;
    this.mode = 'passing';
  }
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

function parseStored(stored: StoredEntry): Pick<Draft, 'type' | 'step' | 'data'> {
  return JSON.parse(stored.line) as Draft;
}
