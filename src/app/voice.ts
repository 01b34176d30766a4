/**
 * The interface through which code without a terminal speaks to people: the command line implements it with the terminal, the
 * scheduler with its log, a program that uses this package as a library as it likes.
 */
import type { Diagnostic } from '../base/diagnostic.ts';

export interface Voice {
  /** Something worth knowing; may be silenced. */
  note(text: string): void;
  /** Something wrong; never silenced. */
  complain(text: string): void;
  /** How far long work has come; each text replaces the one before. */
  progress(text: string): void;
  /** Findings in a file, in reading order. */
  diagnostics(list: readonly Diagnostic[]): void;
}

/** Says nothing. */
export const SILENT: Voice = { note() {}, complain() {}, progress() {}, diagnostics() {} };
