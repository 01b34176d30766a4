/**
 * `runbook account adopt`: a person answers for orders of this program that no journal knows. It lists them as a start does, and
 * journals the name and the orders; nothing is sent to the venue but the reading.
 */
import { openAccount } from '../../app/account/account.ts';
import { describeActor, makeAct } from '../../app/account/acts.ts';
import { anchorAct } from '../../app/account/anchoring.ts';
import { signWith } from '../../app/account/people.ts';
import { requireName } from '../../app/account/person.ts';
import { EXIT, type ExitCode, UserError } from '../../app/errors.ts';
import { readProfileFile } from '../../app/files/profile.ts';
import { formatOrder, VenueComparison } from '../../app/reconciliation/venue-comparison.ts';
import { formatCount } from '../../base/format.ts';
import { makePrintable } from '../../base/printable.ts';
import type { Given } from '../actions/actions.ts';
import type { Invocation } from '../invocation.ts';

export async function adoptOrders(options: Given<'account adopt'>, invocation: Invocation): Promise<ExitCode> {
  const { terminal, environment } = invocation;
  const by = requireName('account adopt', options.by);
  const account = await openAccount(readProfileFile(options.profile, terminal), invocation);
  try {
    const compared = await new VenueComparison(account).compare();
    if (compared.kind === 'unread')
      throw new UserError(
        `the venue's orders could not be read: ${makePrintable(compared.why, 300)}; nothing was adopted`,
        EXIT.failed,
        'transport',
      );
    if (compared.kind === 'agrees') {
      terminal.answer({ adopted: [], by }, () => 'the journals know every order of this program: nothing to adopt');
      return EXIT.done;
    }
    const { orders } = compared;
    const journal = await account.openAccountJournal();
    const at = account.clock.now();
    const made = makeAct('orders.adopted', describeActor(by), at, { orders });
    await journal
      .append(
        account.key,
        signWith(account.key, made, { file: options.sign, people: account.profile.people, environment }),
      )
      .finally(() => journal.close());
    await anchorAct(account.key, account, invocation);
    terminal.answer({ adopted: orders, by }, () =>
      [
        `${formatCount(orders.length, 'order')} adopted by ${makePrintable(by, 100)}; none is watched by a run, and none was cancelled:`,
        ...orders.map((order) => `  ${formatOrder(order)}`),
      ].join('\n'),
    );
    return EXIT.done;
  } finally {
    await account.close();
  }
}
