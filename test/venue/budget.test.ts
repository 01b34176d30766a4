import { describe, expect, it } from 'vitest';
import type { CallClass } from '../../src/venue/port.ts';
import { budgetSettings, Ledger } from '../../src/venue/tokens/ledger.ts';
import { COUNTING_RULES, type CountingRule } from './counting-venues.ts';
import { saturate } from './saturation.ts';

const settings = budgetSettings();
const half = () => 0.5;
const rule = (name: CountingRule['name']) => COUNTING_RULES.find((each) => each.name === name) as CountingRule;

/** Sends as much as is admitted at one instant; gives the ids. */
function fill(ledger: Ledger, weight: number, cls: CallClass, at: number, prefix = 'f'): string[] {
  const ids: string[] = [];
  while (ledger.admit(weight, cls, at).ok) {
    const id = `${prefix}${ids.length}`;
    ledger.hold(id, { endpoint: 'POST /orders', weight, class: cls }, at);
    ids.push(id);
  }
  return ids;
}

const remaining = (tokens: number, limit = 1200) => ({
  'x-ratelimit-limit': String(limit),
  'x-ratelimit-remaining': String(tokens),
});

describe('an hour of full load', () => {
  const certain = ['sliding log', 'fixed window', 'token bucket'] as const;
  for (const name of certain) {
    it(`is never refused by a ${name}, uses at least 96 %, and a cancel never waits 2 s`, () => {
      for (const seed of [1, 2, 3]) {
        const result = saturate({ rule: rule(name), minutes: 60, seed });
        expect(result.refusals).toBe(0);
        expect(result.utilisation).toBeGreaterThan(0.96);
        expect(result.longestCancelWaitMs).toBeLessThan(2_000);
      }
    });
  }

  it('stays within the limit of a sliding counter by probing', () => {
    for (const seed of [1, 2, 3]) {
      const result = saturate({ rule: rule('sliding counter'), minutes: 60, seed });
      expect(result.refusals).toBeLessThanOrEqual(5);
      expect(result.utilisation).toBeGreaterThan(0.85);
      expect(result.longestCancelWaitMs).toBeLessThan(2_000);
    }
  });

  it('uses 98.5 % with a reserve of one in a hundred, and is not refused', () => {
    for (const name of certain) {
      for (const seed of [1, 2, 3, 4, 5]) {
        const result = saturate({ rule: rule(name), minutes: 5, seed, settings: { reserve: 12 } });
        expect(result.refusals).toBe(0);
        expect(result.utilisation).toBeGreaterThan(0.985);
      }
    }
  });

  it('keeps cancels under 2 s when they are a tenth of all traffic and have used up the reserve', () => {
    for (const name of certain) {
      const result = saturate({ rule: rule(name), minutes: 60, seed: 4, cancelEveryMs: 500 });
      expect(result.refusals).toBe(0);
      expect(result.longestCancelWaitMs).toBeLessThan(2_000);
    }
  });

  it('scales with the profile: another limit and another window', () => {
    const scaled = { tokens: 120, windowMs: 10_000 };
    const result = saturate({
      rule: rule('sliding log'),
      minutes: 60,
      seed: 5,
      settings: scaled,
      weights: [1, 1, 2],
      cancelEveryMs: 4_000,
    });
    expect(result.refusals).toBe(0);
    expect(result.utilisation).toBeGreaterThan(0.94);
  });

  it('leaves tokens to a program outside the ledger: few refusals, and none that a reading could have avoided', () => {
    const result = saturate({ rule: rule('sliding log'), minutes: 20, seed: 6, foreignPerMinute: 300 });
    expect(result.refusals / result.requests).toBeLessThan(0.005);
    expect(result.utilisation).toBeGreaterThan(0.65);
    expect(result.utilisation).toBeLessThan(0.76);
    expect(result.longestCancelWaitMs).toBeLessThan(2_000);
  });

  it('decides the same when the ledger changes hands after every event', () => {
    const load = { rule: rule('sliding counter'), minutes: 3, seed: 7 };
    expect(saturate({ ...load, handOver: true })).toEqual(saturate(load));
  });
});

