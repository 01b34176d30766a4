/** Rows of the command table: acts of a person on an account's store. */
import type { CommandTable } from '../command-row.ts';

const STORE_OF = {
  doc: "profile whose store is meant; the state folder's own by default",
  value: 'FILE',
  takes: 'file',
} as const;

export const STORE_COMMANDS = {
  backup: {
    summary: 'copy the store into one file while it is used, and verify the copy',
    arguments: { file: { doc: 'file to write; it must not exist', takes: 'file' } },
    options: { profile: STORE_OF },
    example: 'backup runbook-2026-11-22.backup',
  },
  restore: {
    summary: 'put a backup in the place of the store; what was due since then is missed, not run',
    arguments: {
      file: {
        doc: 'file that `runbook backup` wrote; none for a PostgreSQL store, whose dump pg_restore has put back',
        takes: 'file',
        optional: true,
      },
    },
    options: {
      profile: STORE_OF,
      by: { doc: 'name of the person; the one of the operating system by default', value: 'NAME' },
    },
    example: 'restore runbook-2026-11-22.backup --by ada',
  },
  'account adopt': {
    summary: 'answer for orders of this program at the venue that no journal here knows',
    arguments: {},
    options: {
      profile: { doc: 'profile of the account', value: 'FILE', takes: 'file', required: true },
      by: { doc: 'name of the person', value: 'NAME', required: true },
      sign: { doc: 'key of the person, Ed25519, as PEM or of OpenSSH: signs the act', value: 'FILE', takes: 'file' },
    },
    example: 'account adopt --profile main.yaml --by ada',
  },
} as const satisfies CommandTable;
