/** Steps as people name them: by an id, by a verb, or by the path a timeline shows. */
import { printable } from '../base/printable.ts';
import { didYouMean } from '../base/spelling.ts';
import { shown } from '../report/wording.ts';
import { Refusal } from './exit.ts';

/** Whether a step's path is what was named (an id, a verb with its position, a path) or lies within it. */
export function isWithin(path: string, named: string): boolean {
  if (path === named || path.startsWith(`${named}/`) || path.startsWith(`${named}[`) || path.startsWith(`${named}~`))
    return true;
  const bare = bareStep(path);
  return (
    bare === named ||
    bare.startsWith(`${named}/`) ||
    bare.split('/').some((part) => part === named || part.replace(/^\d+:/, '') === named)
  );
}

/** A path without its iterations and attempts. */
function bareStep(path: string): string {
  return path.replace(/\[\d+\]|~\d+/g, '');
}

export function noStep(named: string, run: string, steps: ReadonlySet<string>): Refusal {
  const words = new Set([...steps].flatMap((path) => [bareStep(path), ...bareStep(path).split('/')]));
  const meant = didYouMean(named, words);
  const hint =
    meant === undefined
      ? `it has ${[...new Set([...steps].map(bareStep))].slice(0, 12).map(shown).join(', ')}`
      : `did you mean ${shown(meant)}?`;
  return new Refusal(`run ${shown(run)} has no step ${printable(named, 100)}; ${hint}`);
}

/** The step itself, each iteration and attempt of it, but not the steps inside. */
export function isOwn(path: string, named: string): boolean {
  const bare = bareStep(path);
  const last = bare.split('/').at(-1) ?? bare;
  return path === named || bare === named || last === named || last.replace(/^\d+:/, '') === named;
}