describe('holding', () => {
  it('holds tokens from before the request until a window and a margin after its answer', () => {
    const ledger = new Ledger(budgetSettings({ reserve: 0, burst: 1200 }), half);
    const ids = fill(ledger, 100, 'read', 0);
    expect(ids).toHaveLength(12);
    for (const id of ids) ledger.answered(id, {}, 1_700);
    // A window after sending the venue may still count them: it counted a slow one when it was answered.
    expect(ledger.admit(1, 'protect', 60_000)).toEqual({ ok: false, at: 61_750, because: 'window' });
    expect(ledger.admit(1, 'protect', 61_749).ok).toBe(false);
    expect(ledger.admit(1, 'protect', 61_750)).toEqual({ ok: true });
  });

  it('holds a request without an answer for the in-transit time as well, and forgets one that never left', () => {
    const ledger = new Ledger(settings, half);
    ledger.hold('lost', { endpoint: 'POST /orders', weight: 3, class: 'enter' }, 0);
    ledger.hold('never', { endpoint: 'POST /orders', weight: 4, class: 'enter' }, 0);
    ledger.notSent('never', 10);
    ledger.aborted('lost', 5_000);
    expect(ledger.report(75_049).used).toBe(3);
    expect(ledger.report(75_050).used).toBe(0);
  });

  it('holds requests in flight until they settle, and frees those of a dead process when they can have no effect any more', () => {
    const ledger = new Ledger(settings, half);
    ledger.hold('dead', { endpoint: 'POST /orders', weight: 7, class: 'protect' }, 0);
    expect(ledger.report(130_049).used).toBe(7);
    expect(ledger.report(130_050)).toMatchObject({ used: 0, urgentUsed: 0 });
    ledger.answered('dead', remaining(3), 131_000);
    expect(ledger.report(131_000)).toMatchObject({ used: 0 });
  });

  it('fills the window with what the journal attempted last', () => {
    const ledger = new Ledger(settings, half);
    ledger.assume(1_130, 0);
    expect(ledger.admit(20, 'read', 0)).toEqual({ ok: false, at: 60_050, because: 'window' });
    expect(ledger.admit(10, 'read', 0)).toEqual({ ok: true });
  });

  it('sends a request heavier than the limit alone', () => {
    const ledger = new Ledger(budgetSettings({ tokens: 8 }), half);
    expect(ledger.admit(20, 'read', 0)).toEqual({ ok: true });
    ledger.hold('heavy', { endpoint: 'GET /account', weight: 20, class: 'read' }, 0);
    ledger.answered('heavy', {}, 100);
    expect(ledger.admit(20, 'read', 30_000).ok).toBe(false);
  });
});

describe('admission', () => {
  it('lets ordinary requests burst a tenth and then one twentieth of a second each; urgent ones do not wait', () => {
    const ledger = new Ledger(settings, half);
    expect(fill(ledger, 1, 'enter', 0)).toHaveLength(120);
    expect(ledger.admit(1, 'enter', 0)).toEqual({ ok: false, at: 50, because: 'pace' });
    expect(ledger.admit(10, 'read', 0)).toEqual({ ok: false, at: 500, because: 'pace' });
    expect(ledger.admit(10, 'resolve', 0)).toEqual({ ok: true });
    expect(ledger.admit(1, 'enter', 50)).toEqual({ ok: true });
  });

  it('keeps sixty tokens for urgent requests, less those that urgent ones hold', () => {
    const ledger = new Ledger(budgetSettings({ burst: 1200 }), half);
    expect(fill(ledger, 1, 'read', 0, 'o')).toHaveLength(1140);
    expect(fill(ledger, 1, 'protect', 0, 'u')).toHaveLength(60);
    const lent = new Ledger(budgetSettings({ burst: 1200 }), half);
    lent.hold('u', { endpoint: 'POST /orders', weight: 20, class: 'protect' }, 0);
    expect(fill(lent, 1, 'read', 0, 'o')).toHaveLength(1140);
  });

  it('gives the earliest time after other requests, by own tokens and by pace', () => {
    const ledger = new Ledger(settings, half);
    expect(ledger.earliest(20, 'read', 0, 0)).toBe(0);
    expect(ledger.earliest(20, 'read', 200, 0)).toBe(5_000);
    expect(ledger.earliest(1, 'protect', 0, 0)).toBe(0);
    ledger.assume(1_200, 0);
    expect(ledger.earliest(1, 'protect', 0, 0)).toBe(60_050);
  });
});

