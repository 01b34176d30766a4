/** Places of a text as an editor counts them: lines and UTF-16 columns from 0. */
import { type Diagnostic, type PlacedDiagnostic, placeDiagnostic, type Span } from '../../base/diagnostic.ts';

export interface Position {
  readonly line: number;
  readonly character: number;
}

export interface Range {
  readonly start: Position;
  readonly end: Position;
}

/** The beginnings of a text's lines. */
export class Lines {
  private readonly starts: readonly number[];
  private readonly text: string;

  constructor(text: string) {
    this.text = text;
    const starts = [0];
    for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) starts.push(at + 1);
    this.starts = starts;
  }

  /** A place beyond the end of a line or of the text counts as that end. */
  toOffset({ line, character }: Position): number {
    const start = this.starts[line];
    if (start === undefined) return this.text.length;
    const next = this.starts[line + 1];
    return Math.min(start + character, next === undefined ? this.text.length : next - 1);
  }

  toPosition(offset: number): Position {
    const at = Math.max(0, Math.min(offset, this.text.length));
    let low = 0;
    for (let high = this.starts.length - 1; low < high; ) {
      const middle = Math.ceil((low + high) / 2);
      if ((this.starts[middle] ?? 0) <= at) low = middle;
      else high = middle - 1;
    }
    return { line: low, character: at - (this.starts[low] ?? 0) };
  }

  toRange({ start, end }: Span): Range {
    return { start: this.toPosition(start), end: this.toPosition(Math.max(start, end)) };
  }
}

/** The range of a diagnostic, the same as `validate --json` has it, counted from 0. */
export function toEditorRange(diagnostic: Diagnostic | PlacedDiagnostic): Range {
  const { line, column, endLine, endColumn } = 'line' in diagnostic ? diagnostic : placeDiagnostic(diagnostic);
  return {
    start: { line: line - 1, character: column - 1 },
    end: { line: endLine - 1, character: endColumn - 1 },
  };
}
