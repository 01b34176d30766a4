/** The language server as an editor starts it: the built program, its standard input and output, and a client library. */
import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  createMessageConnection,
  type MessageConnection,
  StreamMessageReader,
  StreamMessageWriter,
} from 'vscode-languageserver/node';
import { BIN, folder } from './command.ts';

interface Pushed {
  readonly uri: string;
  readonly version: number;
  readonly diagnostics: readonly {
    readonly code: string;
    readonly severity: number;
    readonly range: {
      readonly start: { line: number; character: number };
      readonly end: { line: number; character: number };
    };
  }[];
}

const TEXT = `runbook: case
dsl: 1
about: "😀 typed"
inputs:
  size: {type: size, default: 0.1}
let:
  half: inputs.size - 0.05
steps:
  - id: entry
    place: {type: limit, market: BTC-USD, side: long, size: half, price: 100}
  - wait_for: {order: entry, is: filled, within: 10m}
  - protect: {market: BTC-USD, side: short, stop_loss: {fraction: 1, trigger: tick(entry.avg_price * 0.98), price: tick(entry.avg_price * 0.97)}}
outputs: {filled: entry.filled}
`;
const WRONG = TEXT.replace('size: half', 'size: "0.1 /* 😀 */ + inputs.sze"')
  .replace('is: filled', 'is: filed')
  .replace(' /* 😀 */', '');

