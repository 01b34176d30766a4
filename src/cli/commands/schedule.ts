/** `runbook schedule`: runs what is due for the accounts of the given profiles, until it is interrupted. */
import { type ExitCode, UserError } from '../../app/errors.ts';
import { readProfileFile } from '../../app/files/profile.ts';
import { SchedulerLog } from '../../app/schedule/log.ts';
import { planServices, SchedulerProcess, type Serving } from '../../app/schedule/scheduler.ts';
import { makePrintable } from '../../base/printable.ts';
import type { Profile } from '../../venue/profile/profile.ts';
import type { Given } from '../actions/actions.ts';
import { makeEndProcess } from '../exit.ts';
import type { Invocation } from '../invocation.ts';
import { readPortOption } from '../option-values.ts';
import { interrupts } from '../terminal/signals.ts';
import { standard } from '../terminal/streams.ts';

const DEFAULT_PORT = 9464;

export async function runSchedules(options: Given<'schedule'>, invocation: Invocation): Promise<ExitCode> {
  const { terminal } = invocation;
  if (options.profile.length === 0)
    throw new UserError('schedule acts for an account: name its profile with --profile FILE');
  const port = readPortOption(options.port, DEFAULT_PORT);
  const profiles = options.profile.map((path) => readProfileFile(path, terminal));
  const serving = chooseServing(profiles, options);
  const plans = planServices(options.files, profiles, terminal);
  const log = await SchedulerLog.create((line) => void standard.error.write(line));
  terminal.redactWith((text) => log.redact(text));
  const context = { ...invocation, interrupts, endProcess: makeEndProcess(terminal) };
  const announce = (what: string, url: string) =>
    terminal.print(`${what}; ${url}/healthz, /readyz and /metrics; end it with Ctrl-C`);
  const { exit, document } = await new SchedulerProcess({ plans, port, log, context, announce }).serve(serving);
  terminal.answer(document, () => '');
  return exit;
}

function chooseServing(profiles: readonly Profile[], { standby, maxAccounts: given }: Given<'schedule'>): Serving {
  const shared = profiles.filter(({ store }) => store !== undefined && 'postgres' in store);
  if (shared.length > 0 && shared.length < profiles.length)
    throw new UserError(
      'accounts that workers share (store: postgres) and accounts of this machine (store: sqlite) need separate processes',
    );
  const maxAccounts = readMaxAccounts(given, profiles.length);
  if (shared.length > 0) return { kind: 'shared', maxAccounts };
  if (given !== undefined)
    throw new UserError('--max-accounts is for accounts that workers share: profiles with store: {postgres: …}');
  return { kind: 'own', standby };
}

function readMaxAccounts(text: string | undefined, accounts: number): number {
  if (text === undefined) return accounts;
  const maxAccounts = /^\d{1,4}$/.test(text) ? Number(text) : Number.NaN;
  if (!(maxAccounts >= 1))
    throw new UserError(`--max-accounts takes a number from 1, found ${makePrintable(text, 60)}`);
  return Math.min(maxAccounts, accounts);
}
