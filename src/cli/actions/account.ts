/** Rows of the command table for the ledger of an account. */
import { PNL_KEYS } from '../choices.ts';
import type { CommandTable } from '../command-row.ts';

const ARCHIVE = { doc: 'read this archive instead of the journals', value: 'FILE', takes: 'file' } as const;
const FROM = { doc: 'only what happened from this day or time on, ISO 8601', value: 'TIME' } as const;
const TO = { doc: 'only what happened before this day or time', value: 'TIME' } as const;
const CSV = { doc: 'as CSV, for a spreadsheet' } as const;
const PROFILE = { doc: 'the account; without it, the only one with live runs', value: 'FILE', takes: 'file' } as const;

export const ACCOUNT_COMMANDS = {
  'account ledger': {
    summary: 'show what an account holds, over all its runs',
    arguments: {},
    options: { profile: PROFILE },
    example: 'account ledger',
  },
  'account rebuild': {
    summary: 'make the ledger of an account again from its journals',
    arguments: {},
    options: { profile: PROFILE },
    example: 'account rebuild',
  },
  'account reconcile': {
    summary: "compare the ledger of an account with the venue's own lists, with reads only",
    arguments: {},
    options: { profile: PROFILE },
    example: 'account reconcile --profile main.yaml',
  },
  'account baseline': {
    summary: 'state the position of a market, where the journals cannot know it',
    arguments: {},
    options: {
      market: { doc: 'the market', value: 'M', required: true },
      size: { doc: 'its net size, base currency, long positive', value: 'S', required: true },
      price: { doc: 'its average entry, if known', value: 'P' },
      by: { doc: 'name of the person', value: 'NAME', required: true },
      sign: { doc: 'key of the person, Ed25519, as PEM or of OpenSSH: signs the act', value: 'FILE', takes: 'file' },
      profile: PROFILE,
    },
    example: 'account baseline --market BTC-USD --size 0 --by ada',
  },
  'audit pnl': {
    summary: 'add up what the runs realised, with fees',
    arguments: {},
    options: {
      by: { doc: 'run by default', value: 'KEY', takes: PNL_KEYS },
      from: FROM,
      to: TO,
      csv: CSV,
      archive: ARCHIVE,
    },
    example: 'audit pnl --by day --from 2026-01-01',
  },
  'audit blotter': {
    summary: 'list every fill of the runs; with --json every order too',
    arguments: {},
    options: { from: FROM, to: TO, csv: CSV, archive: ARCHIVE },
    example: 'audit blotter --from 2026-01-05 --csv',
  },
  'audit people': {
    summary: 'list who did what about an account, when, in which run, and how the name is known',
    arguments: {},
    options: { by: { doc: 'only acts of this person', value: 'NAME' }, from: FROM, to: TO, csv: CSV },
    example: 'audit people --from 2026-01-05',
  },
} as const satisfies CommandTable;