describe("a reading of the venue's headers", () => {
  it('lowers the limit at once and raises it after three equal readings', () => {
    const ledger = new Ledger(settings, half);
    const read = (id: string, limit: string, at: number) => {
      ledger.hold(id, { endpoint: 'POST /orders', weight: 1, class: 'enter' }, at);
      ledger.answered(id, { 'x-ratelimit-limit': limit }, at + 10);
      return ledger.report(at + 10).limit;
    };
    expect(read('a', '600', 0)).toBe(600);
    expect(read('b', '6000', 100)).toBe(600);
    expect(read('c', '5000', 200)).toBe(600);
    expect(read('d', '5000', 300)).toBe(600);
    expect(read('e', '5000', 400)).toBe(5000);
    for (const [index, nonsense] of ['0', '-3', 'many', '1e9', ' 99999999999 ', ''].entries()) {
      expect(read(`n${index}`, nonsense, 500 + index * 100)).toBe(5000);
    }
  });

  it('counts tokens that it cannot have used itself as use by others, for a window', () => {
    const ledger = new Ledger(settings, half);
    ledger.hold('a', { endpoint: 'POST /orders', weight: 1, class: 'enter' }, 0);
    ledger.answered('a', remaining(899), 50);
    expect(ledger.report(50)).toMatchObject({ foreign: 300, used: 1, venueRemaining: 899 });
    ledger.hold('b', { endpoint: 'POST /orders', weight: 1, class: 'enter' }, 30_000);
    ledger.answered('b', remaining(1_000), 30_050);
    expect(ledger.report(60_049).foreign).toBe(300);
    expect(ledger.report(60_050).foreign).toBe(198);
    expect(ledger.report(90_050).foreign).toBe(0);
  });

  it('sends one probe against the reading, an urgent one at once, and backs off when it is refused', () => {
    const ledger = new Ledger(settings, () => 0);
    ledger.hold('a', { endpoint: 'POST /orders', weight: 1, class: 'enter' }, 0);
    ledger.answered('a', remaining(0), 100);
    // No token of ours becomes free within the minute, so only a probe can show that others have stopped.
    expect(ledger.admit(1, 'protect', 100)).toEqual({ ok: true });
    ledger.hold('p', { endpoint: 'DELETE /orders', weight: 1, class: 'protect' }, 100);
    expect(ledger.admit(1, 'protect', 120)).toEqual({ ok: false, at: 1_120, because: 'venue' });
    ledger.refused('p', remaining(0), {}, 200);
    expect(ledger.admit(1, 'protect', 200)).toEqual({ ok: false, at: 450, because: 'venue' });
    ledger.hold('q', { endpoint: 'DELETE /orders', weight: 1, class: 'protect' }, 450);
    ledger.refused('q', remaining(0), {}, 500);
    expect(ledger.admit(1, 'protect', 500)).toEqual({ ok: false, at: 1_000, because: 'venue' });
    ledger.hold('r', { endpoint: 'DELETE /orders', weight: 1, class: 'protect' }, 1_000);
    ledger.answered('r', remaining(40), 1_050);
    expect(ledger.admit(1, 'protect', 1_050)).toEqual({ ok: true });
    // For ordinary requests the worst reading counts until it is a minute old.
    expect(ledger.admit(1, 'read', 1_060)).toEqual({ ok: false, at: 60_100, because: 'window' });
  });

  it('lets an ordinary request wait until the reading against it is old, and sends it alone', () => {
    const ledger = new Ledger(settings, half);
    ledger.assume(1_000, 0);
    ledger.hold('slow', { endpoint: 'POST /orders', weight: 30, class: 'enter' }, 0);
    ledger.hold('fast', { endpoint: 'POST /orders', weight: 1, class: 'enter' }, 10);
    ledger.answered('fast', remaining(169), 100);
    // The slow request may still use thirty of the 169, and sixty are reserved.
    expect(ledger.admit(79, 'read', 100)).toEqual({ ok: true });
    expect(ledger.admit(80, 'read', 100)).toEqual({ ok: false, at: 350, because: 'venue' });
    expect(ledger.admit(80, 'read', 350)).toEqual({ ok: true });
    ledger.hold('probe', { endpoint: 'GET /account', weight: 80, class: 'read' }, 350);
    expect(ledger.admit(1, 'read', 1_400)).toEqual({ ok: false, at: 2_400, because: 'venue' });
  });

  it('ignores a reading older than a window', () => {
    const ledger = new Ledger(settings, half);
    ledger.hold('a', { endpoint: 'POST /orders', weight: 1, class: 'enter' }, 0);
    ledger.answered('a', remaining(0), 100);
    expect(ledger.admit(20, 'read', 150).ok).toBe(false);
    expect(ledger.admit(20, 'read', 60_200)).toEqual({ ok: true });
  });
});

