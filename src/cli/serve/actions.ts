/**
 * Performs the actions of the review page: answer an approval, stop a run cleanly, engage the kill switch. The commands of the
 * command line do the work; this file reads the request and checks its confirmation.
 */

import { describeVisitor } from '../../app/account/acts.ts';
import { readName } from '../../app/account/person.ts';
import type { Environment } from '../../app/environment.ts';
import { EXIT, type ExitCode, UserError } from '../../app/errors.ts';
import type { StateFolder } from '../../app/state.ts';
import { makePrintable } from '../../base/printable.ts';
import { makeConfirmation } from '../../report/page/confirmation.ts';
import { sendCommand } from '../commands/approve-cancel.ts';
import { kill } from '../commands/kill.ts';
import { type Invocation, invocationAt } from '../invocation.ts';
import { Terminal } from '../terminal/terminal.ts';

const ACTIONS = ['approve', 'reject', 'cancel', 'kill'] as const;
type Action = (typeof ACTIONS)[number];

interface ActionRequest {
  readonly action: Action;
  readonly run: string;
  /** For approve and reject. */
  readonly step?: string;
  /** Name of the person. */
  readonly by: string;
  readonly reason?: string;
  /** The typed name of the run. */
  readonly confirm: string;
}

interface ActionAnswer {
  readonly ok: boolean;
  /** Messages for the person, line by line. */
  readonly lines: readonly string[];
}

const LONGEST = 500;

/** Reads the body of an action, or returns what is wrong with it. */
export function readAction(body: string): ActionRequest | { readonly problem: string } {
  let given: unknown;
  try {
    given = JSON.parse(body);
  } catch {
    return { problem: 'the body is not JSON' };
  }
  if (typeof given !== 'object' || given === null || Array.isArray(given))
    return { problem: 'the body is not an object' };
  const fields = new Map(Object.entries(given));
  const text = (name: string) => {
    const value: unknown = fields.get(name);
    return typeof value === 'string' && value.length <= LONGEST ? value.trim() : '';
  };
  const action = ACTIONS.find((each) => each === text('action'));
  if (action === undefined) return { problem: `an action is ${ACTIONS.join(', ')}` };
  const [run, by, step, reason, confirm] = [text('run'), text('by'), text('step'), text('reason'), text('confirm')];
  if (run === '') return { problem: 'the run is not named' };
  if (by === '') return { problem: 'the name of the person is missing: the journal records it' };
  const person = readName(by);
  if ('problem' in person) return { problem: `the name of the person is not usable: ${person.problem}` };
  if ((action === 'approve' || action === 'reject') && step === '') return { problem: 'the step is not named' };
  if (confirm !== makeConfirmation(run) && confirm !== run)
    return {
      problem: `to confirm, type ${makeConfirmation(run)}; found ${makePrintable(confirm === '' ? 'nothing' : confirm, 60)}`,
    };
  return { action, run, by, confirm, ...(step === '' ? {} : { step }), ...(reason === '' ? {} : { reason }) };
}

/** Performs the action and returns its messages. Never throws for an error that a person can cause. */
export async function performAction(
  request: ActionRequest,
  { state, environment }: { readonly state: StateFolder; readonly environment: Environment },
): Promise<ActionAnswer> {
  const said: string[] = [];
  const stream = { write: (text: string) => said.push(text) };
  const terminal = new Terminal({ out: stream, err: stream, json: false, quiet: false, color: false, environment });
  try {
    const exit = await perform(request, invocationAt(terminal, environment, state));
    return { ok: exit === EXIT.done, lines: splitLines(said) };
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    return { ok: false, lines: splitLines([...said, `${error.message}\n`]) };
  }
}

function splitLines(said: readonly string[]): readonly string[] {
  return said
    .join('')
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
}

function perform({ action, run, step, by, reason }: ActionRequest, invocation: Invocation): Promise<ExitCode> {
  switch (action) {
    case 'kill':
      return kill({ by, reason: reason ?? 'from the review page', who: describeVisitor(by) }, invocation);
    case 'approve':
    case 'reject':
    case 'cancel':
      return sendCommand(action, { run, step, by, reason, who: describeVisitor(by) }, invocation);
    default:
      return action satisfies never;
  }
}
