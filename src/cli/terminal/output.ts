/** What a command says and answers: a voice that also gives results. The terminal is one. */
import type { Voice } from '../../app/voice.ts';

export type Style = 'strong' | 'faint' | 'good' | 'bad' | 'warning' | 'place';

export interface Output extends Voice {
  readonly json: boolean;
  readonly quiet: boolean;
  /** Takes the shown progress away. */
  endProgress(): void;
  /** The result of a command: `document` with `--json`, else what `human` says, unless that is nothing. */
  answer(document: object, human: () => string): void;
  /** Lines on standard output; nothing with `--json`. */
  print(text: string): void;
  /** From now on, whatever is written passes through `filter` first: it takes the secrets of an account out. */
  redactWith(filter: (text: string) => string): void;
  style(style: Style, text: string, stream?: 'out' | 'err'): string;
}

export interface TextStream {
  write(text: string): unknown;
  readonly isTTY?: boolean;
  readonly columns?: number;
}
