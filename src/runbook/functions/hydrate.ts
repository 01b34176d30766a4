/** Turns the JSON of a record (decimals as strings, instants as µs) into a value of the language, by its type. */
import { decimal } from '../../base/decimal.ts';
import { Time, type Value, type ValueType } from '../values.ts';

/** Leaves out fields that the type does not name. Throws on JSON that venue/wire/answer.ts would have refused. */
export function hydrate(type: ValueType, json: unknown): Value {
  switch (type.kind) {
    case 'optional':
      return json === undefined || json === null ? undefined : hydrate(type.of, json);
    case 'decimal':
      return decimal(json as string | number);
    case 'time':
      return new Time(json as number);
    case 'boolean':
    case 'text':
      return json as boolean | string;
    case 'list':
      return (json as readonly unknown[]).map((each) => hydrate(type.of, each));
    case 'map':
      return new Map(Object.entries(json as object).map(([key, each]) => [key, hydrate(type.of, each)]));
    case 'record': {
      const record = json as Readonly<Record<string, unknown>>;
      const fields: Record<string, Value> = Object.create(null);
      for (const [name, of] of Object.entries(type.fields)) {
        if (record[name] !== undefined) fields[name] = hydrate(of, record[name]);
      }
      return fields;
    }
    case 'duration':
      throw new TypeError('no record has a duration');
    default:
      return type satisfies never;
  }
}
