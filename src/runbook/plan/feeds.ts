/**
 * Counts the readings of feeds. A reading that fails is made again by the next step, however young the last value is: only the
 * number of steps that read a feed bounds its readings, and `max_age` does not.
 */
import { Decimal } from '../../base/decimal.ts';
import { ACCOUNT_POSITION } from '../../venue/port.ts';
import type { CheckedRunbook, CheckedStep } from '../checked.ts';
import { MOST_EXITS } from '../steps/manage.ts';
import type { Expr } from '../values.ts';
import { type Load, makeLoad, sequence, UNBOUNDED } from './load.ts';
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
    const reads = [...new Set(bands.flatMap(({ around }) => listFeeds(around)))];
    const each = Array.from({ length: orders }, () => reads).flat();
    return this.read(runbook, [...step.ifFeeds, ...step.feeds, ...each]);
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

  private read(runbook: CheckedRunbook, names: readonly string[]): Load {
    const { markets, declared } = this.context;
    return sequence(
      names.map((name) => {
        const isMap =
          name === ACCOUNT_POSITION || runbook.feeds.find((feed) => feed.name === name)?.type.kind === 'map';
        const count = isMap ? markets.length : 1;
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

function listFeeds(expr: Expr | undefined): readonly string[] {
  return (expr?.reads ?? []).flatMap((root) => (root.startsWith('feeds.') ? [root.slice('feeds.'.length)] : []));
}
