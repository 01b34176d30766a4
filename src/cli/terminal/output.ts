/** The interface for a command's output: a voice that also prints results. Implemented by the terminal. */
import type { Voice } from '../../app/voice.ts';

export type Style = 'strong' | 'faint' | 'good' | 'bad' | 'warning' | 'place';

export interface Output extends Voice {
  readonly json: boolean;
  readonly quiet: boolean;
  /** Removes the line of progress. */
  endProgress(): void;
  /**
   * Until the returned function is called, a person types: no line of progress is shown, and any other line comes above what was
   * typed, which `redraw` shows again.
   */
  holdForInput(redraw: () => void): () => void;
  /** The result of a command: `document` with `--json`, else the text of `human`, unless it is empty. */
  answer(document: object, human: () => string): void;
  /** The same of a document, or of lines, too long to be in memory: as pieces of its JSON, or of the text. */
  answerInPieces(document: AsyncIterable<string>, human?: AsyncIterable<string>): Promise<void>;
  /** Lines on standard output; nothing with `--json`. */
  print(text: string): void;
  /** From now on all output passes through `filter`, which redacts the secrets of an account. */
  redactWith(filter: (text: string) => string): void;
  style(style: Style, text: string, stream?: 'out' | 'err'): string;
}

export interface TextStream {
  /** False where `done` is called once it has taken the text. */
  write(text: string, done?: () => void): unknown;
  /** False once it takes nothing any more. */
  readonly writable?: boolean;
  readonly isTTY?: boolean;
  readonly columns?: number;
  /** How much of what was written it has not taken yet. */
  readonly writableLength?: number;
}
