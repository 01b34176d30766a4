/** The ledger figure by figure: what heartbeats keep, what ends a request, what is lent, and from which readings it learns. */
import { describe, expect, it } from 'vitest';
import type { CallClass } from '../../src/venue/port.ts';
import type { HeartbeatDemand } from '../../src/venue/tokens/heartbeat-reserve.ts';
import { type BudgetSettings, budgetSettings, Ledger } from '../../src/venue/tokens/ledger.ts';

const half = () => 0.5;
const open = (settings: Partial<BudgetSettings> = { burst: 1200 }) => new Ledger(budgetSettings(settings), half);
const remaining = (tokens: number) => ({ 'x-ratelimit-remaining': String(tokens) });
/** In a window its heartbeats and readings cost seven and four tokens. */
const SWITCH: HeartbeatDemand = { of: 'main', everyMs: 10_000, timeoutMs: 20_000, readWeight: 2, sessionWeight: 0 };

function hold(ledger: Ledger, id: string, weight: number, cls: CallClass, at: number, demand?: HeartbeatDemand): void {
  ledger.hold(
    id,
    { endpoint: 'POST /orders', weight, class: cls, ...(demand === undefined ? {} : { beat: demand }) },
    at,
  );
}
/** How many tokens are admitted at one instant, one by one. */
function count(ledger: Ledger, cls: CallClass, at: number): number {
  let sent = 0;
  for (; ledger.admit(1, cls, at).ok; sent += 1) hold(ledger, `${cls}${at} ${sent}`, 1, cls, at);
  return sent;
}
/** A ledger continued by another process. */
const passOn = (ledger: Ledger, at: number) => Ledger.restore(ledger.save(), at, budgetSettings({ burst: 1200 }), half);

describe('the tokens of heartbeats', () => {
  it('are left by look-ups, and not by what protects', () => {
    const ledger = open();
    hold(ledger, 'h', 1, 'enter', 0, SWITCH);
    expect(ledger.report(0)).toMatchObject({ beats: 11, used: 1 });
    expect([count(ledger, 'resolve', 0), count(ledger, 'protect', 0)]).toEqual([1_159, 40]);
  });

  it.each([
    [4_999, 1_158],
    [5_000, 1_159],
  ])('are not those of one that is repeated %i ms after another', (afterMs, left) => {
    const ledger = open();
    hold(ledger, 'h', 1, 'protect', 0, SWITCH);
    hold(ledger, 'i', 1, 'protect', afterMs, SWITCH);
    expect(count(ledger, 'resolve', afterMs)).toBe(left);
  });

  it.each(['enter', 'protect'] as const)('are left by ordinary requests beside the reserve, sent as %s', (cls) => {
    const ledger = open();
    hold(ledger, 'h', 1, cls, 0, SWITCH);
    expect(count(ledger, 'read', 0)).toBe(1_129);
  });

  it('that follow are waited for by the first', () => {
    const ledger = open();
    ledger.assume(1_129, 0);
    expect(ledger.admit(1, 'enter', 0, SWITCH).ok).toBe(true);
    ledger.assume(1, 0);
    expect(ledger.admit(1, 'enter', 0, SWITCH).ok).toBe(false);
  });

  it.each<[string, (ledger: Ledger) => void, number]>([
    ['in flight', () => {}, 1_159],
    ['answered', (ledger) => ledger.answered('h', {}, 0), 1_159],
    ['never sent', (ledger) => ledger.notSent('h', 0), 1_159],
    ['given up', (ledger) => ledger.aborted('h', 0), 1_159],
    ['released', (ledger) => ledger.standDown('main', 0), 1_169],
  ])('are those still to come: one %s', (_, act, left) => {
    const ledger = open();
    hold(ledger, 'h', 1, 'enter', 0, SWITCH);
    act(ledger);
    expect([count(passOn(ledger, 0), 'resolve', 0), count(ledger, 'resolve', 0)]).toEqual([left, left]);
  });

  it('are not those of other requests', () => {
    for (const act of [
      (ledger: Ledger) => ledger.answered('x', {}, 0),
      (ledger: Ledger) => ledger.notSent('x', 0),
      () => {},
    ]) {
      const ledger = open();
      hold(ledger, 'h', 1, 'enter', 0, SWITCH);
      hold(ledger, 'x', 3, 'enter', 0);
      act(ledger);
      const used = ledger.report(0).used;
      expect([count(passOn(ledger, 0), 'resolve', 0), count(ledger, 'resolve', 0)]).toEqual([
        1_160 - used,
        1_160 - used,
      ]);
    }
  });

  it('are counted anew after a process that died', () => {
    const ledger = open();
    hold(ledger, 'h', 1, 'enter', 0, SWITCH);
    hold(ledger, 'x', 3, 'enter', 0);
    expect(ledger.report(80_000).beats).toBe(0);
    hold(ledger, 'h2', 1, 'enter', 130_050, SWITCH);
    expect(count(ledger, 'resolve', 130_050)).toBe(1_159);
  });
});

