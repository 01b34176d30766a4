/** Small readings of a document's nodes that several parts of a test file share; what they cannot read is undefined. */

import type { Span } from '../../../base/diagnostic.ts';
import { parseDurationMs } from '../../../base/duration.ts';
import { printable } from '../../../base/printable.ts';
import type { CheckCode } from '../../../runbook/codes/check.ts';
import type { MapNode, Node } from '../../../runbook/document/document.ts';

/** Notes what is wrong at a place. */
export type Report = (at: Node | Span, code: CheckCode, message: string, hint?: string) => void;

export function textOf(node: Node | undefined): string | undefined {
  return node?.kind === 'scalar' && node.type !== 'null' ? node.text : undefined;
}

export function integerOf(node: Node | undefined): number | undefined {
  const text = textOf(node);
  return text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}

export function durationOf(node: Node | undefined): number | undefined {
  const text = textOf(node);
  return text === undefined ? undefined : parseDurationMs(text);
}

export function textsOf(node: Node | undefined): Record<string, string> {
  const entries = node?.kind === 'map' ? node.entries : [];
  return Object.fromEntries(entries.map(({ key, value }) => [key, textOf(value) ?? '']));
}

/** The maps of a list, or of what stands alone in its place. */
export function mapsOf(node: Node | undefined): readonly MapNode[] {
  const items = node === undefined ? [] : node.kind === 'list' ? node.items : [node];
  return items.filter((item): item is MapNode => item.kind === 'map');
}

export function quoted(text: string): string {
  return JSON.stringify(printable(text, 80));
}
