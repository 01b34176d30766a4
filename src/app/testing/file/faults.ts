/** Turns schema errors of a test file into diagnostics with their position and the accepted values. */
import type { Diagnostic, SourceText, Span } from '../../../base/diagnostic.ts';
import { formatPlace, makePrintable } from '../../../base/printable.ts';
import { findSchemaIssues, type SchemaIssue } from '../../../base/schema.ts';
import { type CheckCode, makeFinding } from '../../../runbook/codes/codes.ts';
import { type Node, nodeAt, plainData } from '../../../runbook/document/document.ts';
import { suggestWord } from '../../../runbook/foreign-words.ts';
import { makeTestFileSchema, TEST_FILE_SCHEMA_NAME } from './schema.ts';

type Path = SchemaIssue['path'];

export function findSchemaErrors(root: Node, source: SourceText): readonly Diagnostic[] {
  const found = new Map<string, Diagnostic>();
  for (const issue of findSchemaIssues(TEST_FILE_SCHEMA_NAME, makeTestFileSchema, plainData(root))) {
    const { span, code, message, hint } = describe(root, issue);
    found.set(`${span.start} ${message}`, makeFinding(source, span, code, message, hint));
  }
  return [...found.values()];
}

interface Description {
  readonly span: Span;
  readonly code: CheckCode;
  readonly message: string;
  readonly hint?: string | undefined;
}

function describe(root: Node, { path, keyword, params, message }: SchemaIssue): Description {
  const { node, span } = nodeAt(root, path);
  const place = formatPlace(path, 'a test file');
  switch (keyword) {
    case 'additionalProperties': {
      const key = String(params['additionalProperty']);
      const keySpan = node.kind === 'map' ? node.entry(key)?.keySpan : undefined;
      const known = listKeysAt(path);
      const meant = suggestWord(key, known);
      const hint = meant === undefined ? `Its keys are ${known.join(', ')}.` : `Did you mean ${meant}?`;
      return {
        span: keySpan ?? span,
        code: 'unknown-key',
        message: `${place} has no key "${makePrintable(key, 60)}"`,
        hint,
      };
    }
    case 'required':
      return {
        span: findFirstKey(node),
        code: 'missing-key',
        message: `${place} needs the key ${String(params['missingProperty'])}`,
      };
    case 'enum': {
      const values = params['allowedValues'] as readonly unknown[];
      const found = node.kind === 'scalar' ? node.text : '';
      const meant = suggestWord(
        found,
        values.filter((each): each is string => typeof each === 'string'),
      );
      return {
        span,
        code: 'unknown-word',
        message: `${place} must be one of ${values.join(', ')}; found ${makePrintable(found, 80)}`,
        ...(meant === undefined ? {} : { hint: `Did you mean ${meant}?` }),
      };
    }
    case 'pattern':
      return {
        span,
        code: 'invalid-text',
        message: `${place} ${describePattern(path)}, found ${node.kind === 'scalar' ? makePrintable(node.text, 80) : node.kind}`,
      };
    case 'minimum':
    case 'maximum':
      return { span, code: 'out-of-range', message: `${place} ${message}` };
    case 'minItems':
    case 'minProperties':
      return { span, code: 'missing-key', message: `${place} is empty` };
    default: {
      const quoted = keyword === 'type' && params['type'] === 'string' && node.kind === 'scalar';
      const hint = quoted ? { hint: `Put it in quotes: "${makePrintable(node.text, 80)}".` } : {};
      return { span, code: 'wrong-type', message: `${place} ${message}`, ...hint };
    }
  }
}

const DURATION_KEYS = new Set(['delay', 'after', 'age', 'down']);

function describePattern(path: Path): string {
  const last = String(path.at(-1));
  if (last === 'call') return 'is a number, or a range such as 1-2 or 3+';
  return DURATION_KEYS.has(last) ? 'is a duration such as 250ms, 30s or 1h30m' : 'does not have the required form';
}

function findFirstKey(node: Node): Span {
  const first = node.kind === 'map' ? node.entries[0]?.span : undefined;
  return first ?? node.span;
}

/** The keys that are allowed at a path, according to the schema. */
function listKeysAt(path: Path): readonly string[] {
  let at = resolvePart(makeTestFileSchema());
  for (const part of path)
    at = resolvePart(typeof part === 'number' ? at.items : (at.properties?.[part] ?? at.additionalProperties));
  return Object.keys(at.properties ?? {});
}

interface Part {
  readonly $ref?: string;
  readonly $defs?: Readonly<Record<string, unknown>>;
  readonly properties?: Readonly<Record<string, unknown>>;
  readonly items?: unknown;
  readonly additionalProperties?: unknown;
}

/** A part of the schema, with a reference resolved. */
function resolvePart(part: unknown): Part {
  const given = (part ?? {}) as Part;
  if (given.$ref === undefined) return given;
  const { $defs = {} } = makeTestFileSchema() as Part;
  return ($defs[given.$ref.replace('#/$defs/', '')] ?? {}) as Part;
}
