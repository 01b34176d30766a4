/** Matches step paths with what a person typed: an id, a step name, or the path in a timeline. */

import { makePrintable } from '../../base/printable.ts';
import { suggestSpelling } from '../../base/spelling.ts';
import { stripRounds } from '../../journal/entry.ts';
import { formatStepName, formatText } from '../../report/format.ts';
import { UserError } from '../errors.ts';

/** Whether a step's path is the named one (an id, a step name with its position, a path) or inside it. */
export function isWithin(path: string, named: string): boolean {
  if (path === named || path.startsWith(`${named}/`) || path.startsWith(`${named}[`) || path.startsWith(`${named}~`))
    return true;
  const bare = stripRounds(path);
  return (
    bare === named ||
    bare.startsWith(`${named}/`) ||
    bare.split('/').some((part) => part === named || part.replace(/^\d+:/, '') === named) ||
    listBlocks(path).some((block) => isShownAs(block, named))
  );
}

/** A path and the path of every block around it: `a`, `a/b` and `a/b/c` of `a/b/c`. */
function listBlocks(path: string): readonly string[] {
  const parts = path.split('/');
  return parts.map((_part, index) => parts.slice(0, index + 1).join('/'));
}

/** Whether timelines and orders show it by this name: `o[0]`, with the round, and with its attempt or without. */
function isShownAs(path: string, named: string): boolean {
  return formatStepName(path, undefined) === named || formatStepName(path.replace(/~\d+/g, ''), undefined) === named;
}

/** Whether the name is one round of a loop: `rungs[3]`. */
export function isIteration(named: string): boolean {
  return /\[\d+\]$/.test(named);
}

export function makeNoStepError(named: string, run: string, steps: ReadonlySet<string>): UserError {
  const words = new Set([...steps].flatMap((path) => [stripRounds(path), ...stripRounds(path).split('/')]));
  const meant = suggestSpelling(named, words);
  const hint =
    meant === undefined
      ? `it has ${[...new Set([...steps].map(stripRounds))].slice(0, 12).map(formatText).join(', ')}`
      : `did you mean ${formatText(meant)}?`;
  return new UserError(`run ${formatText(run)} has no step ${makePrintable(named, 100)}; ${hint}`);
}

/** The step itself, each iteration and attempt of it, but not the steps inside. */
export function isOwn(path: string, named: string): boolean {
  const bare = stripRounds(path);
  const last = bare.split('/').at(-1) ?? bare;
  return (
    path === named ||
    path.replace(/~\d+/g, '') === named ||
    bare === named ||
    last === named ||
    last.replace(/^\d+:/, '') === named ||
    isShownAs(path, named)
  );
}
