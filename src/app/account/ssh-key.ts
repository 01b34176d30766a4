/** Signs a text with a key of OpenSSH: in a file, or in ssh-agent where the file has the public key. */
import { spawnSync } from 'node:child_process';
import { resolve } from 'node:path';
import { makePrintable } from '../../base/printable.ts';
import { SSH_NAMESPACE } from '../../journal/account/signature.ts';
import type { Environment } from '../environment.ts';
import { EXIT, UserError } from '../errors.ts';

/** What ssh-keygen needs to find the agent and to ask for a passphrase; it gets no other variable, and so no secret. */
const VARIABLES = ['PATH', 'HOME', 'SSH_AUTH_SOCK', 'SSH_ASKPASS', 'SSH_ASKPASS_REQUIRE', 'DISPLAY', 'TERM'] as const;
const WITHIN_MS = 120_000;

/** Whether a file has a key in the form of OpenSSH, private or public. */
export function isSshKey(text: string): boolean {
  return /^(-----BEGIN OPENSSH PRIVATE KEY-----|ssh-ed25519 )/.test(text);
}

/** What `ssh-keygen -Y sign` prints for a text. It asks for a passphrase by itself. Throws a UserError (exit 2) where it cannot sign. */
export function signWithSsh(
  file: string,
  text: Buffer,
  { environment, withinMs = WITHIN_MS }: { readonly environment: Environment; readonly withinMs?: number },
): string {
  const { status, stdout, stderr, error } = spawnSync(
    'ssh-keygen',
    ['-Y', 'sign', '-n', SSH_NAMESPACE, '-f', resolve(file)],
    {
      input: text,
      encoding: 'utf8',
      timeout: withinMs,
      env: Object.fromEntries(VARIABLES.map((name) => [name, environment.variable(name)])),
    },
  );
  if (status === 0) return stdout;
  const why = error?.message ?? stderr.trim().split('\n').at(-1) ?? '';
  throw new UserError(
    `ssh-keygen cannot sign with ${makePrintable(file, 300)}: ${makePrintable(why, 200)}`,
    EXIT.usage,
    'configuration',
  );
}
