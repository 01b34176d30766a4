/** A database of the tests' own server, as the stores are given one. */
import type { PostgresAccess } from '../../src/journal/sql/postgres.ts';
import type { PostgresServer } from '../postgres.ts';

export async function accessTo(server: PostgresServer): Promise<PostgresAccess> {
  return { url: await server.database(), name: 'the PostgreSQL database of DATABASE_URL' };
}
