/**
 * Drives a ledger against a counting venue at full load in virtual time: ordinary requests of mixed weights always wait,
 * cancels come at random. An event list of its own, so that an hour takes a moment.
 */
import { type BudgetSettings, budgetSettings, Ledger } from '../../src/venue/tokens/ledger.ts';
import type { CountingRule } from './counting-venues.ts';

export interface Load {
  readonly rule: CountingRule;
  readonly minutes: number;
  readonly seed: number;
  readonly settings?: Partial<BudgetSettings>;
  readonly weights?: readonly number[];
  /** Mean time between two cancels. */
  readonly cancelEveryMs?: number;
  /** Tokens a minute that another program on the address spends without asking us. */
  readonly foreignPerMinute?: number;
  /** Continue from the saved text after every event, as processes that share the ledger do. */
  readonly handOver?: boolean;
}

export interface LoadResult {
  readonly refusals: number;
  /** Tokens of ours granted, as a share of limit × minutes. */
  readonly utilisation: number;
  readonly longestCancelWaitMs: number;
  readonly requests: number;
}

/** Mulberry32. */
export function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** 30 to 100 ms, and one in a hundred up to 1.7 s (budget.md). */
export function latencyFrom(random: () => number): number {
  return random() < 0.01 ? 100 + random() * 1600 : 30 + random() * 70;
}

export function saturate(load: Load): LoadResult {
  const { rule, minutes, seed, cancelEveryMs = 2_500, weights = [1, 1, 1, 1, 1, 10, 10, 20] } = load;
  const random = randomFrom(seed);
  const settings = budgetSettings(load.settings ?? {});
  const { tokens, windowMs } = settings;
  const venue = rule.open(tokens, windowMs);
  const jitter = randomFrom(seed + 1);
  let ledger = new Ledger(settings, jitter);
  const events = new Events();
  const start = Math.floor(random() * windowMs);
  const draw = () => weights[Math.floor(random() * weights.length)] as number;
  const cancels: number[] = [];
  const sums = { refusals: 0, granted: 0, wait: 0, requests: 0 };
  let next = draw();
  let wakeAt = Number.POSITIVE_INFINITY;
  let now = start;

  const send = (weight: number, cls: 'protect' | 'read') => {
    const id = `${++sums.requests}`;
    ledger.hold(id, { endpoint: 'GET /account', weight, class: cls }, now);
    const latency = latencyFrom(random);
    let said = { granted: false, remaining: 0 };
    events.add(now + latency * random(), () => {
      said = venue.count(weight, now);
      if (said.granted) sums.granted += weight;
      else sums.refusals += 1;
    });
    events.add(now + latency, () => {
      const headers = { 'x-ratelimit-limit': String(tokens), 'x-ratelimit-remaining': String(said.remaining) };
      if (said.granted) ledger.answered(id, headers, now);
      else ledger.refused(id, headers, {}, now);
      pump();
    });
  };
  const wake = (at: number) => {
    if (at >= wakeAt && wakeAt > now) return;
    wakeAt = at;
    events.add(Math.max(at, now + 0.01), () => {
      if (wakeAt > now) return;
      wakeAt = Number.POSITIVE_INFINITY;
      pump();
    });
  };
  const pump = () => {
    for (;;) {
      const [cancelledAt] = cancels;
      const urgent = cancelledAt !== undefined;
      const admission = urgent ? ledger.admit(1, 'protect', now) : ledger.admit(next, 'read', now);
      if (urgent) sums.wait = Math.max(sums.wait, now - cancelledAt);
      if (!admission.ok) return wake(admission.at);
      if (urgent) cancels.shift();
      send(urgent ? 1 : next, urgent ? 'protect' : 'read');
      if (!urgent) next = draw();
    }
  };
  const cancelLater = () =>
    events.add(now - Math.log(1 - random()) * cancelEveryMs, () => {
      cancels.push(now);
      cancelLater();
      pump();
    });
  const foreignLater = (perMinute: number) =>
    events.add(now + (5 * 60_000) / perMinute, () => {
      venue.count(5, now);
      foreignLater(perMinute);
    });

  cancelLater();
  if (load.foreignPerMinute !== undefined) foreignLater(load.foreignPerMinute);
  events.add(now, pump);
  const end = start + minutes * windowMs;
  for (let event = events.take(); event !== undefined && event.at < end; event = events.take()) {
    now = event.at;
    event.run();
    if (load.handOver === true) ledger = Ledger.restore(ledger.save(), now, settings, jitter);
  }
  const utilisation = sums.granted / (tokens * minutes);
  return { refusals: sums.refusals, utilisation, longestCancelWaitMs: sums.wait, requests: sums.requests };
}

interface Event {
  readonly at: number;
  readonly order: number;
  readonly run: () => void;
}

/** Events by time, then by order: a sorted list, for there are never more than a few dozen. */
class Events {
  private readonly list: Event[] = [];
  private added = 0;

  add(at: number, run: () => void): void {
    const event = { at, order: ++this.added, run };
    let index = this.list.length;
    while (index > 0 && (this.list[index - 1] as Event).at <= at) index -= 1;
    this.list.splice(index, 0, event);
  }

  /** The list is kept latest first, so that the next is at its end. */
  take(): Event | undefined {
    return this.list.pop();
  }
}
