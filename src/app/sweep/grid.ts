/** Reads `--input` of a sweep: every combination of the values that are given for the inputs. */
import { makePrintable } from '../../base/printable.ts';
import type { CheckedRunbook } from '../../runbook/checked.ts';
import type { Value, ValueType } from '../../runbook/values.ts';
import { UserError } from '../errors.ts';
import { inputValues } from '../files/load.ts';

/** One combination. */
export interface GridPoint {
  /** As `--input` of a single run takes them. */
  readonly pairs: readonly string[];
  /** The part of them that differs between combinations, by name. */
  readonly varied: Readonly<Record<string, string>>;
  readonly inputs: Readonly<Record<string, Value>>;
}

const MOST_POINTS = 10_000;

/**
 * A value is split at its commas, `size=0.1,0.2`, except of a list, a map, or a text without an enum, which may contain commas:
 * they are varied by giving the input several times.
 */
export function readGrid(
  runbook: CheckedRunbook,
  pairs: readonly string[],
  file: string | undefined,
): readonly GridPoint[] {
  const values = new Map<string, string[]>();
  for (const pair of pairs) {
    const at = pair.indexOf('=');
    if (at < 1) throw new UserError(`--input takes name=value, found ${makePrintable(pair, 100)}`);
    const [name, text] = [pair.slice(0, at), pair.slice(at + 1)];
    const input = runbook.inputs.find((each) => each.name === name);
    const isSplit = input !== undefined && isSplitAtCommas(input.type, input.enum !== undefined);
    const given = isSplit ? text.split(',').map((each) => each.trim()) : [text];
    values.set(name, [...(values.get(name) ?? []), ...given]);
  }
  let points: Record<string, string>[] = [{}];
  for (const [name, texts] of values) {
    if (new Set(texts).size !== texts.length)
      throw new UserError(`--input ${makePrintable(name, 100)} gives the same value twice`);
    points = points.flatMap((point) => texts.map((text) => ({ ...point, [name]: text })));
    if (points.length > MOST_POINTS) throw new UserError(`the inputs have more than ${MOST_POINTS} combinations`);
  }
  const varying = [...values].filter(([, texts]) => texts.length > 1).map(([name]) => name);
  return points.map((point) => {
    const own = Object.entries(point).map(([name, text]) => `${name}=${text}`);
    return {
      pairs: own,
      varied: Object.fromEntries(varying.map((name) => [name, point[name] ?? ''])),
      inputs: inputValues(runbook, { pairs: own, file }),
    };
  });
}

function isSplitAtCommas(type: ValueType, hasEnum: boolean): boolean {
  if (type.kind === 'optional') return isSplitAtCommas(type.of, hasEnum);
  if (type.kind === 'list' || type.kind === 'map' || type.kind === 'record') return false;
  return type.kind !== 'text' || hasEnum || type.of !== undefined || type.market === true;
}