describe('a refusal', () => {
  function refusedRead(retryAfterMs: number | undefined, random = half): Ledger {
    const ledger = new Ledger(settings, random);
    ledger.hold('read', { endpoint: 'GET /account', weight: 20, class: 'read' }, 0);
    ledger.refused('read', {}, { retryAfterMs }, 100);
    return ledger;
  }

  it('holds back its weight and heavier ones, never a cancel', () => {
    const ledger = refusedRead(7_000);
    expect(ledger.admit(20, 'read', 100)).toEqual({ ok: false, at: 7_100, because: 'refused' });
    expect(ledger.admit(30, 'reconcile', 7_099)).toEqual({ ok: false, at: 7_100, because: 'refused' });
    expect(ledger.admit(10, 'read', 100)).toEqual({ ok: true });
    expect(ledger.admit(1, 'protect', 100)).toEqual({ ok: true });
    expect(ledger.admit(20, 'resolve', 100)).toEqual({ ok: true });
    expect(ledger.report(100).used).toBe(20);
  });

  it('of an urgent request holds urgent ones back as well, until the time that the venue gave', () => {
    const ledger = new Ledger(settings, half);
    ledger.hold('c', { endpoint: 'DELETE /orders', weight: 1, class: 'protect' }, 0);
    ledger.refused('c', {}, { retryAfterMs: 2_000 }, 0);
    expect(ledger.admit(1, 'protect', 1_999)).toEqual({ ok: false, at: 2_000, because: 'refused' });
    expect(ledger.admit(1, 'protect', 2_000)).toEqual({ ok: true });
  });

  it('without a time backs off with full jitter, doubling to a cap; a time beyond two minutes is not believed', () => {
    const ledger = new Ledger(settings, () => 1);
    let at = 0;
    const waits: number[] = [];
    for (let n = 0; n < 8; n += 1) {
      ledger.hold(`r${n}`, { endpoint: 'GET /account', weight: 20, class: 'read' }, at);
      ledger.refused(`r${n}`, {}, {}, at);
      const admission = ledger.admit(20, 'read', at);
      if (admission.ok) throw new Error('admitted right after a refusal');
      waits.push(admission.at - at);
      at = admission.at;
    }
    expect(waits).toEqual([250, 500, 1_000, 2_000, 4_000, 8_000, 8_000, 8_000]);
    expect(refusedRead(undefined, () => 0).admit(20, 'read', 100)).toEqual({ ok: true });
    expect(refusedRead(1e9).admit(20, 'read', 100)).toMatchObject({ at: 120_100 });
    expect(refusedRead(-5).admit(20, 'read', 100)).toMatchObject({ at: 225 });
    expect(refusedRead(Number.NaN).admit(20, 'read', 100)).toMatchObject({ at: 225 });
  });

  it.each([
    ['no time', undefined],
    ['an earlier time', 500],
  ])('does not shorten the wait that another one asked for: %s', (_, retryAfterMs) => {
    const ledger = new Ledger(settings, half);
    for (const id of ['a', 'b']) ledger.hold(id, { endpoint: 'POST /orders', weight: 1, class: 'enter' }, 0);
    ledger.refused('a', {}, { retryAfterMs: 1_000 }, 100);
    ledger.refused('b', {}, { retryAfterMs }, 102);
    expect(ledger.admit(1, 'enter', 1_099)).toEqual({ ok: false, at: 1_100, because: 'refused' });
    expect(ledger.admit(1, 'enter', 1_100)).toEqual({ ok: true });
  });

  it('is followed by a single request, and is over when that is granted', () => {
    const ledger = refusedRead(1_000);
    expect(ledger.admit(20, 'read', 1_100)).toEqual({ ok: true });
    ledger.hold('probe', { endpoint: 'GET /account', weight: 20, class: 'read' }, 1_100);
    expect(ledger.admit(20, 'read', 1_150)).toMatchObject({ ok: false, because: 'venue' });
    ledger.answered('probe', {}, 1_200);
    expect(fill(ledger, 20, 'read', 1_200)).toHaveLength(5);
  });
});

