/**
 * The extension: starts `runbook lsp`, and passes texts, questions and answers between it and the editor. What an answer means is
 * decided by the server.
 */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import * as vscode from 'vscode';
import { createMessageConnection, StreamMessageReader, StreamMessageWriter } from 'vscode-jsonrpc/node';

const SELECTOR = [
  { language: 'yaml', scheme: 'file' },
  { language: 'yaml', scheme: 'untitled' },
];

let running;

export async function activate(context) {
  const start = async () => {
    await running?.stop();
    running = await startServer().catch((error) => {
      vscode.window.showErrorMessage(`The runbook language server does not start: ${error.message}`);
      return undefined;
    });
  };
  context.subscriptions.push(vscode.commands.registerCommand('runbook.restart', start));
  await start();
}

export async function deactivate() {
  await running?.stop();
  running = undefined;
}

/** The program of the setting, of the workspace, or of the PATH. */
function findServer() {
  const chosen = vscode.workspace.getConfiguration('runbook').get('server');
  const folders = (vscode.workspace.workspaceFolders ?? []).map(({ uri }) => uri.fsPath);
  const inside = folders.map((folder) => join(folder, 'node_modules', 'perp-runbook', 'bin', 'runbook.js'));
  const file = [...(chosen ? [chosen] : []), ...inside].find((path) => existsSync(path));
  if (chosen && file !== chosen) throw new Error(`the setting runbook.server names ${chosen}, which does not exist`);
  // The editor is a Node too: nothing else has to be installed.
  if (file !== undefined)
    return { command: process.execPath, words: [file], env: { ELECTRON_RUN_AS_NODE: '1' }, cwd: folders[0] };
  return { command: process.platform === 'win32' ? 'runbook.cmd' : 'runbook', words: [], env: {}, cwd: folders[0] };
}

async function startServer() {
  const { command, words, env, cwd } = findServer();
  const server = spawn(command, [...words, 'lsp', '--stdio'], {
    cwd,
    env: { ...process.env, ...env },
    shell: command.endsWith('.cmd'),
  });
  const failed = new Promise((_resolve, reject) => {
    server.on('error', reject);
    server.on('exit', (code) => reject(new Error(`it ended with ${code}`)));
  });
  failed.catch(() => {});
  const connection = createMessageConnection(
    new StreamMessageReader(server.stdout),
    new StreamMessageWriter(server.stdin),
  );
  const diagnostics = vscode.languages.createDiagnosticCollection('runbook');
  connection.onNotification('textDocument/publishDiagnostics', ({ uri, diagnostics: found }) =>
    diagnostics.set(vscode.Uri.parse(uri), found.map(toDiagnostic)),
  );
  connection.onNotification('window/showMessage', ({ message }) => vscode.window.showInformationMessage(message));
  connection.onClose(() => diagnostics.clear());
  connection.listen();
  const ask = (method, params) => connection.sendRequest(method, params);
  await Promise.race([ask('initialize', { processId: process.pid, rootUri: null, capabilities: {} }), failed]);
  await connection.sendNotification('initialized', {});
  const disposables = [...syncTexts(connection), ...provideLanguage(ask), diagnostics];
  return {
    async stop() {
      for (const each of disposables) each.dispose();
      await Promise.race([ask('shutdown').then(() => connection.sendNotification('exit')), failed]).catch(() => {});
      connection.dispose();
      server.kill();
    },
  };
}

/** The server gets every YAML text that is open; it knows which are runbooks. */
function syncTexts(connection) {
  const isYaml = ({ languageId, uri }) =>
    SELECTOR.some(({ language, scheme }) => language === languageId && scheme === uri.scheme);
  const open = (document) => {
    if (!isYaml(document)) return;
    const { uri, languageId, version } = document;
    void connection.sendNotification('textDocument/didOpen', {
      textDocument: { uri: uri.toString(), languageId, version, text: document.getText() },
    });
  };
  vscode.workspace.textDocuments.forEach(open);
  return [
    vscode.workspace.onDidOpenTextDocument(open),
    vscode.workspace.onDidSaveTextDocument((document) => {
      if (isYaml(document))
        void connection.sendNotification('textDocument/didSave', { textDocument: { uri: document.uri.toString() } });
    }),
    vscode.workspace.onDidCloseTextDocument((document) => {
      if (isYaml(document))
        void connection.sendNotification('textDocument/didClose', { textDocument: { uri: document.uri.toString() } });
    }),
    vscode.workspace.onDidChangeTextDocument(({ document, contentChanges }) => {
      if (!isYaml(document) || contentChanges.length === 0) return;
      void connection.sendNotification('textDocument/didChange', {
        textDocument: { uri: document.uri.toString(), version: document.version },
        contentChanges: contentChanges.map(({ range, text }) => ({ range: fromRange(range), text })),
      });
    }),
  ];
}

