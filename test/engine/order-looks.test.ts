/** The looks at orders before it is judged what a run leaves, and before an exit sends anything: which readings are sent, and when. */
import { describe, expect, it } from 'vitest';
import { Cancellation } from '../../src/engine/interruption.ts';
import { LAST_LOOK_WITHIN_MS } from '../../src/engine/readings/last-look.ts';
import { ShortOrders } from '../../src/engine/readings/seen-ends.ts';
import { PAGE_ROWS } from '../../src/venue/order/requests.ts';
import type { OrderState } from '../../src/venue/order/states.ts';
import { completing, isWhole, make, nameOf } from './completing-stage.ts';
import { failureOf, START } from './tracked-orders.ts';

it('reads by themselves the newest alone of many ended orders that a page may hide: others need the tokens', async () => {
  const ended = Array.from({ length: 200 }, () =>
    make('BTC-USD', { size: '10', filled: '0', recordFilled: '0' }, 'canceled'),
  );
  const full = Array.from({ length: PAGE_ROWS }, () => ({}));
  const { looks, run, asked } = completing((what) =>
    what.startsWith('fills of BTC-USD since') ? { kind: 'confirmed', result: full } : undefined,
  );
  await run(looks.readEnded(ended, 's', new Cancellation()));
  const newest = ended.slice(-20).map((order) => `fills of ${nameOf(order)}`);
  expect(asked()).toEqual(['fills of BTC-USD since 0', ...newest]);
});

const LOOK = { step: 's', cancel: new Cancellation(), patienceMs: 0 };

