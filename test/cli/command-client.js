/** Has commands run by processes that take one after another: the client of command-server.js. */
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const SERVER = fileURLToPath(new URL('./command-server.js', import.meta.url));
const TIMEOUT_MS = 200_000;
const PAUSE = new Int32Array(new SharedArrayBuffer(4));
/** Servers without a command; one more is started where there is none. */
const idle = [];

export function runServed(order) {
  const sent = send(order);
  while (!sent.isAnswered()) Atomics.wait(PAUSE, 0, 0, 1);
  return sent.take();
}

export async function serve(order) {
  const sent = send(order);
  while (!sent.isAnswered()) await sleep(3);
  return sent.take();
}

function send(order) {
  const server = idle.pop() ?? start();
  const place = mkdtempSync(join(tmpdir(), 'runbook-answer-'));
  const answer = join(place, 'answer.json');
  server.stdio[3].write(`${JSON.stringify({ ...order, answer })}\n`);
  const end = Date.now() + TIMEOUT_MS;
  return {
    isAnswered: () => {
      if (existsSync(answer)) return true;
      if (Date.now() < end) return false;
      server.kill('SIGKILL');
      throw new Error(`runbook ${order.words.join(' ')} did not end within ${TIMEOUT_MS} ms, or ended its process`);
    },
    take: () => {
      const { exit, out, err, isLast } = JSON.parse(readFileSync(answer, 'utf8'));
      rmSync(place, { recursive: true, force: true });
      if (!isLast) idle.push(server);
      return { exit, out, err };
    },
  };
}

/** A server that does not keep this process alive. */
function start() {
  const server = spawn(process.execPath, [SERVER], { stdio: ['ignore', 'pipe', 'inherit', 'pipe'] });
  server.unref();
  server.stdio[1].unref();
  server.stdio[3].unref();
  return server;
}
