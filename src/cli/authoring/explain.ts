/** `runbook explain`: prints what a code, an alarm or an error kind means, what draws it, and what is accepted or to do now. */
import { EXIT, type ExitCode, UserError } from '../../app/errors.ts';
import { type Explanation, explainCode } from '../../app/project/explanation.ts';
import { makePrintable } from '../../base/printable.ts';
import type { Given } from '../actions/actions.ts';
import type { Invocation } from '../invocation.ts';
import type { Output } from '../terminal/output.ts';

export async function printExplanation({ code }: Given<'explain'>, { terminal }: Invocation): Promise<ExitCode> {
  const found = explainCode(code);
  if (!('code' in found)) {
    const hint =
      found.meant === undefined ? 'docs/reference/errors.md lists every code' : `did you mean ${found.meant}?`;
    throw new UserError(`no code is called ${makePrintable(code, 100)}; ${hint}`);
  }
  terminal.answer(found, () => formatExplanation(found, terminal));
  return EXIT.done;
}

function formatExplanation({ code, severity, meaning, example, accepted, endsRun }: Explanation, terminal: Output) {
  const tone = severity === 'warning' ? 'warning' : severity === 'event' ? 'faint' : 'bad';
  return [
    `${terminal.style('strong', code)}  ${terminal.style(tone, severity)}${endsRun === true ? ', and the run ends' : ''}`,
    '',
    meaning,
    '',
    ...example.split('\n').map((line) => `    ${line}`),
    '',
    accepted,
  ].join('\n');
}