describe('the end of a request', () => {
  it('that was never sent gives its tokens back to the pace, where it had some', () => {
    const ledger = open({});
    hold(ledger, 'u', 10, 'protect', 0);
    expect(count(ledger, 'enter', 0)).toBe(120);
    ledger.notSent('u', 0);
    expect(ledger.admit(1, 'enter', 0).ok).toBe(false);
    ledger.notSent('enter0 0', 0);
    expect(count(ledger, 'enter', 0)).toBe(1);
  });

  it('that was never sent is not counted against the last reading', () => {
    const ledger = open();
    expect(ledger.report(0)).not.toHaveProperty('venueRemaining');
    hold(ledger, 'a', 1, 'enter', 0);
    ledger.answered('a', remaining(100), 10);
    hold(ledger, 'b', 50, 'enter', 10);
    expect(ledger.report(10).venueRemaining).toBe(50);
    ledger.notSent('b', 10);
    expect(ledger.report(10).venueRemaining).toBe(100);
  });

  it('is a grant where an answer came, and none where it was given up: a probe then waits', () => {
    const probing = () => {
      const ledger = open();
      hold(ledger, 'a', 1, 'enter', 0);
      ledger.answered('a', remaining(0), 100);
      hold(ledger, 'p', 1, 'protect', 100);
      return ledger;
    };
    const granted = probing();
    granted.answered('p', remaining(0), 150);
    expect(granted.admit(1, 'protect', 150)).toEqual({ ok: true });
    const givenUp = probing();
    givenUp.aborted('p', 150);
    expect(givenUp.admit(1, 'protect', 150)).toEqual({ ok: false, at: 400, because: 'venue' });
    // The process of a probe that is in flight for so long has died.
    const died = probing();
    expect(died.admit(1, 'protect', 10_099)).toEqual({ ok: false, at: 11_099, because: 'venue' });
    expect(died.admit(1, 'protect', 10_100)).toEqual({ ok: true });
  });

  it('that shows enough left ends the wait of a refused probe', () => {
    const ledger = open();
    hold(ledger, 'a', 1, 'enter', 0);
    hold(ledger, 'b', 1, 'enter', 0);
    ledger.answered('a', remaining(0), 10);
    hold(ledger, 'p', 1, 'protect', 10);
    hold(ledger, 'c', 1, 'protect', 11);
    ledger.refused('p', {}, {}, 20);
    ledger.answered('c', remaining(900), 30);
    expect(ledger.admit(1, 'protect', 270)).toEqual({ ok: true });
    expect(ledger.admit(1, 'protect', 146)).toEqual({ ok: true });
  });

  it('counts what expired meanwhile: the venue may have counted it', () => {
    const ledger = open();
    hold(ledger, 'y', 50, 'enter', 0);
    ledger.answered('y', {}, 0);
    hold(ledger, 'x', 100, 'enter', 1_000);
    ledger.answered('x', {}, 1_000);
    hold(ledger, 'b', 1, 'enter', 61_000);
    ledger.answered('b', remaining(1_000), 61_100);
    expect(ledger.report(61_100).foreign).toBe(99);
  });
});

describe('what is lent of the reserve', () => {
  it('is half, and all of it a second before the tokens for it become free', () => {
    const ledger = open();
    hold(ledger, 'u', 60, 'protect', 0);
    ledger.answered('u', {}, 0);
    expect(count(ledger, 'read', 0)).toBe(1_110);
    expect(ledger.admit(1, 'read', 0)).toEqual({ ok: false, at: 59_050, because: 'window' });
    expect(ledger.admit(1, 'read', 59_050)).toEqual({ ok: true });
  });

  it('is what look-ups leave to cancels: half of it is free, or becomes free within a second', () => {
    const ledger = open();
    hold(ledger, 'a', 600, 'resolve', 0);
    ledger.answered('a', {}, 0);
    expect(count(ledger, 'resolve', 1_000)).toBe(570);
    expect(ledger.admit(1, 'resolve', 1_000)).toEqual({ ok: false, at: 59_050, because: 'window' });
    expect(ledger.admit(30, 'protect', 1_000)).toEqual({ ok: true });
    expect(count(ledger, 'resolve', 59_050)).toBe(30);
  });

  it('leaves what heartbeats need, and what others use', () => {
    const beside = open();
    hold(beside, 'h', 1, 'enter', 0, SWITCH);
    hold(beside, 'u', 60, 'protect', 0);
    expect(count(beside, 'read', 0)).toBe(1_099);
    const others = open();
    hold(others, 'a', 1, 'enter', 0);
    others.answered('a', remaining(1_099), 0);
    hold(others, 'u', 60, 'protect', 0);
    expect(count(others, 'read', 0)).toBe(1_009);
  });
});

