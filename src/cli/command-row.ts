/**
 * The form of a row of the command table, from which `--help`, argument checking, completion, the reference and the types of what
 * a command is given are made. A row is data alone: `implementations.ts` has what it does.
 */

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

export type Options = Readonly<Record<string, OptionRow>>;

interface Row {
  /** Half a sentence, for the list of commands. */
  readonly summary: string;
  readonly arguments: Readonly<Record<string, ArgumentRow>>;
  readonly options: Options;
  /** An example call, without `runbook`. */
  readonly example: string;
}

/** Rows by their names, as typed; `audit list` is the command `list` of the group `audit`. */
export type CommandTable = Readonly<Record<string, Row>>;

export interface CommandRow extends Row {
  readonly name: string;
}

type CamelCase<N extends string> = N extends `${infer A}-${infer B}` ? `${A}${Capitalize<CamelCase<B>>}` : N;

type Word<R> = R extends { takes: infer T extends readonly string[] } ? T[number] : string;

type GivenArguments<A> = {
  readonly [K in keyof A]: A[K] extends { many: true }
    ? readonly string[]
    : A[K] extends { optional: true }
      ? Word<A[K]> | undefined
      : Word<A[K]>;
};
type GivenOptions<O> = {
  readonly [K in keyof O as CamelCase<K & string>]: O[K] extends { value: string }
    ? O[K] extends { many: true }
      ? readonly string[]
      : O[K] extends { required: true }
        ? Word<O[K]>
        : Word<O[K]> | undefined
    : boolean;
};

/** The arguments and options of a row as a command gets them: flags that were not given are false, lists are empty. */
export type GivenFor<R extends Row> = GivenArguments<R['arguments']> & GivenOptions<R['options']>;
