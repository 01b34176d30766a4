import { createServer } from 'node:http';
import { expect, it } from 'vitest';
import { closeServer, listen } from '../../src/base/http-server.ts';

it('goes on listening after connections that could not be accepted', async () => {
  const server = createServer((_, response) => void response.end());
  expect(await listen(server, 0, '127.0.0.1')).toBeGreaterThan(0);
  for (let times = 0; times < 2; times += 1) server.emit('error', new Error('EMFILE'));
  expect(server.listening).toBe(true);
  await closeServer(server);
});
