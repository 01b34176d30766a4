/** Writes the forms of a function for readers: for the reference, and beside a call in an editor. */
import type { FunctionRow, Shape, Signature } from './function-row.ts';
import { formatType } from './typing.ts';

/** A text for each signature, such as `tick(price: price, [market: market]) → price`; a parameter in brackets may be left out. */
export function formatSignatures(name: string, { signatures }: FunctionRow): readonly string[] {
  return signatures.map(({ parameters, result }) => {
    const taken = parameters.map((each) => {
      const shown = `${each.name}: ${nameShape(each.shape)}${each.rest === true ? ', …' : ''}`;
      return each.implied === true ? `[${shown}]` : shown;
    });
    return `${name}(${taken.join(', ')}) → ${nameResult(result)}`;
  });
}

function nameResult(result: Signature['result']): string {
  if (result.kind === 'same') return 'the same type';
  return result.kind === 'computed' ? result.words : formatType(result);
}

function nameShape(shape: Shape): string {
  switch (shape.kind) {
    case 'unit':
      return 'number of any unit';
    case 'ordered':
      return 'number, time or duration';
    case 'any':
      return 'anything';
    case 'zone':
      return 'time zone';
    case 'list_of':
      return `list<${nameShape(shape.of)}>`;
    case 'map_of':
      return `map<${nameShape(shape.of)}>`;
    default:
      return formatType(shape);
  }
}
