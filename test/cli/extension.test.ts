/** The extension for VS Code as it is packed: the files of the package, and its code run with a stand-in for the editor. */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { inflateRawSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BIN, folder } from './command.ts';

const SCRIPT = fileURLToPath(new URL('../../scripts/pack-extension.js', import.meta.url));

/** The files of a zip, by its central directory. */
function unzip(bytes: Buffer): Readonly<Record<string, Buffer>> {
  const files: Record<string, Buffer> = {};
  const end = bytes.length - 22;
  expect(bytes.toString('latin1', end, end + 4)).toBe('PK\u0005\u0006');
  let at = bytes.readUInt32LE(end + 16);
  for (let count = bytes.readUInt16LE(end + 10); count > 0; count -= 1) {
    const [packed, size, nameLength, offset] = [20, 24, 28, 42].map((field) =>
      field === 28 ? bytes.readUInt16LE(at + field) : bytes.readUInt32LE(at + field),
    ) as [number, number, number, number];
    const name = bytes.toString('utf8', at + 46, at + 46 + nameLength);
    const start = offset + 30 + bytes.readUInt16LE(offset + 26);
    files[name] = inflateRawSync(bytes.subarray(start, start + packed));
    expect(files[name]).toHaveLength(size);
    at += 46 + nameLength;
  }
  return files;
}

describe('the extension', () => {
  const here = folder();
  let files: Readonly<Record<string, Buffer>> = {};

  beforeAll(() => {
    for (const name of ['a.vsix', 'b.vsix']) spawnSync(process.execPath, [SCRIPT, join(here.path, name)]);
    files = unzip(readFileSync(join(here.path, 'a.vsix')));
  });

  it('is packed with what its manifests name, the same bytes each time', () => {
    expect(readFileSync(join(here.path, 'a.vsix')).equals(readFileSync(join(here.path, 'b.vsix')))).toBe(true);
    const manifest = JSON.parse(String(files['extension/package.json']));
    expect(manifest).toMatchObject({ main: './extension.js', version: expect.stringMatching(/^\d+\.\d+\.\d+$/) });
    expect(manifest).not.toHaveProperty('private');
    const inside = (path: string) => `extension/${path.replace('./', '')}`;
    for (const path of [manifest.main, ...manifest.contributes.grammars.map((each: { path: string }) => each.path)])
      expect(Object.keys(files)).toContain(inside(path));
    const assets = [...String(files['extension.vsixmanifest']).matchAll(/Path="([^"]+)"/g)].map(([, path]) => path);
    expect(assets.length).toBeGreaterThan(2);
    for (const path of assets) expect(Object.keys(files)).toContain(path);
    const types = String(files['[Content_Types].xml']);
    for (const name of Object.keys(files))
      if (name !== '[Content_Types].xml') expect(types).toContain(`Extension="${name.slice(name.lastIndexOf('.'))}"`);
    expect(manifest.capabilities.untrustedWorkspaces.supported).toBe(false);
  });

  it('needs nothing but the editor and Node', () => {
    const wanted = [...String(files['extension/extension.js']).matchAll(/\brequire\("([^"]+)"\)/g)].map(
      ([, name = '']) => name,
    );
    const own = createRequire(import.meta.url);
    expect(
      [...new Set(wanted)].filter((name) => name !== 'vscode' && !name.startsWith('node:') && !isBuiltIn(own, name)),
    ).toEqual([]);
  });
});

function isBuiltIn(own: NodeJS.Require, name: string): boolean {
  return own.resolve.paths(name) === null;
}

/** The parts of the editor that the extension uses, as far as a test has to see them. */
class Editor {
  readonly providers: Record<string, Record<string, (...args: readonly unknown[]) => unknown>> = {};
  readonly commands: Record<string, (...args: readonly unknown[]) => unknown> = {};
  readonly errors: string[] = [];
  private found: { readonly code: string }[] | undefined;
  private waiting: (() => void) | undefined;
  private readonly document: object;

  constructor(document: object) {
    this.document = document;
  }

  /** The findings, once the extension has set some. */
  async findings(): Promise<readonly { readonly code: string }[]> {
    while (this.found === undefined)
      await new Promise<void>((resolve) => {
        this.waiting = resolve;
      });
    return this.found;
  }