function provideLanguage(ask) {
  const at = ({ uri }, position) => ({
    textDocument: { uri: uri.toString() },
    position: { line: position.line, character: position.character },
  });
  const { languages } = vscode;
  return [
    languages.registerCompletionItemProvider(
      SELECTOR,
      {
        async provideCompletionItems(document, position) {
          const items = await ask('textDocument/completion', at(document, position));
          return items.map((each) => {
            // Kinds of the protocol begin at 1, those of the editor at 0.
            const item = new vscode.CompletionItem(each.label, each.kind - 1);
            item.detail = each.detail;
            item.documentation = each.documentation && new vscode.MarkdownString(each.documentation.value);
            item.insertText = each.textEdit?.newText ?? each.insertText;
            if (each.textEdit !== undefined) item.range = toRange(each.textEdit.range);
            return item;
          });
        },
      },
      '.',
      ' ',
      ':',
      '{',
      '[',
      "'",
    ),
    languages.registerHoverProvider(SELECTOR, {
      async provideHover(document, position) {
        const found = await ask('textDocument/hover', at(document, position));
        return (
          found &&
          new vscode.Hover(new vscode.MarkdownString(found.contents.value), found.range && toRange(found.range))
        );
      },
    }),
    languages.registerDefinitionProvider(SELECTOR, {
      async provideDefinition(document, position) {
        const found = await ask('textDocument/definition', at(document, position));
        return found && toLocation(found);
      },
    }),
    languages.registerReferenceProvider(SELECTOR, {
      async provideReferences(document, position, context) {
        return (await ask('textDocument/references', { ...at(document, position), context })).map(toLocation);
      },
    }),
    languages.registerRenameProvider(SELECTOR, {
      async prepareRename(document, position) {
        const range = await ask('textDocument/prepareRename', at(document, position));
        if (range === null) throw new Error('There is no name here.');
        return toRange(range);
      },
      async provideRenameEdits(document, position, newName) {
        return toWorkspaceEdit(await ask('textDocument/rename', { ...at(document, position), newName }));
      },
    }),
    languages.registerCodeActionsProvider(
      SELECTOR,
      {
        async provideCodeActions(document, range) {
          const found = await ask('textDocument/codeAction', {
            textDocument: { uri: document.uri.toString() },
            range: fromRange(range),
            context: { diagnostics: [] },
          });
          return found.map(({ title, edit, diagnostics }) => {
            const action = new vscode.CodeAction(title, vscode.CodeActionKind.QuickFix);
            action.edit = toWorkspaceEdit(edit);
            action.diagnostics = diagnostics.map(toDiagnostic);
            return action;
          });
        },
      },
      { providedCodeActionKinds: [vscode.CodeActionKind.QuickFix] },
    ),
    languages.registerDocumentFormattingEditProvider(SELECTOR, {
      async provideDocumentFormattingEdits(document) {
        const found = await ask('textDocument/formatting', {
          textDocument: { uri: document.uri.toString() },
          options: {},
        });
        return found.map(({ range, newText }) => new vscode.TextEdit(toRange(range), newText));
      },
    }),
    languages.registerInlayHintsProvider(SELECTOR, {
      async provideInlayHints(document, range) {
        const found = await ask('textDocument/inlayHint', {
          textDocument: { uri: document.uri.toString() },
          range: fromRange(range),
        });
        return found.map(({ position, label }) => {
          const hint = new vscode.InlayHint(toPosition(position), label, vscode.InlayHintKind.Type);
          hint.paddingLeft = true;
          return hint;
        });
      },
    }),
    languages.registerCodeLensProvider(SELECTOR, {
      async provideCodeLenses(document) {
        const found = await ask('textDocument/codeLens', { textDocument: { uri: document.uri.toString() } });
        return found.map(({ range, command }) => new vscode.CodeLens(toRange(range), command));
      },
    }),
    vscode.commands.registerCommand('runbook.dryRun', (uri) =>
      ask('workspace/executeCommand', { command: 'runbook.dryRun', arguments: [uri] }),
    ),
  ];
}

function toPosition({ line, character }) {
  return new vscode.Position(line, character);
}

function toRange({ start, end }) {
  return new vscode.Range(toPosition(start), toPosition(end));
}

function fromRange({ start, end }) {
  return {
    start: { line: start.line, character: start.character },
    end: { line: end.line, character: end.character },
  };
}

function toLocation({ uri, range }) {
  return new vscode.Location(vscode.Uri.parse(uri), toRange(range));
}

function toDiagnostic({ range, message, severity, code, source }) {
  // Severities of the protocol begin at 1, those of the editor at 0.
  const made = new vscode.Diagnostic(toRange(range), message, severity - 1);
  made.code = code;
  made.source = source;
  return made;
}

function toWorkspaceEdit({ changes }) {
  const edit = new vscode.WorkspaceEdit();
  for (const [uri, edits] of Object.entries(changes))
    for (const { range, newText } of edits) edit.replace(vscode.Uri.parse(uri), toRange(range), newText);
  return edit;
}