describe('the pace', () => {
  it('follows the limit of the venue', () => {
    const ledger = open({});
    hold(ledger, 'a', 1, 'enter', 0);
    ledger.answered('a', { 'x-ratelimit-limit': '600' }, 0);
    expect(count(ledger, 'enter', 10)).toBe(60);
    expect(ledger.admit(1, 'enter', 10)).toEqual({ ok: false, at: 110, because: 'pace' });
  });

  it('lets a request go at the instant it gave, whatever the rounding', () => {
    const ledger = open({ tokens: 1_000, windowMs: 7_000, reserve: 0, burst: 3 });
    count(ledger, 'enter', 0);
    let at = 0;
    for (let sent = 0; sent < 300; sent += 1) {
      const admission = ledger.admit(1, 'enter', at);
      if (!admission.ok) {
        at = admission.at;
        expect(ledger.admit(1, 'enter', at)).toEqual({ ok: true });
      }
      hold(ledger, `n${sent}`, 1, 'enter', at);
    }
  });
});

describe('the cost of GET /orders, ten at first', () => {
  /** Requests one after the other; each is answered 60 ms after it was sent. */
  class Venue {
    readonly ledger = open();
    private left = 1_000;
    private sent = 0;

    constructor() {
      this.spend(1, 0).spend(1, 1_000);
    }
    /** A request of a documented cost after which so many tokens less remain. */
    spend(tokens: number, at: number, afterMs = 60): this {
      return this.request('POST /orders', tokens, at, afterMs);
    }
    orders(tokens: number, at: number, afterMs = 60): this {
      return this.request('GET /orders', tokens, at, afterMs);
    }
    get cost(): number {
      return this.ledger.costFor('GET /orders');
    }
    private request(endpoint: 'POST /orders' | 'GET /orders', tokens: number, at: number, afterMs: number): this {
      this.sent += 1;
      const id = String(this.sent);
      this.ledger.hold(id, { endpoint, weight: this.ledger.costFor(endpoint), class: 'read' }, at);
      this.left -= tokens;
      this.ledger.answered(id, remaining(this.left), at + afterMs);
      return this;
    }
  }
  /** Requests that cost 5, sent so many ms after one another, and answered within ten. The first follows another reading. */
  const five = (venue: Venue, count = 4, everyMs = 10) =>
    Array.from({ length: count }).reduce<Venue>((to, _, n) => to.orders(5, 3_000 + n * everyMs, 10), venue);

  /** Requests that cost so much, one behind the other. */
  const lone = (venue: Venue, ...costs: readonly number[]) =>
    costs.reduce((to, tokens, n) => to.orders(tokens, 1_500 + n * 70), venue);
  /** Three requests of 25, each answered so long after the answer before. */
  const every = (venue: Venue, pauseMs: number, afterMs: number) =>
    [1, 2, 3].reduce((to, n) => to.orders(25, 1_060 + n * pauseMs - afterMs, afterMs), venue);

  /** Two of 25, one of so much before which others had time, and one of 25. */
  const between = (venue: Venue, tokens: number) => lone(venue, 25, 25).orders(tokens, 3_000).orders(25, 3_070);

  it('is held with what was learned, but for a cost that falls', () => {
    const venue = new Venue();
    const before = venue.ledger.report(2_000).used;
    const thrice = (to: Venue, tokens: number) => [0, 1, 2].reduce((on, n) => on.orders(tokens, 2_000 + n * 70), to);
    expect(thrice(venue, 25).ledger.report(2_200).used - before).toBe(45);
    expect(thrice(new Venue(), 12).ledger.report(2_200).used).toBe(34);
    const low = five(new Venue());
    const used = low.ledger.report(3_100).used;
    expect([low.cost, low.orders(5, 3_100, 10).ledger.report(3_110).used - used]).toEqual([6, 6]);
  });

  it.each<[string, (venue: Venue) => Venue, number]>([
    ['three equal requests in a row that ran alone', (venue) => lone(venue, 25, 25, 25), 25],
    ['two', (venue) => lone(venue, 25, 25), 10],
    ['three that differ', (venue) => lone(venue, 25, 25, 26), 10],
    ['three with another between them', (venue) => lone(venue, 25, 25, 10, 25), 10],
    ['three, each near the one before', (venue) => every(venue, 1_000, 940), 25],
    ['three before which others had time', (venue) => every(venue, 1_001, 940), 10],
    ['three, and one without an excess between them', (venue) => between(venue, 10), 10],
    ['three, and one with an excess between them before which others had time', (venue) => between(venue, 30), 25],
    ['as much as a burst', (venue) => lone(venue, 1_200, 1_200, 1_200), 10],
    ['one of less than none', (venue) => venue.orders(-5, 2_000), 10],
  ])('is learned from %s, or not', (_, act, cost) => {
    expect(act(new Venue()).cost).toBe(cost);
  });

  it('is not learned from more than a burst', () => {
    const costAfter = (spent: number) => {
      const ledger = open({});
      for (const [id, at, left] of [
        ['a', 0, 900],
        ['b', 1_000, 900 - spent],
        ['c', 2_000, 900 - 2 * spent],
        ['d', 3_000, 900 - 3 * spent],
      ] as const) {
        ledger.hold(id, { endpoint: 'GET /orders', weight: 10, class: 'read' }, at);
        ledger.answered(id, remaining(left), at + 60);
      }
      return ledger.costFor('GET /orders');
    };
    expect([costAfter(120), costAfter(121)]).toEqual([120, 10]);
  });

  it('is not learned where something was sent since the last reading', () => {
    const { ledger } = new Venue();
    hold(ledger, 'x', 15, 'enter', 2_000);
    ledger.answered('x', {}, 2_000);
    ledger.hold('o', { endpoint: 'GET /orders', weight: 10, class: 'read' }, 2_100);
    ledger.answered('o', remaining(973), 2_160);
    expect(ledger.costFor('GET /orders')).toBe(10);
  });

  it.each([
    ['expired meanwhile', 59_980, 60, 10],
    ['expires too soon', 57_989, 61, 10],
    ['expires just too soon', 57_989, 90, 10],
    ['expires late enough', 57_989, 60, 25],
  ])('is not learned where a token of ours %s', (_, at, afterMs, cost) => {
    const ledger = open();
    ledger.assume(7, 0);
    ledger.hold('a', { endpoint: 'POST /orders', weight: 1, class: 'read' }, at - 100);
    ledger.answered('a', remaining(900), at - 40);
    for (const [n, id] of ['b', 'c', 'd'].entries()) {
      ledger.hold(id, { endpoint: 'GET /orders', weight: 10, class: 'read' }, at);
      ledger.answered(id, remaining(875 - 25 * n), at + afterMs);
    }
    expect(ledger.costFor('GET /orders')).toBe(cost);
  });

  it('falls after three readings in a row that leave no more possible, whatever the venue has regained', () => {
    expect([3, 4].map((count) => five(new Venue(), count).cost)).toEqual([10, 6]);
    // 20 tokens a second may have come back since the request of the reading before was sent.
    expect([10, 100, 180, 240].map((everyMs) => five(new Venue(), 4, everyMs).cost)).toEqual([6, 8, 9, 10]);
    const slow = [0, 1, 2, 3].reduce((to, n) => to.orders(5, 3_000 + n * 150, 140), new Venue());
    expect(slow.cost).toBe(10);
    // The highest of the three counts, and one that leaves more possible begins the count anew.
    const costAfter = (...spent: readonly number[]) =>
      spent.reduce((to, tokens, n) => to.orders(tokens, 3_000 + n * 10, 10), new Venue()).cost;
    expect([costAfter(5, 3, 6, 4), costAfter(5, 3, 10, 3, 3), costAfter(5, 3, 10, 3, 3, 3)]).toEqual([7, 10, 4]);
  });

  it('does not fall in the second window of a venue that regains evenly, whatever the first has shown', () => {
    const venue = new Venue().spend(1, 2_000).spend(1, 2_500);
    expect([0, 1, 2, 3, 4].reduce((to, n) => to.orders(8, 3_000 + n * 2_000), venue).cost).toBe(10);
  });

  it('is not learned from a header that does not move', () => {
    const read = (tokens: number) =>
      [0, 1, 2, 3].reduce((to, n) => to.orders(tokens, 3_000 + n * 10, 10), new Venue()).cost;
    expect([read(1), read(0)]).toEqual([2, 10]);
  });
});
