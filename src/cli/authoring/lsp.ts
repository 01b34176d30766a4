/** `runbook lsp`: the language server over standard input and output. Only translates; src/app/editor answers. */
import { fileURLToPath, pathToFileURL } from 'node:url';
import {
  CodeActionKind,
  CompletionItemKind,
  createConnection,
  DiagnosticSeverity,
  ErrorCodes,
  InlayHintKind,
  MarkupKind,
  MessageType,
  ResponseError,
  ShowMessageNotification,
  type TextDocumentPositionParams,
  TextDocumentSyncKind,
  TextDocuments,
} from 'vscode-languageserver/node';
import { TextDocument } from 'vscode-languageserver-textdocument';
import type { Completion } from '../../app/editor/completion.ts';
import { LanguageService } from '../../app/editor/service.ts';
import { EXIT, type ExitCode, UserError } from '../../app/errors.ts';
import { readCalled } from '../../app/files/runbook.ts';
import { checkOtherText } from '../../app/project/other-files.ts';
import { ENGINE_VERSION } from '../../app/version.ts';
import { SystemClock, type Timer } from '../../base/clock.ts';
import type { PlacedDiagnostic, Span } from '../../base/diagnostic.ts';
import { lintSchedule } from '../../runbook/schedule/lints.ts';
import { standard } from '../terminal/streams.ts';

/** Findings that were quick the last time come with each key. */
const QUICK_MS = 40;
/** Others come this long after the last key: less than a person waits for, more than between two keys. */
const SETTLED_MS = 60;

const KINDS = {
  key: CompletionItemKind.Property,
  verb: CompletionItemKind.Keyword,
  word: CompletionItemKind.EnumMember,
  type: CompletionItemKind.TypeParameter,
  name: CompletionItemKind.Variable,
  field: CompletionItemKind.Field,
  function: CompletionItemKind.Function,
  id: CompletionItemKind.Reference,
} as const satisfies Record<Completion['kind'], CompletionItemKind>;