describe('a refusal that says that nothing remains', () => {
  function refusedAtNothing(remainingThen: number): Ledger {
    const ledger = new Ledger(settings, () => 0);
    ledger.hold('a', { endpoint: 'GET /account', weight: 20, class: 'read' }, 0);
    ledger.answered('a', remaining(1_180), 50);
    ledger.hold('b', { endpoint: 'GET /account', weight: 20, class: 'read' }, 1_000);
    ledger.refused('b', remaining(remainingThen), { retryAfterMs: 2_000 }, 1_050);
    return ledger;
  }

  it('is not a count of use by others: after the wait that the venue asked for one request is sent, then all may be', () => {
    const ledger = refusedAtNothing(0);
    expect(ledger.report(1_050)).toMatchObject({ foreign: 0, venueRemaining: 0 });
    expect(ledger.admit(20, 'read', 3_049)).toMatchObject({ ok: false, at: 3_050 });
    expect(ledger.admit(20, 'read', 3_050)).toEqual({ ok: true });
    ledger.hold('c', { endpoint: 'GET /account', weight: 20, class: 'read' }, 3_050);
    expect(ledger.admit(20, 'read', 3_060)).toMatchObject({ ok: false, because: 'venue' });
    ledger.answered('c', remaining(1_160), 3_100);
    expect(ledger.admit(20, 'read', 3_100)).toEqual({ ok: true });
    expect(fill(ledger, 20, 'read', 3_100)).toHaveLength(5);
  });

  it('holds back lighter requests no longer than a probe takes, and never holds back cancels', () => {
    const ledger = refusedAtNothing(0);
    expect(ledger.admit(1, 'protect', 1_050)).toEqual({ ok: true });
    expect(ledger.admit(1, 'enter', 1_050)).toMatchObject({ ok: false, at: 1_300, because: 'venue' });
    expect(ledger.admit(1, 'enter', 1_300)).toEqual({ ok: true });
  });

  it('is probed less and less often while the venue keeps refusing', () => {
    const ledger = refusedAtNothing(0);
    const sent: number[] = [];
    for (let at = 3_050; at < 60_000; at += 10) {
      if (!ledger.admit(20, 'read', at).ok) continue;
      sent.push(at);
      ledger.hold(`p${at}`, { endpoint: 'GET /account', weight: 20, class: 'read' }, at);
      ledger.refused(`p${at}`, remaining(0), {}, at + 5);
    }
    expect(sent.length).toBeLessThan(20);
  });

  it('is believed where it gives the remaining tokens', () => {
    expect(refusedAtNothing(15).report(1_050).foreign).toBe(1_200 - 15 - 40);
  });
});