describe('orders that ended short', () => {
  const canceled = (terminalAt: number, filled = '4') =>
    make('BTC-USD', { size: '10', filled, recordFilled: filled, terminalAt }, 'canceled');

  it('are read when a record shows what they filled, and once', async () => {
    const [late, later, part] = [canceled(START - 1000), canceled(START - 200, '0'), isWhole()];
    const { looks, run, sent } = completing();
    const look = async () => {
      await looks.readUnseen([late, later, part], LOOK);
      await looks.readEnded([late, later, part], 's', new Cancellation());
    };
    await run(look());
    expect(sent.map(({ at, what }) => [at, what])).toEqual([
      [2300, `records of ${nameOf(later)}, ${nameOf(late)}`],
      [2320, `fills of ${nameOf(late)}`],
      [2340, `fills of ${nameOf(later)}`],
    ]);
    await run(look());
    expect(sent).toHaveLength(3);
  });

  it('are read at once where their end is older than the lag of a record', async () => {
    const [old, older] = [canceled(START - 29_000), canceled(START - 93_000)];
    const { looks, run, sent } = completing();
    await run(looks.readUnseen([old, older], LOOK));
    expect(sent.map(({ at, what }) => [at, what])).toEqual([[0, `records of ${nameOf(old)}, ${nameOf(older)}`]]);
  });

  it('are read where they were closed or rejected as well, and the newest alone of many whose fills are out', async () => {
    const ended = (state: OrderState, at: number) =>
      make('BTC-USD', { size: '10', filled: '4', recordFilled: '4', terminalAt: at }, state);
    const before = Array.from({ length: 30 }, () => ended('rejected', START - 93_000));
    const late = ended('closed', START);
    const { looks, run, sent } = completing();
    await run(looks.readUnseen([...before, late], LOOK));
    expect(sent.map(({ at, what }) => [at, what])).toEqual([
      [2500, `records of ${[...before.slice(-20), late].toReversed().map(nameOf).join(', ')}`],
    ]);
  });

  it('are asked for again at the next look where none was shown, but not at once where no answer came', async () => {
    const late = canceled(START - 3000);
    const { looks, run, clock, sent } = completing(() => ({ kind: 'unresolved', message: 'no answer' }));
    await run(looks.readUnseen([late], LOOK));
    const first = sent.length;
    await run(looks.readUnseen([late], LOOK));
    expect([first, sent.length]).toEqual([4, 4]);
    await run(new Promise<void>((done) => void clock.after(8000, done)));
    await run(looks.readUnseen([late], LOOK));
    expect(sent).toHaveLength(8);
  });

  it('count as lately ended up to the millisecond at which their fills must be out: all of these are read', async () => {
    const end = (agoMs: number) => Array.from({ length: 25 }, () => canceled(START - agoMs));
    const count = async (agoMs: number) => {
      const { looks, run, sent } = completing();
      const orders = end(agoMs);
      await run(looks.readUnseen(orders, LOOK));
      return sent[0]?.what.split(', ').length;
    };
    expect([await count(32_500), await count(32_501)]).toEqual([25, 20]);
  });

  it('are given where more has come to light', async () => {
    const rejected = () =>
      make('BTC-USD', { size: '10', filled: '4', recordFilled: '4', terminalAt: START - 3000 }, 'rejected');
    const [same, more] = [rejected(), rejected()];
    const { looks, run } = completing((what) => {
      // The reading of its fills shows what its record had shown before.
      if (what === `fills of ${nameOf(more)}`)
        Object.assign(more.snapshot, { context: { ...more.snapshot.context, filled: '5', recordFilled: '6' } });
      return undefined;
    });
    expect(await run(looks.readEnded([same, more], 's', new Cancellation()))).toEqual([more]);
  });

  it('are read again five seconds later, until their fills must be out', async () => {
    const [terminalAt, since] = [START - 3000, START - 3000];
    const order = make('BTC-USD', { size: '10', filled: '4', recordFilled: '4', terminalAt, since }, 'canceled');
    const { looks, run, clock, sent } = completing();
    const fills = () => sent.filter(({ what }) => what.startsWith('fills')).map(({ at }) => at);
    const lookAt = async (at: number) => {
      await run(new Promise<void>((done) => void clock.at(START + at, done)));
      await run(looks.readEnded([order], 's', new Cancellation()));
    };
    await run(looks.readEnded([order], 's', new Cancellation()));
    const [first = 0] = fills();
    const out = 27_000;
    for (const at of [first + 4999, first + 5000, out - 1, out + 5000, out + 10_000]) await lookAt(at);
    expect(fills()).toEqual([first, first + 5000, out - 1, out + 5000]);
  });

  it.each([
    ['when a record must have shown it, to the millisecond, was asked about', 30_000, [], true],
    ['before that was not', 30_001, [], false],
    ['before that was asked about all the same', 30_001, ['asked'], true],
  ])('and of which no answer shows the end, one that ended %s', (_, shownAgoMs, asked, isUnseen) => {
    const order = canceled(START - 2500 - shownAgoMs);
    const { looks } = completing();
    expect(looks.listUnseen([order], asked.length > 0 ? [order] : [])).toEqual(isUnseen ? [order] : []);
  });

  it('are asked for once more where the answer lacks one that it has to show by now', async () => {
    const order = make(
      'BTC-USD',
      { size: '10', filled: '4', recordFilled: '4', terminalAt: START - 2500, confirmedAt: START - 9000 },
      'canceled',
    );
    const { looks, run, asked } = completing((_, nth) =>
      nth === 1 ? { kind: 'confirmed', lacks: [order] } : undefined,
    );
    await run(looks.readUnseen([order], LOOK));
    expect(asked()).toEqual([`record of ${nameOf(order)}`, `record of ${nameOf(order)}`]);
  });

  it('are not asked for again where an answer shows nothing of one that no record has shown', async () => {
    const order = canceled(START - 3000);
    const { looks, run, asked, entries } = completing(() => ({ kind: 'confirmed', lacks: [order] }));
    await run(looks.readUnseen([order], LOOK));
    expect([asked(), entries]).toEqual([[`record of ${nameOf(order)}`], []]);
  });

  it('are not waited for by a step that is cancelled', async () => {
    const { looks, run, clock, sent } = completing();
    const cancel = new Cancellation();
    clock.after(500, () => cancel.cancel('timeout', 'its time is over'));
    expect(await run(failureOf(looks.readEnded([canceled(START)], 's', cancel)))).toMatchObject({ name: 'Abandoned' });
    expect([clock.now() - START, sent]).toEqual([500, []]);
  });
});

