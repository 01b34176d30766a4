/** Reads a profile from YAML with every digit of its numbers; diagnostics have positions, errors end with exit 2. */
import { dirname, resolve } from 'node:path';
import { type Diagnostic, placeDiagnostic, type SourceText } from '../../base/diagnostic.ts';
import { makePrintable } from '../../base/printable.ts';
import { nodeAt, readDocument, readExactData } from '../../runbook/document/document.ts';
import { type Profile, readProfile } from '../../venue/profile/profile.ts';
import type { DataPath } from '../../venue/profile/reading.ts';
import { looksSecret } from '../../venue/profile/secret-like.ts';
import { EXIT, UserError } from '../errors.ts';
import type { Voice } from '../voice.ts';
import { readSource } from './files.ts';
import { refuseOtherKind } from './kinds.ts';

export function readProfileFile(path: string, voice: Pick<Voice, 'diagnostics'>): Profile {
  return readProfileSource(readSource(path, 'profile'), voice);
}

/** The same for a text that was read before. */
export function readProfileSource(source: SourceText, voice: Pick<Voice, 'diagnostics'>): Profile {
  const { file: path } = source;
  const { root, diagnostics } = readDocument(source);
  if (root === undefined || diagnostics.length > 0) {
    voice.diagnostics(hideSecrets(source, diagnostics));
    throw makeProfileError(path);
  }
  const locate = (at: DataPath) => nodeAt(root, at).span;
  const read = readProfile(readExactData(root), source, locate, { folder: dirname(resolve(path)) });
  if (read.profile === undefined) refuseOtherKind(source, 'profile');
  voice.diagnostics(hideSecrets(source, read.diagnostics));
  if (read.profile === undefined) throw makeProfileError(path);
  return read.profile;
}

/** Hides every line that contains a secret, and every message that quotes one; positions stay. */
function hideSecrets(source: SourceText, diagnostics: readonly Diagnostic[]): readonly Diagnostic[] {
  const atFault = new Set(
    diagnostics.flatMap((each) => (each.code === 'profile-secret' ? [placeDiagnostic(each).line] : [])),
  );
  const lines = source.text.split('\n');
  const shown = lines.map((line, index) => (atFault.has(index + 1) || looksSecret(line) ? hideText(line) : line));
  const text = shown.join('\n');
  return diagnostics.map((each) => ({
    ...each,
    source: { ...source, text },
    ...(looksSecret(each.message) ? { message: 'the value here looks like a secret; it is not shown' } : {}),
  }));
}

function hideText(line: string): string {
  return line.replace(/[^\r]/g, ' ');
}

function makeProfileError(path: string): UserError {
  return new UserError(`the profile ${makePrintable(path, 300)} cannot be used`, EXIT.usage, 'configuration');
}
