/** Every server listens on the loopback address only. test/architecture-rules.ts lists the files that may listen. */
import { createConnection } from 'node:net';
import { networkInterfaces } from 'node:os';
import { expect, it } from 'vitest';
import { serveEndpoints } from '../../src/app/schedule/endpoints.ts';
import { SystemClock } from '../../src/base/clock.ts';
import { startSimServer } from '../../src/gateway/simulator/server.ts';
import { Simulator } from '../../src/gateway/simulator/simulator.ts';
import { serve, temporaryFolder } from './served-journal.ts';

interface Listening {
  readonly url: string;
  close(): Promise<void>;
}

const QUIET = {
  readHealth: () => ({ healthProblems: [], obstacles: [], accounts: {} }),
  readMetrics: async () => ({ type: 'text/plain', text: '' }),
};
const outside = Object.values(networkInterfaces())
  .flat()
  .find((each) => each?.family === 'IPv4' && !each.internal);

/** `connected`, or the code of the error. */
function connection(host: string, port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = createConnection({ host, port });
    socket
      .once('connect', () => resolve('connected'))
      .once('error', ({ code }: NodeJS.ErrnoException) => resolve(code));
    socket.once('connect', () => socket.destroy());
  });
}

it.each<[string, () => Promise<Listening>]>([
  ['the review page', async () => (await serve(temporaryFolder())).server],
  ['the simulated venue', () => startSimServer(new Simulator({}, new SystemClock(), 1), { port: 0 })],
  ['the scheduler', () => serveEndpoints(QUIET, 0)],
])('%s listens on loopback alone', async (_, start) => {
  const server = await start();
  try {
    const { hostname, port } = new URL(server.url);
    expect([hostname, await connection('127.0.0.1', Number(port))]).toEqual(['127.0.0.1', 'connected']);
    if (outside !== undefined) expect(await connection(outside.address, Number(port))).toBe('ECONNREFUSED');
  } finally {
    await server.close();
  }
});
