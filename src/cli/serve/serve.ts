/**
 * `runbook audit serve`: serves the review page on the loopback address, until it is interrupted. It listens on 127.0.0.1 only,
 * shows what the journals hold, and changes nothing unless started with --allow-actions.
 */
import { randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Environment } from '../../app/environment.ts';
import { type ExitCode, refusePort } from '../../app/errors.ts';
import { exitAfter } from '../../app/process.ts';
import type { StateFolder } from '../../app/state.ts';
import { ENGINE_VERSION } from '../../app/version.ts';
import { SystemClock } from '../../base/clock.ts';
import { closeServer, listen, readBody } from '../../base/http-server.ts';
import { makePrintable } from '../../base/printable.ts';
import { HEADERS } from '../../report/page/shell.ts';
import type { Given } from '../actions/actions.ts';
import type { Invocation } from '../invocation.ts';
import { readPortOption } from '../option-values.ts';
import { waitForInterrupt } from '../terminal/signals.ts';
import { performAction, readAction } from './actions.ts';
import { findDenial, type ServerFacts } from './checks.ts';
import { type Answer, answerRequest, makeJson, makeProblem, type Routes } from './routes.ts';
import { ServedRuns } from './runs.ts';

const DEFAULT_PORT = 8787;
const BODY_LIMIT_BYTES = 16 * 1024;

export interface PageServerOptions {
  /** 0 takes any free port. */
  readonly port: number;
  readonly allowActions: boolean;
  readonly state: StateFolder;
  readonly environment: Environment;
  /** Called with internal errors; the browser only learns that one occurred. */
  readonly onError: (error: unknown) => void;
}

export interface PageServer {
  readonly port: number;
  /** Known only from the printed address, and in the page's own requests. */
  readonly token: string;
  /** The address to open: the token is behind `#`, which browsers do not send. */
  readonly url: string;
  close(): Promise<void>;
}

export async function serveAudit(
  options: Given<'audit serve'>,
  { terminal, state, environment }: Invocation,
): Promise<ExitCode> {
  const port = readPortOption(options.port, DEFAULT_PORT);
  const { allowActions } = options;
  const onMistake = (error: unknown) =>
    terminal.complain(makePrintable(error instanceof Error ? error.message : String(error), 300));
  const server = await startPageServer({ port, allowActions, state, environment, onError: onMistake }).catch(
    (error: unknown) => refusePort(port, error),
  );
  terminal.answer({ url: server.url, port: server.port, allowActions }, () =>
    [
      `the review page of ${state.shown} is at`,
      `  ${server.url}`,
      allowActions
        ? 'actions are allowed: approve, reject, stop and kill ask for a typed confirmation'
        : 'it is read-only; --allow-actions lets it approve, reject, stop and kill',
      'only this machine can reach it, and only with this address; end it with Ctrl-C',
    ].join('\n'),
  );
  const signal = await waitForInterrupt();
  await server.close();
  return exitAfter(signal);
}

/** Rejects when the port is taken. */
export async function startPageServer(options: PageServerOptions): Promise<PageServer> {
  const { state, environment, allowActions, onError: onMistake } = options;
  const token = randomBytes(24).toString('base64url');
  const runs = new ServedRuns(state);
  const clock = new SystemClock();
  const user = environment.variable('USER') ?? '';
  const words = { allowActions, version: ENGINE_VERSION, state: state.shown, user, now: () => clock.now() };
  const facts = { token, allowActions, port: 0 };
  const server = createServer((request, response) => {
    respond(request, facts, { runs, words }, options)
      .catch((error: unknown) => {
        onMistake(error);
        return makeProblem(500, 'internal error; see the terminal of `runbook audit serve`');
      })
      .then((answer) => send(response, answer, request.method === 'HEAD'))
      .catch(() => response.destroy());
  });
  server.headersTimeout = 10_000;
  server.requestTimeout = 20_000;
  facts.port = await listen(server, options.port, '127.0.0.1');
  return {
    port: facts.port,
    token,
    url: `http://127.0.0.1:${facts.port}/#token=${token}`,
    async close() {
      await closeServer(server);
      await runs.close();
    },
  };
}

async function respond(
  request: IncomingMessage,
  facts: ServerFacts,
  routes: Routes,
  options: PageServerOptions,
): Promise<Answer & { readonly headers?: Readonly<Record<string, string>> }> {
  const { method = 'GET', url = '/', headers } = request;
  const [path = '/', query = ''] = url.split('?', 2);
  const denial = findDenial({ method, path, headers }, facts);
  if (denial !== undefined) {
    request.resume();
    return {
      ...makeProblem(denial.status, denial.message),
      ...(denial.headers === undefined ? {} : { headers: denial.headers }),
    };
  }
  if (method !== 'POST') return answerRequest(path, new URLSearchParams(query), routes);
  const body = await readBody(request, BODY_LIMIT_BYTES);
  if (body === undefined) return makeProblem(413, `an action has at most ${BODY_LIMIT_BYTES} bytes`);
  const action = readAction(body);
  if ('problem' in action) return makeProblem(400, action.problem);
  const answer = await performAction(action, options);
  return makeJson(answer, answer.ok ? 200 : 409);
}

function send(
  response: ServerResponse,
  { status, type, body, headers = {} }: Answer & { readonly headers?: Readonly<Record<string, string>> },
  headOnly: boolean,
): void {
  response.writeHead(status, {
    ...HEADERS,
    ...headers,
    'content-type': type,
    'content-length': Buffer.byteLength(body),
  });
  response.end(headOnly ? undefined : body);
}
