/** Executes one run of a sweep, and gives its figures. Its journal is folded as it is written, and kept nowhere. */
import { Decimal, type DecimalString, decimal, formatDecimal } from '../../base/decimal.ts';
import type { Entry, RunOutcome } from '../../journal/entry.ts';
import { MemoryStore } from '../../journal/stores/memory.ts';
import { ResultFold } from '../../report/folds/run.ts';
import type { MarketMoney } from '../../report/results/money.ts';
import { UnprotectedFold } from '../../report/results/unprotected.ts';
import { type DryRun, dryRun } from '../run/virtual-run.ts';

/** What a sweep compares; amounts in quote currency, over all markets of the run. */
export interface RunFigures {
  readonly seed: number;
  readonly outcome: RunOutcome;
  /** The error's kind, or the reason of a stop. */
  readonly why?: string;
  readonly net: DecimalString;
  readonly fees: DecimalString;
  /** Absent where the run filled nothing, or saw no price before. */
  readonly slippage?: DecimalString;
  /** Of several markets the sum: their falls may not coincide, and the sum is never below the fall of all. */
  readonly maxDrawdown: DecimalString;
  readonly durationMs: number;
  /** How long something of the position had no working stop, ms. */
  readonly unprotectedMs: number;
}

export async function runOnce(options: Omit<DryRun, 'store' | 'run' | 'onEntry' | 'onCrash'>): Promise<RunFigures> {
  const result = new ResultFold();
  const unprotected = new UnprotectedFold(result.orders);
  let endedAt = options.at;
  const onEntry = (entry: Entry) => {
    result.apply(entry);
    unprotected.apply(entry);
    endedAt = entry.at;
  };
  const ended = await dryRun({ ...options, run: `sweep-${options.seed}`, store: new MemoryStore(), onEntry });
  const { outcome, error, reason } = ended.result;
  const why = error?.kind ?? reason;
  const money = Object.values(result.result().money);
  const slippage = sum(money, 'slippage');
  return {
    seed: options.seed,
    outcome,
    ...(why === undefined ? {} : { why }),
    net: sum(money, 'net') ?? '0',
    fees: sum(money, 'fees') ?? '0',
    ...(slippage === undefined ? {} : { slippage }),
    maxDrawdown: sum(money, 'maxDrawdown') ?? '0',
    durationMs: endedAt - options.at,
    unprotectedMs: unprotected.sumMs(endedAt),
  };
}

/** The sum over the markets that have the figure; undefined where none has. */
function sum(
  money: readonly MarketMoney[],
  figure: 'net' | 'fees' | 'slippage' | 'maxDrawdown',
): DecimalString | undefined {
  const values = money.flatMap((market) => market[figure] ?? []);
  if (values.length === 0) return undefined;
  return formatDecimal(values.reduce((total, value) => total.plus(decimal(value)), new Decimal(0)));
}
