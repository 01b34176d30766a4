/**
 * Exports a run as JSON lines: each entry exactly as it was hashed, with its hash as the last field. To verify the export
 * without this program, remove that field and hash the line (reliability.md, Journal lines).
 */
import type { StoredEntry } from '../../journal/store.ts';

export function formatJsonLine({ line, hash }: StoredEntry): string {
  return `${line.slice(0, -1)},"hash":${JSON.stringify(hash)}}\n`;
}
