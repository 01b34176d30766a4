/**
 * The form of a row of the verb table: what `--help`, argument checking, completion and the reference are read from. Types
 * of a row's arguments and options follow from the row itself.
 */

import type { ExitCode } from '../app/errors.ts';
import type { Invocation } from './invocation.ts';

/** What stands on the command line, for completion: a file, a folder, one of some words, or anything. */
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
  /** How its value is called in help: `FILE`, `k=v`. */
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
  /** As typed; `audit list` is the verb `list` of the group `audit`. */
  readonly name: string;
  /** Half a sentence, for the list of verbs. */
  readonly summary: string;
  readonly arguments: A;
  readonly options: O;
  /** A call as one would type it, without `runbook`. */
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
