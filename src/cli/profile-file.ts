/** A profile in a file: YAML read with every number to the digit, diagnostics with their place, exit 2 for what is wrong. */
import { printable } from '../base/printable.ts';
import { type Node, nodeAt, readDocument } from '../runbook/document.ts';
import { type Profile, readProfile } from '../venue/profile.ts';
import { EXIT, Refusal } from './exit.ts';
import { readSource } from './files.ts';
import type { Terminal } from './terminal.ts';

export function readProfileFile(path: string, terminal: Terminal): Profile {
  const source = readSource(path, 'profile');
  const { root, diagnostics } = readDocument(source);
  if (root === undefined || diagnostics.length > 0) {
    terminal.diagnostics(diagnostics);
    throw unusable(path);
  }
  const read = readProfile(exactData(root), source, (at) => nodeAt(root, at).span);
  // The line at fault is not shown where it holds a secret.
  terminal.diagnostics(
    read.diagnostics.map((each) =>
      each.code === 'profile-secret' ? { ...each, source: { ...source, text: blanked(source.text) } } : each,
    ),
  );
  if (read.profile === undefined) throw unusable(path);
  return read.profile;
}

/** The text with its lines and nothing in them: positions stay. */
function blanked(text: string): string {
  return text.replace(/[^\n]/g, ' ');
}

function unusable(path: string): Refusal {
  return new Refusal(`the profile ${printable(path, 300)} can not be used`, EXIT.usage, 'configuration');
}

/** The document as data, numbers as the text that is written. */
export function exactData(node: Node): unknown {
  switch (node.kind) {
    case 'list':
      return node.items.map(exactData);
    case 'map':
      return Object.fromEntries(node.entries.map(({ key, value }) => [key, exactData(value)]));
    case 'scalar':
      if (node.type === 'boolean') return node.text === 'true';
      return node.type === 'null' ? null : node.text;
    default:
      return node satisfies never;
  }
}
