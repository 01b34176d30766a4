/** Rows of the command table: acts of a person on an account's store. */
import { type CommandRow, command } from '../command-row.ts';

export const STORE_COMMANDS: readonly CommandRow[] = [
  command({
    name: 'account adopt',
    summary: 'answer for orders of this program at the venue that no journal here knows',
    arguments: {},
    options: {
      profile: { doc: 'profile of the account', value: 'FILE', takes: 'file', required: true },
      by: { doc: 'name of the person', value: 'NAME', required: true },
    },
    example: 'account adopt --profile main.yaml --by ada',
    async run(_args, options, invocation) {
      return (await import('../commands/adopt.ts')).adoptOrders(options, invocation);
    },
  }),
];