/** Ends when the editor does: with `exit`, or at the end of the input. */
export async function serveLanguage(): Promise<ExitCode> {
  const connection = createConnection(standard.input, standard.output);
  const clock = new SystemClock();
  const service = new LanguageService(
    {
      loadBeside: (path, name) => quietly(() => readCalled(path, name)),
      checkOther: (source, kind) => quietly(() => checkOtherText(source, kind)) ?? [],
    },
    () => clock.now(),
    (runbook) => lintSchedule(runbook, clock.now()),
  );
  const documents = new TextDocuments(TextDocument);
  const uris = new Map<string, string>();
  const pathOf = (uri: string): string => {
    const path = uri.startsWith('file:') ? fileURLToPath(uri) : uri;
    uris.set(path, uri);
    return path;
  };

  connection.onInitialize(() => ({
    serverInfo: { name: 'perp-runbook', version: ENGINE_VERSION },
    capabilities: {
      textDocumentSync: { openClose: true, change: TextDocumentSyncKind.Incremental, save: true },
      completionProvider: { triggerCharacters: ['.', ' ', ':', '{', '[', "'"] },
      hoverProvider: true,
      definitionProvider: true,
      referencesProvider: true,
      renameProvider: { prepareProvider: true },
      codeActionProvider: { codeActionKinds: [CodeActionKind.QuickFix] },
      documentFormattingProvider: true,
      inlayHintProvider: true,
      codeLensProvider: {},
      executeCommandProvider: { commands: ['runbook.dryRun'] },
    },
  }));

  let tookMs = 0;
  const push = (): void => {
    const begun = clock.monotonic();
    for (const path of service.listOpen()) {
      const uri = uris.get(path) ?? pathToFileURL(path).href;
      const version = documents.get(uri)?.version;
      void connection.sendDiagnostics({
        uri,
        ...(version === undefined ? {} : { version }),
        diagnostics: service.diagnose(path).map(toDiagnostic),
      });
    }
    tookMs = clock.monotonic() - begun;
  };
  let timer: Timer | undefined;
  documents.onDidChangeContent(({ document }) => {
    service.update(pathOf(document.uri), document.getText());
    timer?.cancel();
    timer = clock.after(tookMs < QUICK_MS ? 0 : SETTLED_MS, push);
  });
  documents.onDidSave(({ document }) => {
    service.forget(pathOf(document.uri));
    push();
  });
  documents.onDidClose(({ document }) => {
    service.close(pathOf(document.uri));
    void connection.sendDiagnostics({ uri: document.uri, diagnostics: [] });
  });

  /** The path and offset of a question. */
  const at = ({ textDocument: { uri }, position }: TextDocumentPositionParams) => {
    const document = documents.get(uri);
    return { path: pathOf(uri), document, offset: document?.offsetAt(position) ?? 0, uri };
  };

  connection.onCompletion((params) => {
    const { path, offset, document } = at(params);
    const text = document?.getText() ?? '';
    const start = offset - (/\w*$/.exec(text.slice(0, offset))?.[0].length ?? 0);
    const range = document && toRange(document, { start, end: offset });
    return service.complete(path, offset).map(({ label, kind, detail, doc, insert }) => ({
      label,
      kind: KINDS[kind],
      ...(detail === undefined ? {} : { detail }),
      ...(doc === undefined ? {} : { documentation: { kind: MarkupKind.Markdown, value: doc } }),
      ...(range === undefined ? { insertText: insert } : { textEdit: { range, newText: insert } }),
    }));
  });
  connection.onHover((params) => {
    const { path, offset, document } = at(params);
    const found = service.hover(path, offset);
    if (found === undefined || document === undefined) return null;
    const contents = { kind: MarkupKind.Markdown, value: found.markdown };
    return found.span === undefined ? { contents } : { contents, range: toRange(document, found.span) };
  });
  connection.onDefinition((params) => {
    const { path, offset, document, uri } = at(params);
    const found = service.symbol(path, offset);
    return found === undefined || document === undefined
      ? null
      : { uri, range: toRange(document, found.declaration.span) };
  });
  connection.onReferences((params) => {
    const { path, offset, document, uri } = at(params);
    const found = service.symbol(path, offset);
    if (found === undefined || document === undefined) return [];
    const declared: readonly Span[] = params.context.includeDeclaration ? [found.declaration.span] : [];
    return [...declared, ...found.uses].map((span) => ({ uri, range: toRange(document, span) }));
  });
  connection.onPrepareRename((params) => {
    const { path, offset, document } = at(params);
    const found = service.symbol(path, offset);
    return found === undefined || document === undefined ? null : toRange(document, found.span);
  });
  connection.onRenameRequest((params) => {
    const { path, offset, document, uri } = at(params);
    const renaming = service.rename(path, offset, params.newName);
    if ('refused' in renaming || document === undefined)
      throw new ResponseError(
        ErrorCodes.InvalidParams,
        'refused' in renaming ? renaming.refused : 'the file is not open',
      );
    const edits = renaming.edits.map(({ span, text }) => ({ range: toRange(document, span), newText: text }));
    return { changes: { [uri]: edits } };
  });
  connection.onCodeAction(({ textDocument, range }) => {
    const path = pathOf(textDocument.uri);
    const document = documents.get(textDocument.uri);
    if (document === undefined) return [];
    return service
      .fixes(path, document.offsetAt(range.start), document.offsetAt(range.end))
      .map(({ title, edit, diagnostic }) => ({
        title,
        kind: CodeActionKind.QuickFix,
        diagnostics: service
          .diagnose(path)
          .filter((each) => each.code === diagnostic.code && each.message === diagnostic.message)
          .map(toDiagnostic),
        edit: { changes: { [textDocument.uri]: [{ range: toRange(document, edit.span), newText: edit.text }] } },
      }));
  });
  connection.onDocumentFormatting(({ textDocument }) => {
    const path = pathOf(textDocument.uri);
    const document = documents.get(textDocument.uri);
    const text = service.format(path);
    if (document === undefined || text === undefined) return [];
    return [{ range: toRange(document, { start: 0, end: document.getText().length }), newText: text }];
  });
  connection.languages.inlayHint.on(({ textDocument, range }) => {
    const path = pathOf(textDocument.uri);
    const document = documents.get(textDocument.uri);
    if (document === undefined) return [];
    return service
      .inlayHints(path, document.offsetAt(range.start), document.offsetAt(range.end))
      .map(({ offset, text }) => ({
        position: document.positionAt(offset),
        label: text,
        kind: InlayHintKind.Type,
        paddingLeft: true,
      }));
  });
  connection.onCodeLens(({ textDocument }) => {
    const path = pathOf(textDocument.uri);
    const document = documents.get(textDocument.uri);
    if (document === undefined) return [];
    return service.lenses(path).map(({ offset, title, command }) => ({
      range: toRange(document, { start: offset, end: offset }),
      command: { title, command: command ?? '', ...(command === undefined ? {} : { arguments: [textDocument.uri] }) },
    }));
  });
  connection.onExecuteCommand(async ({ command, arguments: given }) => {
    if (command !== 'runbook.dryRun')
      throw new ResponseError(ErrorCodes.InvalidParams, `there is no command ${command}`);
    const said = await service.dryRun(pathOf(String(given?.[0] ?? '')));
    // A notification: a request that the editor does not answer would end the server.
    void connection.sendNotification(ShowMessageNotification.type, { type: MessageType.Info, message: said });
    return said;
  });

  documents.listen(connection);
  connection.listen();
  await new Promise<void>((resolve) => {
    connection.onExit(() => resolve());
    standard.input.on('end', () => resolve());
  });
  timer?.cancel();
  return EXIT.done;
}

function toRange(document: TextDocument, { start, end }: Span) {
  return { start: document.positionAt(start), end: document.positionAt(Math.max(start, end)) };
}

/** Editors count lines and columns from 0. */
function toDiagnostic({ severity, code, message, hint, line, column, endLine, endColumn }: PlacedDiagnostic) {
  return {
    range: {
      start: { line: line - 1, character: column - 1 },
      end: { line: endLine - 1, character: endColumn - 1 },
    },
    severity: severity === 'error' ? DiagnosticSeverity.Error : DiagnosticSeverity.Warning,
    code,
    source: 'runbook',
    message: hint === undefined ? message : `${message}\n${hint}`,
  };
}

/** A file beside the text that cannot be read is reported where it is validated. */
function quietly<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch (error) {
    if (error instanceof UserError) return undefined;
    throw error;
  }
}
