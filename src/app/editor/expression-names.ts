/** Reads the names in an expression: their places, and the types of the paths they begin. */
import type { ValueType } from '../../runbook/values.ts';

export interface NameToken {
  /** `entry.avg_price` of which the token is the last part. */
  readonly path: readonly string[];
  readonly name: string;
  readonly from: number;
  readonly to: number;
  /** Followed by an opening bracket. */
  readonly called: boolean;
}

/** Every name of an expression; texts in quotes have none. */
export function listNames(text: string): readonly NameToken[] {
  const bare = text.replace(/'(?:\\.|[^'\\])*'?|"(?:\\.|[^"\\])*"?/g, (quoted) => ' '.repeat(quoted.length));
  const found: NameToken[] = [];
  for (const match of bare.matchAll(/[A-Za-z_]\w*/g)) {
    const { index } = match;
    const [name] = match;
    // A digit before it makes it the unit of a literal: 30s, 3bps.
    if (/\d$/.test(bare.slice(0, index))) continue;
    const behind = bare.slice(index + name.length);
    const point = /(?:\?\s*)?\.\s*(?:\?\s*)?$/.exec(bare.slice(0, index));
    const before = point === null ? undefined : found.findLast((each) => each.to <= point.index);
    const joined = before !== undefined && bare.slice(before.to, point?.index).trim() === '' && !before.called;
    found.push({
      path: point === null ? [name] : joined ? [...before.path, name] : ['', name],
      name,
      from: index,
      to: index + name.length,
      called: /^\s*\(/.test(behind),
    });
  }
  return found;
}

/** The type of a path; undefined where it leads to nothing that is known. */
export function findType(names: ReadonlyMap<string, ValueType>, path: readonly string[]): ValueType | undefined {
  const [root = '', ...fields] = path;
  let type = names.get(root);
  for (const field of fields) {
    const record = type === undefined ? undefined : unwrap(type);
    type = record?.kind === 'record' && Object.hasOwn(record.fields, field) ? record.fields[field] : undefined;
  }
  return type;
}

export function unwrap(type: ValueType): ValueType {
  return type.kind === 'optional' ? type.of : type;
}

/** What is written after the name of a list or of a value that may be absent. */
export const METHODS: Readonly<Record<string, { readonly of: 'list' | 'optional'; readonly doc: string }>> = {
  orValue: { of: 'optional', doc: 'The value, or the one in brackets where it is absent.' },
  hasValue: { of: 'optional', doc: 'Whether the value is there; behind `if` it may then be used as it is.' },
  map: { of: 'list', doc: 'A list of an expression of each item: `orders.map(o, o.filled)`.' },
  filter: { of: 'list', doc: 'The items for which a condition holds: `orders.filter(o, o.open)`.' },
  exists: { of: 'list', doc: 'Whether a condition holds for an item.' },
  all: { of: 'list', doc: 'Whether a condition holds for all items.' },
};
