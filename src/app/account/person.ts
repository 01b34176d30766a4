/** Whoever answers for what is done to a run, as the journal names them. */
import { printable } from '../../base/printable.ts';
import type { Environment } from '../environment.ts';
import { UserError } from '../errors.ts';

/** Longest name of a person, characters. */
const LONGEST = 80;
/** Controls, what turns the direction of text, and line breaks: in a name they only ever hide who it is. */
const HIDING = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;

/** A name without the blanks around it, or what is wrong with it as a sentence. */
export function readName(text: string): { readonly name: string } | { readonly problem: string } {
  const name = text.trim();
  if (name === '') return { problem: 'it is empty' };
  if ([...name].length > LONGEST) return { problem: `it has more than ${LONGEST} characters` };
  if (HIDING.test(name)) return { problem: `it holds characters that can not be seen: ${printable(name, 200)}` };
  return { name };
}

/** The name behind `--by`. Throws a UserError (exit 2): nobody can answer for what was done without one. */
export function namedPerson(verb: string, by: string): string {
  const read = readName(by);
  if ('name' in read) return read.name;
  throw new UserError(`${verb} needs the name of the person who answers for it, --by NAME; ${read.problem}`);
}

/** Who does it: the name that was given, else the user's own. An odd user name must not keep anybody from killing. */
export function actorName(verb: string, by: string | undefined, environment: Environment): string {
  if (by !== undefined) return namedPerson(verb, by);
  const own = readName(environment.variable('USER') ?? '');
  return 'name' in own ? own.name : 'operator';
}
