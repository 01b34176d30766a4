/** Measures row 20: how long behind a key the findings of a runbook of 300 lines are at the editor, with the language server over stdio. */
import { spawn } from 'node:child_process';
import { setTimeout as pause } from 'node:timers/promises';
import { createMessageConnection, StreamMessageReader, StreamMessageWriter } from 'vscode-languageserver/node';
import { computeMedian } from '../measure.ts';
import { writeMixture } from '../runbooks.ts';
import type { Row } from './row.ts';
import { COMMAND } from './start-up.ts';

const LINES = 300;
const EDITS = 60;
/** Before the runtime has compiled what an open editor uses all day. */
const FIRST = 20;
/** Between two keys of a person who types fast, ms. */
const PACE_MS = 80;
const DOCUMENT = { uri: 'file:///bench/long.yaml' };

interface Pushed {
  readonly version: number;
  readonly diagnostics: readonly { readonly severity: number }[];
}

function writeLong(): string {
  for (let steps = 10; ; steps += 1) {
    const text = writeMixture(steps);
    if (text.split('\n').length > LINES) return text;
  }
}

async function measureTyping(): Promise<number> {
  const server = spawn(process.execPath, [COMMAND, 'lsp', '--stdio'], { stdio: ['pipe', 'pipe', 'inherit'] });
  const client = createMessageConnection(new StreamMessageReader(server.stdout), new StreamMessageWriter(server.stdin));
  const text = writeLong();
  let version = 1;
  let arrive: (pushed: Pushed) => void = () => {};
  client.onNotification('textDocument/publishDiagnostics', (pushed: Pushed) => {
    if (pushed.version === version) arrive(pushed);
  });
  const type = async (method: string, params: object) => {
    const begun = performance.now();
    const pushed = new Promise<Pushed>((resolve) => {
      arrive = resolve;
    });
    await client.sendNotification(method, params);
    const { diagnostics } = await pushed;
    const took = performance.now() - begun;
    if (diagnostics.some(({ severity }) => severity === 1)) throw new Error('the long runbook has errors');
    await pause(PACE_MS);
    return took;
  };
  try {
    client.listen();
    await client.sendRequest('initialize', { processId: process.pid, rootUri: null, capabilities: {} });
    await client.sendNotification('initialized', {});
    await type('textDocument/didOpen', { textDocument: { ...DOCUMENT, languageId: 'yaml', version, text } });
    const times: number[] = [];
    for (let edit = 0; edit < FIRST + EDITS; edit += 1) {
      version += 1;
      const contentChanges = [{ text: text.replace(/^steps:/m, `# edit ${edit}\nsteps:`) }];
      times.push(await type('textDocument/didChange', { textDocument: { ...DOCUMENT, version }, contentChanges }));
    }
    return computeMedian(times.slice(FIRST));
  } finally {
    client.dispose();
    server.kill('SIGKILL');
  }
}

export const EDITOR_ROWS: readonly Row[] = [
  {
    id: '20',
    what: `from a key to the findings of a runbook of ${LINES} lines, at the client of the language server`,
    against: 'none',
    unit: 'ms',
    pass: 30,
    excellent: 10,
    measure: measureTyping,
  },
];
