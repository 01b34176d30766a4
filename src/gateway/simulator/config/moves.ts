/** Reads the short form of a price in a configuration file: a constant, or ramps, jumps and gaps, one line each. */
import type { DecimalString } from '../../../base/decimal.ts';
import { parseDurationMs } from '../../../base/duration.ts';
import type { MarketConfig, PriceMove } from './settings.ts';

type Points = Extract<MarketConfig['path'], { kind: 'points' }>['points'];

/** So long after the move before it a jump happens: both prices are seen. */
const JUMP_MS = 100;

/** The price from `start` on, as points. The moves must have no problems. */
export function toPoints(start: DecimalString, moves: readonly PriceMove[]): Points {
  const points: Points[number][] = [{ afterMs: 0, price: start }];
  let afterMs = 0;
  for (const { ramp, jump, gap, hold, over } of moves) {
    const last = points.at(-1) as Points[number];
    afterMs += parseDurationMs(hold ?? over ?? '') ?? 0;
    if (jump !== undefined) afterMs += JUMP_MS;
    if (gap !== undefined) points[points.length - 1] = { ...last, closed: true };
    points.push({ afterMs, price: ramp ?? jump ?? gap ?? last.price, ...(ramp === undefined ? {} : { ramp: true }) });
  }
  return points;
}

const MOVES = ['ramp', 'jump', 'gap', 'hold'] as const;

/** What is wrong with the moves, beyond their schema. */
export function* findMoveProblems(at: string, moves: readonly PriceMove[]): Generator<string> {
  for (const [index, move] of moves.entries()) {
    const named = MOVES.filter((each) => move[each] !== undefined);
    const [name] = named;
    if (named.length !== 1 || name === undefined) yield `${at}.${index}: has one of ${MOVES.join(', ')}`;
    else if ((name === 'ramp' || name === 'gap') !== (move.over !== undefined))
      yield `${at}.${index}: ${name} ${move.over === undefined ? 'needs `over`, how long it takes' : 'takes no `over`'}`;
    else if ((move.over ?? move.hold) !== undefined && !((parseDurationMs(move.over ?? move.hold ?? '') ?? 0) > 0))
      yield `${at}.${index}: takes no time`;
  }
}
