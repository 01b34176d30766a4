/** Turns schema errors of a test file into diagnostics with their position and the accepted values. */

import type { Diagnostic, SourceText, Span } from '../../../base/diagnostic.ts';
import { formatPlace, makePrintable } from '../../../base/printable.ts';
import { findSchemaIssues, listKeysAt, type SchemaIssue } from '../../../base/schema.ts';
import { hintMeant } from '../../../base/spelling.ts';
import { describeForm } from '../../../gateway/simulator/config/forms.ts';
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
      const known = listKeysAt(makeTestFileSchema(), path);
      const hint = hintMeant(suggestWord(key, known)) ?? `Its keys are ${known.join(', ')}.`;
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
        // Not a secret, even that of a simulated account.
        message: `${place} ${describePattern(path, String(params['pattern']))}${path.at(-1) === 'secret' ? '' : `, found ${describeNode(node)}`}`,
      };
    case 'minimum':
    case 'maximum':
      return { span, code: 'out-of-range', message: `${place} ${message}` };
    case 'minItems':
    case 'minProperties':
      return { span, code: 'missing-key', message: `${place} is empty` };
    case 'type':
      return { span, code: 'wrong-type', ...describeType(place, path, listTypes(params['type']), node) };
    default:
      return { span, code: 'wrong-type', message: `${place} ${message}` };
  }
}

/** What to write where people write a single value, by key. */
const FORMS: Readonly<Record<string, string>> = {
  position: 'a map of markets, such as {BTC-USD: 0}',
  outputs: 'a map of outputs, such as {filled: "0.001"}',
  error: 'a map, such as {kind: rejected}',
  requests_exactly: 'a map of requests, such as {POST /orders limit: 1}',
  at_least: 'a map of requests, such as {POST /orders limit: 1}',
  notified: 'a list of texts, such as [filled]',
  steps: 'a list of ids, such as [entry, exit]',
  requests: 'a list of requests, such as [POST /orders limit]',
  never: 'a list of requests, such as [PUT /orders]',
  orders: 'a list of orders, such as [{type: limit, state: closed}]',
  deadman: 'a list of words, such as [armed, disarmed]',
  venue: 'a list of rules, such as [{on: POST /orders, error: REFUSED}]',
  feeds: 'a map of feeds, such as {mid: 64000}',
  approvals: 'a map of steps, such as {ok: approve}',
};

const TYPES: Readonly<Record<string, string>> = {
  object: 'a map',
  array: 'a list',
  string: 'a text',
  number: 'a number',
  integer: 'a whole number',
  boolean: 'true or false',
  null: 'null',
};

function listTypes(given: unknown): readonly string[] {
  return (Array.isArray(given) ? given : [given]).map(String);
}

function describeType(
  place: string,
  path: Path,
  types: readonly string[],
  node: Node,
): Pick<Description, 'message' | 'hint'> {
  const key = String(path.at(-1));
  const found = describeNode(node);
  if (DURATION_KEYS.has(key) && types.join() === 'string' && node.kind === 'scalar')
    return { message: `${place} ${DURATION}, found ${found}`, hint: `Write it with a unit: ${found}s.` };
  const isCollection = types.length === 1 && ['object', 'array'].includes(types.join());
  const form = (isCollection ? FORMS[key] : undefined) ?? types.map((type) => TYPES[type] ?? type).join(' or ');
  const hint = types.join() === 'string' && node.kind === 'scalar' ? { hint: `Put it in quotes: "${found}".` } : {};
  return { message: `${place} must be ${form}; found ${found}`, ...hint };
}

function describeNode(node: Node): string {
  return node.kind === 'scalar' ? makePrintable(node.text, 80) : `a ${node.kind}`;
}

const DURATION_KEYS = new Set(['delay', 'after', 'age', 'down', 'elapsed', 'hold', 'over']);
const DURATION = 'is a duration such as 250ms, 30s or 1h30m';

function describePattern(path: Path, pattern: string): string {
  const last = String(path.at(-1));
  if (last === 'call') return 'is a number, or a range such as 1-2 or 3+';
  if (DURATION_KEYS.has(last)) return DURATION;
  return `must be ${describeForm(pattern)}`;
}

function findFirstKey(node: Node): Span {
  const first = node.kind === 'map' ? node.entries[0]?.span : undefined;
  return first ?? node.span;
}
