/** Rows of the command table for the ledger of an account. */
import { type CommandRow, command } from '../command-row.ts';

const PROFILE = { doc: 'the account; without it, the only one with live runs', value: 'FILE', takes: 'file' } as const;

export const ACCOUNT_COMMANDS: readonly CommandRow[] = [
  command({
    name: 'account ledger',
    summary: 'show what an account holds, over all its runs',
    arguments: {},
    options: { profile: PROFILE },
    example: 'account ledger',
    async run(_args, options, invocation) {
      return (await import('../ledger/commands.ts')).showLedger(options, invocation);
    },
  }),
  command({
    name: 'account rebuild',
    summary: 'make the ledger of an account again from its journals',
    arguments: {},
    options: { profile: PROFILE },
    example: 'account rebuild',
    async run(_args, options, invocation) {
      return (await import('../ledger/commands.ts')).rebuildLedger(options, invocation);
    },
  }),
  command({
    name: 'account reconcile',
    summary: "compare the ledger of an account with the venue's own lists, with reads only",
    arguments: {},
    options: { profile: PROFILE },
    example: 'account reconcile --profile main.yaml',
    async run(_args, options, invocation) {
      return (await import('../ledger/commands.ts')).reconcileLedger(options, invocation);
    },
  }),
  command({
    name: 'account baseline',
    summary: 'state the position of a market, where the journals cannot know it',
    arguments: {},
    options: {
      market: { doc: 'the market', value: 'M', required: true },
      size: { doc: 'its net size, base currency, long positive', value: 'S', required: true },
      price: { doc: 'its average entry, if known', value: 'P' },
      by: { doc: 'name of the person', value: 'NAME', required: true },
      profile: PROFILE,
    },
    example: 'account baseline --market BTC-USD --size 0 --by ada',
    async run(_args, options, invocation) {
      return (await import('../ledger/commands.ts')).stateBaseline(options, invocation);
    },
  }),
];
