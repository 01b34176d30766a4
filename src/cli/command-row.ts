/**
 * The form of a row of the command table, from which `--help`, argument checking, completion and the reference are made. The
 * types of a row's arguments and options follow from the row itself.
 */

import type { ExitCode } from '../app/errors.ts';
import type { Invocation } from './invocation.ts';

/** The kind of a value, for completion: a file, a folder, one of some words, or any text. */
export type Takes = 'file' | 'directory' | 'text' | readonly string[];

export interface ArgumentRow {
  readonly doc: string;
  readonly takes: Takes;
  readonly many?: true;
  readonly optional?: true;
}

/** Without `value` it is a flag. */
export interface OptionRow {
  readonly doc: string;
  /** Placeholder of its value in help: `FILE`, `k=v`. */
  readonly value?: string;
  readonly takes?: Takes;
  /** May be given several times. */
  readonly many?: true;
  readonly required?: true;
}

type Arguments = Readonly<Record<string, ArgumentRow>>;
export type Options = Readonly<Record<string, OptionRow>>;

type ArgumentsGiven<A extends Arguments> = {
  readonly [K in keyof A]: A[K] extends { many: true }
    ? readonly string[]
    : A[K] extends { optional: true }
      ? string | undefined
      : string;
};
type OptionsGiven<O extends Options> = {
  readonly [K in keyof O]: O[K] extends { value: string }
    ? O[K] extends { many: true }
      ? readonly string[]
      : O[K] extends { required: true }
        ? string
        : string | undefined
    : boolean;
};

interface Row<A, O> {
  /** As typed; `audit list` is the command `list` of the group `audit`. */
  readonly name: string;
  /** Half a sentence, for the list of commands. */
  readonly summary: string;
  readonly arguments: A;
  readonly options: O;
  /** An example call, without `runbook`. */
  readonly example: string;
}

export interface CommandRow extends Row<Arguments, Options> {
  run(args: ArgumentsGiven<Arguments>, options: OptionsGiven<Options>, invocation: Invocation): Promise<ExitCode>;
}

/** A row whose `run` sees exactly the arguments and options it declares. */
export function command<const A extends Arguments, const O extends Options>(
  row: Row<A, O> & {
    run(args: ArgumentsGiven<A>, options: OptionsGiven<O>, invocation: Invocation): Promise<ExitCode>;
  },
): CommandRow {
  return row as unknown as CommandRow;
}
