import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { findFirst, isSameJson, mapFields, toCanonicalJson } from '../../src/base/json.ts';

describe('canonical JSON', () => {
  it('ignores the order of keys and keys without a value', () => {
    expect(toCanonicalJson({ b: [1, undefined], a: { c: undefined } })).toBe('{"a":{},"b":[1,null]}');
  });

  it('is compared without being written', () => {
    const value = fc.jsonValue({ maxDepth: 4 });
    const sparse = fc.oneof(value, fc.constant(undefined));
    const holder = fc.oneof(value, fc.dictionary(fc.constantFrom('a', 'b', 'constructor'), sparse), fc.array(sparse));
    fc.assert(
      fc.property(holder, holder, (left, right) => {
        expect(isSameJson(left, right)).toBe(toCanonicalJson(left) === toCanonicalJson(right));
        expect(isSameJson(left, structuredClone(left))).toBe(true);
      }),
    );
  });
});

describe('a record whose fields are changed', () => {
  it('has the same keys in the same order, also one that is named as the prototype', () => {
    const record = JSON.parse('{"b":1,"__proto__":2,"a":3}') as Record<string, number>;
    const changed = mapFields(record, (value, key) => `${key}${value}`);
    expect(Object.entries(changed)).toEqual([
      ['b', 'b1'],
      ['__proto__', '__proto__2'],
      ['a', 'a3'],
    ]);
    expect(Object.getPrototypeOf(changed)).toBe(Object.prototype);
  });
});

it('finds where a condition begins to hold', () => {
  fc.assert(
    fc.property(fc.nat(200), fc.nat(200), (count, from) => {
      expect(findFirst(count, (position) => position >= from)).toBe(Math.min(count, from));
    }),
  );
});
