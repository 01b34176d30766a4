/**
 * Writes the JSON for the page. No key or value holds a character that could hide, reorder or break what a reader sees. The
 * page sets texts as text nodes, so nothing is escaped for HTML here.
 */
import { escapeUnprintable } from '../../base/printable.ts';

export function writePageJson(document: unknown): string {
  return JSON.stringify(document, (_key, value: unknown) => {
    if (typeof value === 'string') return escapeUnprintable(value);
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
    const entries = Object.entries(value);
    return entries.every(([key]) => escapeUnprintable(key) === key)
      ? value
      : Object.fromEntries(entries.map(([key, each]) => [escapeUnprintable(key), each]));
  });
}
