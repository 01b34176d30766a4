/**
 * Counts the readings of feeds. A reading that fails is made again by the next step, however young the last value is: only the
 * number of steps that read a feed bounds its readings, and `max_age` does not.
 */
import { Decimal } from '../../base/decimal.ts';
import { ACCOUNT_POSITION } from '../../venue/port.ts';
import type { CheckedRunbook, CheckedStep } from '../checked.ts';
import { listFeeds, readsOneMarket } from '../feed-reads.ts';
import { MOST_EXITS } from '../steps/exit.ts';
import { type Load, makeLoad, sequence, UNBOUNDED } from './load/load.ts';
import type { PlanContext } from './scope.ts';

export class PlannedFeeds {
  private readonly context: PlanContext;

  constructor(context: PlanContext) {
    this.context = context;
  }

  /** The readings of one attempt of a step: for its condition, for its own expressions, and for the price band of its order. */
  ofAttempt(step: CheckedStep, runbook: CheckedRunbook): Load {
    const orders = { place: 1, amend: 1, manage: MOST_EXITS, close: MOST_EXITS }[step.verb as string] ?? 0;
    const bands = orders === 0 ? [] : (runbook.limits?.priceBands ?? []);
    // Of one market: which one is not always known.
    const whole = bands.flatMap(({ around }) => (readsOneMarket(around) ? [] : listFeeds(around)));
    const one = bands.flatMap(({ around }) => listFeeds(around)).filter((name) => !whole.includes(name));
    const repeat = (names: readonly string[]) => Array.from({ length: orders }, () => [...new Set(names)]).flat();
    const load = this.read(runbook, [...step.ifFeeds, ...step.feeds, ...repeat(whole)]);
    return one.length === 0 ? load : sequence([load, this.read(runbook, repeat(one), 1)]);
  }

  /** The readings before the condition of a loop, in one round. */
  ofCondition({ feeds }: CheckedStep, runbook: CheckedRunbook): Load {
    return this.read(runbook, feeds);
  }

  /** The readings with which a runbook starts. */
  ofStart(runbook: CheckedRunbook): Load {
    const values = [...runbook.let.map(({ value }) => value), ...runbook.vars.map(({ init }) => init)];
    return this.read(runbook, values.flatMap(listFeeds));
  }

  /** `most`: of how many markets the value of a feed by market is read. */
  private read(runbook: CheckedRunbook, names: readonly string[], most = this.context.markets.length): Load {
    const { declared } = this.context;
    return sequence(
      names.map((name) => {
        const isMap =
          name === ACCOUNT_POSITION || runbook.feeds.find((feed) => feed.name === name)?.type.kind === 'map';
        const count = isMap ? most : 1;
        const range = { max: new Decimal(count) };
        const request = declared.requestOf(name);
        return makeLoad(
          {
            [`feed ${name}`]: range,
            ...(request === undefined ? {} : { [`requests request ${request}`]: range }),
            duration: { max: UNBOUNDED },
          },
          { tokens: request === undefined ? 0 : count * declared.costOf(request), minMs: 0, rate: 0 },
        );
      }),
    );
  }
}
