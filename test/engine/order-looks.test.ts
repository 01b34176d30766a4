/** The looks at orders before it is judged what a run leaves, and before an exit sends anything: which readings are sent, and when. */
import { describe, expect, it } from 'vitest';
import { Cancellation } from '../../src/engine/interruption.ts';
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