  api(server: string): object {
    const off = { dispose: () => {} };
    const event = () => off;
    const provide = (name: string) => (_selector: unknown, provider: (typeof this.providers)[string]) => {
      this.providers[name] = provider;
      return off;
    };
    const record = (...names: readonly string[]) =>
      class {
        constructor(...values: readonly unknown[]) {
          for (const [index, name] of names.entries()) Object.assign(this, { [name]: values[index] });
        }
      };
    return {
      workspace: {
        textDocuments: [this.document],
        workspaceFolders: [],
        getConfiguration: () => ({ get: () => server }),
        onDidOpenTextDocument: event,
        onDidSaveTextDocument: event,
        onDidCloseTextDocument: event,
        onDidChangeTextDocument: event,
      },
      window: { showErrorMessage: (text: string) => this.errors.push(text), showInformationMessage: () => {} },
      commands: {
        registerCommand: (name: string, run: (typeof this.commands)[string]) => {
          this.commands[name] = run;
          return off;
        },
      },
      languages: {
        createDiagnosticCollection: () => ({
          ...off,
          clear: () => {},
          set: (_uri: unknown, found: { readonly code: string }[]) => {
            this.found = found;
            this.waiting?.();
          },
        }),
        registerCompletionItemProvider: provide('completion'),
        registerHoverProvider: provide('hover'),
        registerDefinitionProvider: provide('definition'),
        registerReferenceProvider: provide('references'),
        registerRenameProvider: provide('rename'),
        registerCodeActionsProvider: provide('actions'),
        registerDocumentFormattingEditProvider: provide('format'),
        registerInlayHintsProvider: provide('hints'),
        registerCodeLensProvider: provide('lenses'),
      },
      Uri: { parse: (text: string) => text },
      Position: record('line', 'character'),
      Range: record('start', 'end'),
      Location: record('uri', 'range'),
      Diagnostic: record('range', 'message', 'severity'),
      CompletionItem: record('label', 'kind'),
      MarkdownString: record('value'),
      Hover: record('contents', 'range'),
      CodeAction: record('title', 'kind'),
      CodeActionKind: { QuickFix: 'quickfix' },
      TextEdit: record('range', 'newText'),
      CodeLens: record('range', 'command'),
      InlayHint: record('position', 'label', 'kind'),
      InlayHintKind: { Type: 1 },
      WorkspaceEdit: class {
        readonly edits: unknown[] = [];
        replace(...edit: readonly unknown[]) {
          this.edits.push(edit);
        }
      },
    };
  }
}

describe('the extension in the editor', () => {
  const here = folder();
  const text = 'runbook: case\ndsl: 1\nlet:\n  half: 1 / 2\nsteps:\n  - red_account: {}\noutputs: {half: half}\n';
  const path = join(here.path, 'case.yaml');
  const uri = { scheme: 'file', toString: () => pathToFileURL(path).href };
  const document = { languageId: 'yaml', version: 1, uri, getText: () => text };
  const editor = new Editor(document);
  let extension: { activate(context: object): Promise<void>; deactivate(): Promise<void> };

  beforeAll(async () => {
    spawnSync(process.execPath, [SCRIPT, join(here.path, 'c.vsix')]);
    const code = String(unzip(readFileSync(join(here.path, 'c.vsix')))['extension/extension.js']);
    const own = createRequire(import.meta.url);
    const load = (name: string): unknown => (name === 'vscode' ? editor.api(BIN) : own(name));
    const module = { exports: {} };
    new Function('require', 'module', 'exports', code)(load, module, module.exports);
    extension = module.exports as typeof extension;
    await extension.activate({ subscriptions: [] });
  });
  afterAll(() => extension.deactivate());

  it('shows findings, and asks the server for everything else', async () => {
    expect(editor.errors).toEqual([]);
    expect((await editor.findings()).map(({ code }) => code)).toContain('unknown-key');
    const at = { line: 6, character: 18 };
    const ask = (name: string, method: string, ...args: readonly unknown[]) =>
      editor.providers[name]?.[method]?.(document, ...args);
    expect(await ask('completion', 'provideCompletionItems', at)).toContainEqual(
      expect.objectContaining({ label: 'half' }),
    );
    expect(await ask('hover', 'provideHover', at)).toMatchObject({
      contents: { value: expect.stringContaining('half') },
    });
    expect(await ask('definition', 'provideDefinition', at)).toMatchObject({
      range: { start: { line: 3, character: 2 } },
    });
    expect(await ask('references', 'provideReferences', at, { includeDeclaration: true })).toHaveLength(2);
    expect(await ask('rename', 'provideRenameEdits', at, 'part')).toMatchObject({
      edits: [expect.anything(), expect.anything()],
    });
    const range = { start: { line: 5, character: 4 }, end: { line: 5, character: 15 } };
    expect(await ask('actions', 'provideCodeActions', range)).toContainEqual(
      expect.objectContaining({ title: 'Write read_account' }),
    );
    expect(
      await ask('hints', 'provideInlayHints', { start: { line: 0, character: 0 }, end: { line: 9, character: 0 } }),
    ).toHaveLength(2);
    expect(await ask('format', 'provideDocumentFormattingEdits')).toMatchObject([{ newText: text }]);
    expect(await ask('lenses', 'provideCodeLenses')).toEqual([]);
    expect(Object.keys(editor.commands).sort()).toEqual(['runbook.dryRun', 'runbook.restart']);
  });
});