describe('the language server', () => {
  const here = folder();
  const uri = pathToFileURL(join(here.path, 'case.yaml')).href;
  let server: ChildProcess;
  let client: MessageConnection;
  const pushed: Pushed[] = [];
  let waiting: (() => void) | undefined;
  let version = 1;
  let ended: Promise<number | null>;

  /** The findings that the server pushes for a text, once it has them. */
  async function findingsOf(text: string, about = uri): Promise<Pushed> {
    pushed.length = 0;
    version += 1;
    const asked = version;
    await client.sendNotification('textDocument/didChange', {
      textDocument: { uri: about, version },
      contentChanges: [{ text }],
    });
    for (;;) {
      const found = pushed.find((each) => each.uri === about && each.version === asked);
      if (found !== undefined) return found;
      await new Promise<void>((resolve) => {
        waiting = resolve;
      });
    }
  }
  const positionOf = (text: string, needle: string, into = needle.length) => {
    const offset = text.indexOf(needle) + into;
    const line = text.slice(0, offset).split('\n').length - 1;
    return { line, character: offset - (text.lastIndexOf('\n', offset - 1) + 1) };
  };
  const at = (needle: string, into?: number) => ({ textDocument: { uri }, position: positionOf(TEXT, needle, into) });

  beforeAll(async () => {
    server = spawn(process.execPath, [BIN, 'lsp', '--stdio'], { cwd: here.path, stdio: ['pipe', 'pipe', 'inherit'] });
    ended = new Promise((resolve) => server.on('exit', resolve));
    if (server.stdout === null || server.stdin === null) throw new Error('the server has no streams');
    client = createMessageConnection(new StreamMessageReader(server.stdout), new StreamMessageWriter(server.stdin));
    client.onNotification('textDocument/publishDiagnostics', (each: Pushed) => {
      pushed.push(each);
      waiting?.();
    });
    client.listen();
    await client.sendRequest('initialize', { processId: process.pid, rootUri: null, capabilities: {} });
    await client.sendNotification('initialized', {});
    await client.sendNotification('textDocument/didOpen', {
      textDocument: { uri, languageId: 'yaml', version, text: TEXT },
    });
  });
  afterAll(() => {
    client.dispose();
    server.kill('SIGKILL');
  });

  it('pushes the codes and ranges of validate --json while a text is typed', async () => {
    here.write('case.yaml', WRONG);
    const { files } = JSON.parse(here.run('validate', 'case.yaml', '--json').out);
    const { diagnostics } = await findingsOf(WRONG);
    expect(
      diagnostics.map(({ code, range: { start, end } }) => [
        code,
        start.line + 1,
        start.character + 1,
        end.line + 1,
        end.character + 1,
      ]),
    ).toEqual(
      files[0].diagnostics.map((each: Record<string, unknown>) => [
        each['code'],
        each['line'],
        each['column'],
        each['endLine'],
        each['endColumn'],
      ]),
    );
    expect(diagnostics.length).toBeGreaterThan(1);
    expect((await findingsOf(TEXT)).diagnostics).toEqual([]);
  });

  it('completes, hovers and finds names', async () => {
    await findingsOf(TEXT);
    const items = (await client.sendRequest('textDocument/completion', at('size: half, price: 100', 6))) as readonly {
      readonly label: string;
      readonly textEdit: { readonly range: object; readonly newText: string };
    }[];
    expect(items.map(({ label }) => label)).toEqual(expect.arrayContaining(['half', 'inputs', 'tick']));
    expect(await client.sendRequest('textDocument/hover', at('size: half, price', 8))).toMatchObject({
      contents: { value: expect.stringContaining('`size`') },
    });
    const declared = { start: positionOf(TEXT, '  half: inputs', 2), end: positionOf(TEXT, '  half: inputs', 6) };
    expect(await client.sendRequest('textDocument/definition', at('size: half, price', 8))).toEqual({
      uri,
      range: declared,
    });
    const references = await client.sendRequest('textDocument/references', {
      ...at('order: entry'),
      context: { includeDeclaration: true },
    });
    expect(references).toHaveLength(5);
  });

  it('renames, and answers with an error where the name is taken', async () => {
    await findingsOf(TEXT);
    const renamed = (await client.sendRequest('textDocument/rename', { ...at('order: entry'), newName: 'bought' })) as {
      readonly changes: Readonly<Record<string, readonly { readonly newText: string }[]>>;
    };
    expect(renamed.changes[uri]?.map(({ newText }) => newText)).toEqual(Array(5).fill('bought'));
    await expect(client.sendRequest('textDocument/rename', { ...at('order: entry'), newName: 'half' })).rejects.toThrow(
      'half is taken',
    );
  });

  it('offers a fix that corrects, types, the worst case and a dry-run', async () => {
    const misspelt = TEXT.replace('is: filled', 'is: filed');
    const { diagnostics } = await findingsOf(misspelt);
    const [found] = diagnostics;
    const actions = (await client.sendRequest('textDocument/codeAction', {
      textDocument: { uri },
      range: found?.range,
      context: { diagnostics },
    })) as readonly { readonly edit: { readonly changes: Readonly<Record<string, readonly object[]>> } }[];
    expect(actions.map(({ edit }) => edit.changes[uri])).toContainEqual([{ range: found?.range, newText: 'filled' }]);
    await findingsOf(TEXT);
    const whole = { start: { line: 0, character: 0 }, end: { line: 99, character: 0 } };
    const hints = (await client.sendRequest('textDocument/inlayHint', {
      textDocument: { uri },
      range: whole,
    })) as readonly { readonly label: string }[];
    expect(hints.map(({ label }) => label)).toEqual(['size', 'size']);
    const lenses = (await client.sendRequest('textDocument/codeLens', { textDocument: { uri } })) as readonly {
      readonly command: { readonly title: string; readonly command: string; readonly arguments?: readonly string[] };
    }[];
    expect(lenses.map(({ command }) => command.title)).toEqual([expect.stringContaining('worst case'), 'dry-run']);
    const run = lenses[1]?.command;
    const said = await client.sendRequest('workspace/executeCommand', {
      command: run?.command,
      arguments: run?.arguments,
    });
    expect(said).toMatch(/^dry-run \w+/);
  });

  it('lays a text out as fmt does', async () => {
    await findingsOf(TEXT.replace('dsl: 1', 'dsl:    1'));
    const edits = await client.sendRequest('textDocument/formatting', { textDocument: { uri }, options: {} });
    here.write('format.yaml', TEXT.replace('dsl: 1', 'dsl:    1'));
    here.run('fmt', 'format.yaml');
    expect(edits).toMatchObject([{ newText: here.read('format.yaml') }]);
  });

  it('checks tests and profiles too, and shows no secret', async () => {
    const profile = pathToFileURL(join(here.path, 'profile.yaml')).href;
    const text = 'profile: a\nbase_url: http://venue.example\n';
    await client.sendNotification('textDocument/didOpen', {
      textDocument: { uri: profile, languageId: 'yaml', version: 1, text },
    });
    const { diagnostics } = await findingsOf(`${text}# \n`, profile);
    expect(diagnostics.map(({ code }) => code)).toContain('profile-missing');
  });

  it('ends with 0 when the editor says so', async () => {
    await client.sendRequest('shutdown');
    await client.sendNotification('exit');
    expect(await ended).toBe(0);
  });
});
