/** `runbook kill` and `runbook release`: engage the kill switch and cancel everything; release the switch. */

import { describeActor } from '../../app/account/acts.ts';
import { chooseActorName, requireName } from '../../app/account/person.ts';
import { EXIT, type ExitCode, UserError } from '../../app/errors.ts';
import { readProfileFile } from '../../app/files/profile.ts';
import { READ_ON } from '../../app/kill/cancels.ts';
import { type KillProgress, release, kill as requestKill } from '../../app/kill/kill.ts';
import { exitAfter } from '../../app/process.ts';
import { formatCount } from '../../base/format.ts';
import { makePrintable } from '../../base/printable.ts';
import type { Who } from '../../journal/account/acts.ts';
import type { Profile } from '../../venue/profile/profile.ts';
import type { Given } from '../actions/actions.ts';
import { endProcess } from '../exit.ts';
import type { Invocation } from '../invocation.ts';
import type { Output } from '../terminal/output.ts';
import { interrupts } from '../terminal/signals.ts';

/** `runbook kill`: like `kill`; a signal ends it with the state reached so far. */
export async function killUntilSignal(options: Given<'kill'>, invocation: Invocation): Promise<ExitCode> {
  const { terminal } = invocation;
  const progress: KillProgress = {};
  const off = interrupts.on((signal) => {
    const message = `${signal}: the kill is not finished. ${describeProgress(progress)}; run \`runbook kill --profile FILE\` again, or cancel at the venue. ${READ_ON}`;
    terminal.complain(message);
    if (terminal.json) terminal.answer({ error: { kind: 'interrupted', message } }, () => '');
    endProcess(exitAfter(signal));
  });
  return kill(options, invocation, progress).finally(off);
}

function describeProgress({ engaged, left }: KillProgress): string {
  const open =
    left === undefined
      ? 'what is open at the venue is not known'
      : `${formatCount(left, 'order was', 'orders were')} open when it was last read`;
  return `${engaged === true ? 'The kill switch is engaged and stays so' : 'The kill switch is NOT engaged'}; ${open}`;
}

/** Engages the kill switch, cancels everything until nothing is left, and reports what is left. */
export async function kill(
  options: Partial<Given<'kill'>> & {
    /** Where it is not the user of this process. */
    readonly who?: Who;
  },
  invocation: Invocation,
  progress?: KillProgress,
): Promise<ExitCode> {
  const { terminal, environment } = invocation;
  const by = chooseActorName('kill', options.by, environment);
  const who = options.who ?? describeActor(by);
  const profile = options.profile === undefined ? undefined : readProfileToKill(options.profile, terminal);
  const request = { profile, who, reason: options.reason ?? 'runbook kill', sign: options.sign };
  const { left, stores, missing, accounts, failure } = await requestKill(request, invocation, progress);
  if (failure !== undefined)
    throw new UserError(
      `some accounts could not be killed, see above; in the others ${describeLeft(left)}. ${READ_ON}`,
      EXIT.halted,
      failure.kind,
    );
  const where = profile === undefined ? `, at ${accounts.join(', ')}` : '';
  const everywhere = missing.length === 0 && stores.length > 0;
  terminal.answer(
    { engaged: everywhere, by, left, stores, missing },
    () => `${describeLeft(left)}${where}${left === 0 ? describeNext(options.profile) : ''}`,
  );
  return left === 0 && everywhere ? EXIT.done : EXIT.halted;
}

/** The profile; one that cannot be used names the way that needs none. */
function readProfileToKill(file: string, terminal: Output): Profile {
  try {
    return readProfileFile(file, terminal);
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    throw new UserError(
      `${error.message}\nNOTHING WAS CANCELLED, and no kill switch is engaged: \`runbook kill\` without --profile cancels for each account that has an unfinished or halted run in the state folder. ${READ_ON}`,
      error.exit,
      error.kind,
    );
  }
}

function describeLeft(left: number): string {
  if (left === 0)
    return 'killed: no order is left that could still fill, and no stop; positions are as they were: look at them at the venue';
  return `${formatCount(left, 'order')} could still fill: cancel at the venue, or kill again. ${READ_ON}`;
}

/** What a person types next: a position that was protected is bare now. */
function describeNext(profile = 'FILE'): string {
  const file = makePrintable(profile, 200);
  return `. \`runbook account ledger --profile ${file}\` shows what the journals know of them; \`runbook release --profile ${file} --by NAME\` lets runs place orders again; then the shipped runbook flatten closes them (\`runbook new flatten --from flatten\`, docs/live.md)`;
}

export async function releaseAccount(options: Given<'release'>, invocation: Invocation): Promise<ExitCode> {
  const by = requireName('release', options.by);
  const profile = readProfileFile(options.profile, invocation.terminal);
  const released = await release(profile, { who: describeActor(by), sign: options.sign }, invocation);
  const count = profile.limits.maxDailyLoss === undefined ? '' : "; a new count of the day's loss begins";
  invocation.terminal.answer(
    { released, by },
    () => `${released ? `released by ${makePrintable(by, 100)}` : 'the kill switch was not engaged'}${count}`,
  );
  return EXIT.done;
}
