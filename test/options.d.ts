/** Declares test/options.js, which plain programs import too. */
export interface Option {
  readonly kind: 'whole' | 'number' | 'text' | 'flag';
  readonly means: string;
}

type Options = Readonly<Record<string, Option>>;
type Value<O extends Option> = O['kind'] extends 'flag' ? boolean : O['kind'] extends 'text' ? string : number;

export interface Read<O extends Options> {
  readonly values: { readonly [N in keyof O]?: Value<O[N]> };
  readonly rest: readonly string[];
}

export function readOptions<const O extends Options>(usage: string, options: O, takesWords?: boolean): Read<O>;
export function parseWords<const O extends Options>(
  usage: string,
  options: O,
  takesWords: boolean,
  words: readonly string[],
): Read<O> | { readonly exit: number; readonly said: string };