describe('costs that the document does not give', () => {
  /** Runs requests alone, one directly after another, each costing what `costs` says, at a venue that regains nothing within the test. */
  function alone(requests: readonly (readonly ['POST /orders' | 'GET /orders', number])[], configured = {}) {
    const ledger = new Ledger(settings, half, configured);
    let left = 1_000;
    let at = 0;
    const figures = requests.map(([endpoint, cost], index) => {
      ledger.hold(`${index}`, { endpoint, weight: ledger.costFor(endpoint), class: 'read' }, at);
      left -= cost;
      ledger.answered(`${index}`, remaining(left), at + 60);
      at += 70;
      return ledger.costFor('GET /orders');
    });
    return { figures, report: ledger.report(at) };
  }

  it('are raised by three equal readings, and lowered by three to the most that they leave possible', () => {
    const start = [
      ['POST /orders', 1],
      ['POST /orders', 1],
    ] as const;
    const { figures } = alone([
      ...start,
      ['GET /orders', 25],
      ['GET /orders', 25],
      ['GET /orders', 25],
      ['GET /orders', 5],
      ['GET /orders', 5],
      ['GET /orders', 5],
    ]);
    expect(figures).toEqual([10, 10, 10, 10, 25, 25, 25, 8]);
  });

  it('start at the figure of the profile, and the highest of the readings counts', () => {
    const start = [
      ['POST /orders', 1],
      ['POST /orders', 1],
    ] as const;
    const five = ['GET /orders', 5] as const;
    const { figures } = alone([...start, five, five, ['GET /orders', 6], five, five, five], { 'GET /orders': 12 });
    expect(figures).toEqual([12, 12, 12, 12, 9, 9, 9, 8]);
  });

  it.each(['token bucket', 'sliding counter'] as const)(
    'are not lowered by a %s, where a reading shows less than was spent',
    (name) => {
      const bucket = rule(name).open(1200, 60_000);
      const ledger = new Ledger(settings, half);
      for (let n = 0; n < 80; n += 1) {
        const at = 1_000 + n * 1_500;
        const endpoint = n % 4 === 0 ? 'POST /orders' : 'GET /orders';
        ledger.hold(`${n}`, { endpoint, weight: ledger.costFor(endpoint), class: 'read' }, at);
        const said = bucket.count(n % 4 === 0 ? 1 : 10, at + 30);
        ledger.answered(`${n}`, remaining(said.remaining), at + 60);
      }
      expect(ledger.costFor('GET /orders')).toBe(10);
    },
  );

  it('are not learned from a request that did not run alone', () => {
    const ledger = new Ledger(settings, half);
    ledger.hold('first', { endpoint: 'POST /orders', weight: 1, class: 'enter' }, 0);
    ledger.answered('first', remaining(1_000), 50);
    ledger.hold('a', { endpoint: 'GET /orders', weight: 10, class: 'read' }, 1_000);
    ledger.hold('b', { endpoint: 'POST /orders', weight: 1, class: 'enter' }, 1_010);
    ledger.answered('a', remaining(940), 1_100);
    ledger.answered('b', remaining(939), 1_120);
    expect(ledger.costFor('GET /orders')).toBe(10);
  });
});

describe('a saved ledger', () => {
  it('restores everything', () => {
    const ledger = new Ledger(settings, half);
    fill(ledger, 10, 'read', 0);
    ledger.hold('u', { endpoint: 'DELETE /orders', weight: 1, class: 'protect' }, 0);
    ledger.answered('f0', remaining(700, 1_100), 40);
    ledger.refused('f1', {}, { retryAfterMs: 3_000 }, 50);
    const copy = Ledger.restore(ledger.save(), 60, settings, half);
    expect(copy.report(60)).toEqual(ledger.report(60));
    expect(copy.save()).toBe(ledger.save());
    expect(copy.admit(10, 'read', 60)).toEqual(ledger.admit(10, 'read', 60));
  });

  it('that cannot be read counts as a full window', () => {
    for (const text of ['', '{', 'null', '{"v":2}', '[]']) {
      const ledger = Ledger.restore(text, 1_000, settings, half);
      expect(ledger.admit(1, 'protect', 1_000)).toEqual({ ok: false, at: 61_050, because: 'window' });
    }
  });

  it('follows the settings of the process that continues it, and a limit that the venue has sent', () => {
    const ledger = new Ledger(settings, half);
    const lower = budgetSettings({ tokens: 300 });
    expect(Ledger.restore(ledger.save(), 0, lower, half).report(0).limit).toBe(300);
    ledger.hold('a', { endpoint: 'POST /orders', weight: 1, class: 'enter' }, 0);
    ledger.answered('a', { 'x-ratelimit-limit': '900' }, 10);
    expect(Ledger.restore(ledger.save(), 10, lower, half).report(10).limit).toBe(900);
  });
});
