/** The people of a profile: who may approve, and with which key an act is signed. */
import { readFileSync } from 'node:fs';
import { formatFirst } from '../../base/format.ts';
import { makePrintable } from '../../base/printable.ts';
import type { NewAct } from '../../journal/account/acts.ts';
import { isSameKey, isSigned, signAct } from '../../journal/account/signature.ts';
import type { Profile } from '../../venue/profile/profile.ts';
import type { Environment } from '../environment.ts';
import { EXIT, UserError } from '../errors.ts';
import { requireReadable } from '../system-errors.ts';
import { isSshKey, signWithSsh } from './ssh-key.ts';

type PeopleOf = Pick<Profile, 'people' | 'fourEyes'>;

interface Approval {
  readonly by: string;
  /** Whom the step asks: roles, and names. */
  readonly asked: readonly string[];
  /** Who started the run, where that was a person. */
  readonly startedBy: string | undefined;
  /** The approval in the journal of the account with this key. */
  readonly act: NewAct | undefined;
  readonly account: string;
}

/** Why an approval does not count; undefined where it does. A refusal by anybody counts. */
export function refuseApproval({ people, fourEyes }: PeopleOf, approval: Approval): string | undefined {
  const { by, asked, startedBy, act, account } = approval;
  const name = makePrintable(by, 100);
  if (fourEyes && by === startedBy) return `${name} started the run, and four_eyes asks for another person`;
  if (Object.keys(people).length === 0) return undefined;
  const person = Object.hasOwn(people, by) ? people[by] : undefined;
  if (person === undefined) return `${name} is not among the people of the profile`;
  if (!asked.some((each) => each === by || person.roles.includes(each)))
    return `the step asks ${formatFirst(asked, 5)}; ${name} is ${person.roles.length === 0 ? 'none of them' : formatFirst(person.roles, 5)}`;
  if (person.key !== undefined && (act === undefined || !isSigned(account, act, person.key)))
    return `${name} has a key in the profile, and the approval is not signed with it: --sign FILE`;
  return undefined;
}

interface Signing {
  /** File of the person's key; nothing is signed where it is undefined. */
  readonly file: string | undefined;
  readonly people: Profile['people'];
  readonly environment: Environment;
  /** How long a key of OpenSSH may take, such as for its passphrase, ms. */
  readonly withinMs?: number;
}

/** Signs the act where a key file is given. Throws a UserError (exit 2) for a file that is no key, or another one than the person's. */
export function signWith(account: string, act: NewAct, { file, people, ...signing }: Signing): NewAct {
  if (file === undefined) return act;
  const shown = makePrintable(file, 300);
  requireReadable(file, 'key');
  let signed: NewAct;
  try {
    const text = readFileSync(file, 'utf8');
    signed = signAct(account, act, isSshKey(text) ? (signs) => signWithSsh(file, signs, signing) : text);
  } catch (error) {
    if (error instanceof UserError) throw error;
    throw new UserError(
      `${shown} cannot be read as an Ed25519 key: a private key in PEM form, as \`openssl genpkey -algorithm ed25519\` writes it, or a key of OpenSSH, private, or public where ssh-agent has it`,
      EXIT.usage,
      'configuration',
    );
  }
  const known = Object.hasOwn(people, act.by) ? people[act.by]?.key : undefined;
  if (known !== undefined && !isSameKey(known, signed.data.signature?.key ?? ''))
    throw new UserError(
      `${shown} is not the key that the profile has of ${makePrintable(act.by, 100)}`,
      EXIT.usage,
      'configuration',
    );
  return signed;
}
