/** Reads the names of people who act on runs, as the journal records them. */
import { makePrintable } from '../../base/printable.ts';
import type { Environment } from '../environment.ts';
import { UserError } from '../errors.ts';

/** Maximum length of a name, characters. */
const LONGEST = 80;
/** Control characters, direction marks and line breaks: in a name they only hide who it is. */
const HIDING = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;

/** A name without the blanks around it, or what is wrong with it. */
export function readName(text: string): { readonly name: string } | { readonly problem: string } {
  const name = text.trim();
  if (name === '') return { problem: 'it is empty' };
  if ([...name].length > LONGEST) return { problem: `it has more than ${LONGEST} characters` };
  if (HIDING.test(name)) return { problem: `it contains invisible characters: ${makePrintable(name, 200)}` };
  return { name };
}

/** The name in `--by`. Throws a UserError (exit 2) without a usable one: someone has to answer for the action. */
export function requireName(command: string, by: string): string {
  const read = readName(by);
  if ('name' in read) return read.name;
  throw new UserError(`${command} needs the name of the person who answers for it, --by NAME; ${read.problem}`);
}

/** The given name, else the user's own. An odd user name must not prevent a kill. */
export function chooseActorName(command: string, by: string | undefined, environment: Environment): string {
  if (by !== undefined) return requireName(command, by);
  const own = readName(environment.variable('USER') ?? '');
  return 'name' in own ? own.name : 'operator';
}