describe('what rests when a step looks', () => {
  it('is read by market, but for what was shown just now and what has ended', async () => {
    const open = (market: string) => make(market, {}, 'open');
    const [a, b, c, just] = [open('BTC-USD'), open('ETH-USD'), open('ETH-USD'), open('ETH-USD')] as const;
    const { looks, run, sent, shown } = completing();
    shown.add(just);
    await run(looks.readUnseen([a, b, c, just, isWhole()], LOOK));
    expect(sent.map(({ what }) => what)).toEqual([`record of ${nameOf(a)}`, `records of ${nameOf(b)}, ${nameOf(c)}`]);
    // It waits for no tokens.
    expect(sent.map(({ at, limits }) => [at, limits])).toMatchObject([
      [0, { deadlineAt: 0, answerMs: 2_000 }],
      [20, { deadlineAt: 20, answerMs: 2_000 }],
    ]);
  });

  it('is read again for no more than eight seconds in however many markets, and once in each', async () => {
    const { looks, run, sent, entries } = completing(() => ({ kind: 'unresolved', message: 'no answer' }));
    const orders = Array.from({ length: 9 }, (_, index) => make(`M${index}-USD`, {}, 'open'));
    await run(looks.readUnseen(orders, LOOK));
    expect([new Set(sent.map(({ what }) => what)).size, entries.length]).toEqual([9, 9]);
    expect(sent.at(-1)?.at).toBeLessThan(8_500);
  });

  it('halts the run where nothing can be recorded any more', async () => {
    const { looks, run } = completing(() => ({ kind: 'denied', code: 'JOURNAL', message: 'the disk is full' }));
    expect(await run(failureOf(looks.readUnseen([make('BTC-USD', {}, 'open')], LOOK)))).toMatchObject({ name: 'Halt' });
  });
});

describe('a look that waits for tokens', () => {
  const late = (at = START - 3000) =>
    make('BTC-USD', { size: '10', filled: '4', recordFilled: '4', terminalAt: at }, 'canceled');
  const open = () => make('BTC-USD', {}, 'open');
  const PATIENT = { ...LOOK, patienceMs: 9000 };

  it.each([
    ['an order that ended short, with those that rest', () => [late(), open()]],
    ['one that rests alone: it may be a stop that has ended', () => [open()]],
  ])('does so for %s', async (_, list) => {
    const { looks, run, sent } = completing();
    await run(looks.readUnseen(list(), PATIENT));
    expect(sent.map(({ limits }) => limits.deadlineAt)).toEqual([11_000]);
  });

  it('waits for none where it has no time', async () => {
    const { looks, run, sent } = completing();
    await run(looks.readUnseen([open()], LOOK));
    expect(sent.map(({ limits }) => limits.deadlineAt)).toEqual([0]);
  });

  it('gives those that no answer has shown, and asks again at once although none came', async () => {
    const order = late();
    const { looks, run, sent } = completing((_, nth) =>
      nth <= 4 ? { kind: 'unresolved', message: 'no answer' } : undefined,
    );
    expect((await run(looks.readUnseen([order], PATIENT))).unseen).toEqual([order]);
    expect(sent).toHaveLength(4);
    expect((await run(looks.readUnseen([order], PATIENT))).unseen).toEqual([]);
    expect(sent).toHaveLength(5);
  });

  it.each<[string, object, number]>([
    ['tokens were lacking', { kind: 'denied', code: 'DEADLINE', message: '' }, 2],
    ['a recording has no such reading', { kind: 'denied', code: 'NOT_RECORDED', message: '' }, 1],
  ])('is made again at the next one where %s, or not', async (_, outcome, readings) => {
    const order = late();
    const { looks, run, sent, entries } = completing(() => outcome);
    await run(looks.readUnseen([order], LOOK));
    await run(looks.readUnseen([order], LOOK));
    expect([sent.length, entries.length]).toEqual([readings, readings === 1 ? 0 : 2]);
  });

  it('says nothing of an order that was shown before the tokens ran out', async () => {
    const [a, b] = [late(), late()];
    const stage = completing(() => {
      stage.endShownAt.set(a, stage.clock.now());
      return { kind: 'denied', code: 'DEADLINE', message: '' };
    });
    expect((await stage.run(stage.looks.readUnseen([a, b], LOOK))).unseen).toEqual([b]);
    expect(stage.entries).toMatchObject([{ clientOrderId: b.intent.clientOrderId, alarm: 'UnseenAtEnd' }]);
  });
});

