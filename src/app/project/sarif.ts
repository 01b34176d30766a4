/** Writes findings as SARIF 2.1.0, which code scanning reads: a rule for every code, a result for every finding. */
import { pathToFileURL } from 'node:url';
import { placeDiagnostic, sortForReading } from '../../base/diagnostic.ts';
import { escapeUnprintable, makePrintable } from '../../base/printable.ts';
import { ENGINE_VERSION } from '../version.ts';
import type { CheckedFile } from './checks.ts';
import { listExplanations } from './explanation.ts';

/** The whole document as text; characters that a terminal would obey are escaped. */
export function formatSarif(files: readonly CheckedFile[]): string {
  return `${escapeUnprintable(JSON.stringify(makeSarif(files)))}\n`;
}

export function makeSarif(files: readonly CheckedFile[]) {
  const rules = listExplanations()
    .filter(({ kind }) => kind === 'diagnostic' || kind === 'profile')
    .map(({ code, severity, meaning, example, accepted }) => ({
      id: code,
      shortDescription: { text: meaning },
      fullDescription: { text: `${meaning} ${accepted}` },
      help: { text: `${meaning}\n\nExample:\n${example}\n\n${accepted}` },
      defaultConfiguration: { level: severity === 'warning' ? 'warning' : 'error' },
    }));
  const indexes = new Map(rules.map(({ id }, index) => [id, index]));
  const results = files.flatMap(({ diagnostics }) =>
    sortForReading(diagnostics)
      .map(placeDiagnostic)
      .map(({ code, severity, message, hint, file, line, column, endLine, endColumn }) => ({
        ruleId: code,
        ruleIndex: indexes.get(code) ?? -1,
        level: severity,
        message: { text: makePrintable(hint === undefined ? message : `${message} — ${hint}`, 2000) },
        locations: [
          {
            physicalLocation: {
              artifactLocation: { uri: toUri(file) },
              region: { startLine: line, startColumn: column, endLine, endColumn },
            },
          },
        ],
      })),
  );
  const notifications = files.flatMap(({ file, refused }) =>
    refused === undefined
      ? []
      : [
          {
            level: 'error',
            message: { text: makePrintable(refused.message, 2000) },
            locations: [{ physicalLocation: { artifactLocation: { uri: toUri(file) } } }],
          },
        ],
  );
  return {
    $schema: 'https://json.schemastore.org/sarif-2.1.0.json',
    version: '2.1.0',
    runs: [
      {
        tool: { driver: { name: 'perp-runbook', semanticVersion: ENGINE_VERSION, rules } },
        columnKind: 'utf16CodeUnits',
        invocations: [{ executionSuccessful: notifications.length === 0, toolExecutionNotifications: notifications }],
        results,
      },
    ],
  };
}

/** Relative paths stay relative: a reader resolves them against the root of the checkout. */
function toUri(path: string): string {
  if (/^(?:[/\\]|[A-Za-z]:[/\\])/.test(path)) return pathToFileURL(path).href;
  return path
    .replaceAll('\\', '/')
    .replace(/^(?:\.\/)+/, '')
    .split('/')
    .map(encodeURIComponent)
    .join('/');
}
