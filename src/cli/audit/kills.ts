/** `runbook audit kills`: shows who engaged the kill switch and who released it, when and why. */

import { makeAccountKey } from '../../app/account/account.ts';
import { EXIT, type ExitCode } from '../../app/errors.ts';
import { readProfileFile } from '../../app/files/profile.ts';
import { readKillRecords } from '../../app/kill/kill-records.ts';
import { EVERY_ACCOUNT } from '../../journal/shared/shared.ts';
import { formatIsoTime, formatText } from '../../report/format.ts';
import type { Given } from '../actions/actions.ts';
import type { Invocation } from '../invocation.ts';
import { formatStyledTable } from '../terminal/text-table.ts';

export async function listKills({ profile }: Given<'audit kills'>, { terminal, state }: Invocation): Promise<ExitCode> {
  const account = profile === undefined ? undefined : makeAccountKey(readProfileFile(profile, terminal));
  const records = await readKillRecords(state, account);
  const kills = records.map(({ at, scope, action, by, reason, store }) => ({
    at: formatIsoTime(at),
    scope,
    action,
    by,
    reason,
    ...(store === undefined ? {} : { store }),
  }));
  terminal.answer({ kills }, () => {
    if (kills.length === 0) return 'the kill switch was never engaged';
    return formatStyledTable(
      ['when', 'account', 'action', 'by', 'reason'],
      kills.map(({ at, scope, action, by, reason, store }) => [
        at,
        scope === EVERY_ACCOUNT ? `every one of ${formatText(store ?? 'a store')}` : formatText(scope),
        { text: action, style: action === 'engage' ? 'bad' : 'good' },
        formatText(by),
        formatText(reason),
      ]),
      terminal,
    );
  });
  return EXIT.done;
}