describe('the look before the first order of an exit', () => {
  const ended = (at: number, filled = '4') =>
    make('BTC-USD', { size: '10', filled, recordFilled: filled, terminalAt: at }, 'canceled');

  it('reads together what ended short and may have filled, when a record shows it, once and at once', async () => {
    const [a, b, whole, old] = [ended(START - 1000), ended(START), ended(START, '10'), ended(START - 63_000)];
    const { exits, run, sent } = completing();
    const look = () => exits.readBefore([a, b, whole, old], 's', new Cancellation());
    await run(look());
    await run(look());
    expect(sent).toMatchObject([
      { at: 2500, what: `records of ${nameOf(a)}, ${nameOf(b)}`, limits: { deadlineAt: 2500, answerMs: 5000 } },
    ]);
  });

  it('reads one alone by itself, and its fills and itself again where it was not answered', async () => {
    const order = ended(START - 3000);
    const { exits, run, asked } = completing((_, nth) => (nth === 1 ? { kind: 'unresolved', message: '' } : undefined));
    for (let time = 0; time < 3; time += 1) await run(exits.readBefore([order], 's', new Cancellation()));
    const record = `record of ${nameOf(order)}`;
    expect(asked()).toEqual([record, `fills of ${nameOf(order)}`, record]);
  });

  it('reads no more than twenty, the newest', async () => {
    const many = Array.from({ length: 30 }, () => ended(START - 3000));
    const { exits, run, asked } = completing();
    await run(exits.readBefore(many, 's', new Cancellation()));
    expect(asked()).toEqual([`records of ${many.slice(-20).map(nameOf).join(', ')}`]);
  });
});

describe('an answer that lacks an order which ended short', () => {
  const BEFORE = 32_500;
  const short = (agoMs: number, rest: object = {}) => {
    const terminalAt = START - agoMs;
    return make(
      'BTC-USD',
      { size: '10', filled: '4', recordFilled: '4', terminalAt, since: terminalAt, ...rest },
      'canceled',
    );
  };
  const KNOWN = { confirmedAt: START - 100_000 };

  it.each<[string, number, object, boolean, boolean]>([
    ['that no record has shown shows that nothing filled', 3000, {}, false, true],
    ['that a record has shown proves nothing', 3000, KNOWN, true, false],
    ['whose fills must be out proves nothing before these were read', BEFORE + 1, KNOWN, false, false],
    ['whose fills must be out, and were read, shows it', BEFORE + 1, KNOWN, true, true],
    ['whose fills need not be out proves nothing', 20_000, KNOWN, true, false],
  ])('%s', async (_, agoMs, rest, readsFills, isSeen) => {
    const order = short(agoMs, rest);
    const { looks, seen, run } = completing((what) =>
      what.startsWith('record') ? { kind: 'confirmed', lacks: [order] } : undefined,
    );
    if (readsFills) await run(looks.readEnded([order], 's', new Cancellation()));
    const { unseen } = await run(looks.readUnseen([order], { ...LOOK, patienceMs: 1 }));
    expect([unseen, seen.isOver(order)]).toEqual([isSeen ? [] : [order], isSeen && readsFills]);
  });

  it('is asked for once more, without those that it shows', async () => {
    const [a, b] = [short(3000, KNOWN), short(4000, KNOWN)];
    const { looks, run, asked } = completing((_, nth) => (nth === 1 ? { kind: 'confirmed', lacks: [b] } : undefined));
    expect((await run(looks.readUnseen([a, b], LOOK))).unseen).toEqual([]);
    expect(asked()).toEqual([`records of ${nameOf(b)}, ${nameOf(a)}`, `record of ${nameOf(b)}`]);
  });

  it('is asked for once more by an exit, a quarter of a second later, with its fills beside the first', async () => {
    const [a, b] = [short(3000, KNOWN), short(4000, KNOWN)];
    const { exits, run, sent } = completing((_, nth) => (nth === 1 ? { kind: 'confirmed', lacks: [b] } : undefined));
    await run(exits.readShort([a, isWhole(), b], 's', new Cancellation()));
    expect(sent.map(({ at, what }) => [at, what])).toEqual([
      [0, `records of ${nameOf(a)}, ${nameOf(b)}`],
      [0, `fills of ${nameOf(b)}`],
      [0, `fills of ${nameOf(a)}`],
      [270, `record of ${nameOf(b)}`],
    ]);
  });

  it('is not asked for once more by an exit where no answer came', async () => {
    const order = short(3000, KNOWN);
    const { exits, run, asked } = completing(() => ({ kind: 'unresolved', message: '' }));
    await run(exits.readShort([order], 's', new Cancellation()));
    expect(asked()).toEqual([`record of ${nameOf(order)}`, `fills of ${nameOf(order)}`]);
  });
});

