/** `runbook audit people`: lists who did what about an account, when and in which run. */
import { EXIT, type ExitCode } from '../../app/errors.ts';
import { readAccountJournals } from '../../app/stores/account-journals.ts';
import { formatCsv } from '../../report/export/csv.ts';
import { formatText } from '../../report/format.ts';
import { describePersonAct, PERSON_ACTS } from '../../report/results/people.ts';
import type { Given } from '../actions/actions.ts';
import type { Invocation } from '../invocation.ts';
import { formatStyledTable } from '../terminal/text-table.ts';
import { readSpan } from './trading.ts';

const COLUMNS = ['at', 'who', 'how', 'act', 'about', 'run', 'user', 'host', 'terminal', 'account'] as const;
const HOW = { os: 'operating system', signed: 'signed', claimed: 'only claimed' } as const;

export async function showPeople(options: Given<'audit people'>, { terminal, state }: Invocation): Promise<ExitCode> {
  const { from = Number.NEGATIVE_INFINITY, to = Number.POSITIVE_INFINITY } = readSpan(options);
  const read = await readAccountJournals(state, (journal, account) => journal.find(account, PERSON_ACTS));
  const acts = read
    .flat()
    .filter(({ at }) => at >= from && at < to)
    .sort((a, b) => a.at - b.at)
    .flatMap((act) => describePersonAct(act) ?? [])
    .filter(({ who }) => options.by === undefined || who === options.by);
  terminal.answer({ acts }, () => {
    if (options.csv) return formatCsv(COLUMNS, acts as never);
    if (acts.length === 0) return 'no journal of an account has an act of a person';
    return formatStyledTable(
      ['when', 'who', 'known by', 'act', 'about', 'run', 'where'],
      acts.map(({ at, who, how, act, about, run = '', user = '', host = '', terminal: where = '' }) => [
        at,
        formatText(who),
        how === 'claimed' ? { text: HOW[how], style: 'warning' } : HOW[how],
        formatText(act),
        formatText(about),
        formatText(run),
        formatText([user, host, where].filter((part) => part !== '').join(' ')),
      ]),
      terminal,
    );
  });
  return EXIT.done;
}
