/** Gives the stores access to a database of the tests' own server. */
import type { PostgresAccess } from '../../src/journal/sql/postgres.ts';
import type { PostgresServer } from '../postgres.ts';

export async function accessTo(server: PostgresServer): Promise<PostgresAccess> {
  return { url: await server.database(), name: 'the PostgreSQL database of DATABASE_URL' };
}
