/**
 * The interface through which code without a terminal speaks to people: the command line implements it with the terminal, the
 * scheduler with its log, a program that uses this package as a library as it likes.
 */
import type { Diagnostic } from '../base/diagnostic.ts';

/** `this` is declared so that no method can be called without its object, which a terminal needs. */
export interface Voice {
  /** Something worth knowing; may be silenced. */
  note(this: object, text: string): void;
  /** Something wrong; never silenced. */
  complain(this: object, text: string): void;
  /** How far long work has come; each text replaces the one before. */
  progress(this: object, text: string): void;
  /** Findings in a file, in reading order. */
  diagnostics(this: object, list: readonly Diagnostic[]): void;
}

/** Says nothing. */
export const SILENT: Voice = { note() {}, complain() {}, progress() {}, diagnostics() {} };