describe('what an exit reads before its next order', () => {
  const short = () =>
    make('BTC-USD', { size: '10', filled: '4', recordFilled: '4', terminalAt: START - 3000 }, 'canceled');

  it('is a page of fills from three orders on', async () => {
    const page = completing((what) => (what.includes('since') ? { kind: 'confirmed', result: [] } : undefined));
    await page.run(page.exits.readShort([short(), short(), short()], 's', new Cancellation()));
    expect(page.asked().filter((what) => what.startsWith('fills'))).toEqual(['fills of BTC-USD since 0']);
  });

  it('is nothing where all have filled whole', async () => {
    const { exits, run, asked } = completing();
    await run(exits.readShort([isWhole(), isWhole()], 's', new Cancellation()));
    expect(asked()).toEqual([]);
  });

  it('is read of the newest twenty', async () => {
    const many = Array.from({ length: 30 }, short);
    const { exits, run, asked } = completing();
    await run(exits.readShort(many, 's', new Cancellation()));
    expect(asked()[0]).toBe(`records of ${many.slice(-20).map(nameOf).join(', ')}`);
  });

  it('is read of an order whose fills are just out', async () => {
    const order = make(
      'BTC-USD',
      { size: '10', filled: '4', recordFilled: '4', terminalAt: START - 32_500 },
      'canceled',
    );
    const { exits, run, asked } = completing();
    await run(exits.readBefore([order], 's', new Cancellation()));
    expect(asked()).toEqual([`record of ${nameOf(order)}`]);
  });
});

it('the last of the readings that get no answer may wait for it as long as the look may', async () => {
  const order = make('BTC-USD', {}, 'open');
  const { looks, run, sent } = completing(() => ({ kind: 'unresolved', message: '' }));
  await run(looks.readUnseen([order], { ...LOOK, patienceMs: LAST_LOOK_WITHIN_MS }));
  const last = sent.at(-1)?.at ?? 0;
  expect(sent.map(({ limits }) => limits.answerMs)).toEqual([2000, 2000, 2000, LAST_LOOK_WITHIN_MS - last]);
});

it('a look gives what works and what ended short, and nothing that has filled whole', async () => {
  const [open, short] = [
    make('BTC-USD', {}, 'open'),
    make('BTC-USD', { size: '10', terminalAt: START - 3000 }, 'canceled'),
  ];
  const { looks, run } = completing();
  expect((await run(looks.readUnseen([open, isWhole(), short], LOOK))).looked).toEqual([open, short]);
});

it('forgets an order that is over until it changes', () => {
  const changed = new Set([make('BTC-USD', { size: '10', filled: '4', recordFilled: '4' }, 'canceled')]);
  const [order] = changed;
  const short = new ShortOrders({ watchOrders: () => changed });
  expect(short.list()).toEqual([order]);
  short.forget(() => false);
  expect(short.list()).toEqual([order]);
  short.forget(() => true);
  expect(short.list()).toEqual([]);
  if (order !== undefined) changed.add(order);
  expect(short.list()).toEqual([order]);
});
