/** Reads small values from a document's nodes for several parts of a test file; undefined for any other value. */

import type { Span } from '../../../base/diagnostic.ts';
import { parseDurationMs } from '../../../base/duration.ts';
import { makePrintable } from '../../../base/printable.ts';
import type { CheckCode } from '../../../runbook/codes/codes.ts';
import type { MapNode, Node } from '../../../runbook/document/document.ts';

/** Reports an error at a position. */
export type Report = (at: Node | Span, code: CheckCode, message: string, hint?: string) => void;

export function readScalarText(node: Node | undefined): string | undefined {
  return node?.kind === 'scalar' && node.type !== 'null' ? node.text : undefined;
}

export function readInteger(node: Node | undefined): number | undefined {
  const text = readScalarText(node);
  return text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}

export function readDuration(node: Node | undefined): number | undefined {
  const text = readScalarText(node);
  return text === undefined ? undefined : parseDurationMs(text);
}

export function readTexts(node: Node | undefined): Record<string, string> {
  const entries = node?.kind === 'map' ? node.entries : [];
  return Object.fromEntries(entries.map(({ key, value }) => [key, readScalarText(value) ?? '']));
}

/** The maps of a list, or a single map in its place. */
export function listMaps(node: Node | undefined): readonly MapNode[] {
  const items = node === undefined ? [] : node.kind === 'list' ? node.items : [node];
  return items.filter((item): item is MapNode => item.kind === 'map');
}

export function quoteText(text: string): string {
  return JSON.stringify(makePrintable(text, 80));
}
