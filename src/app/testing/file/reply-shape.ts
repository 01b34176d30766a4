/**
 * Templates of the venue's records, every field with a plain value. They define the fields a test file may give in a reply, how
 * each is written on the wire, and the defaults of missing ones.
 */
import type { Diagnostic, SourceText, Span } from '../../../base/diagnostic.ts';
import { pluralize } from '../../../base/format.ts';
import { makePrintable } from '../../../base/printable.ts';
import { hintMeant, suggestSpelling } from '../../../base/spelling.ts';
import { exactJsonText, toExactNumber } from '../../../gateway/fixture/exact-json.ts';
import { makeFinding } from '../../../runbook/codes/codes.ts';
import { type MapNode, type Node, readExactData } from '../../../runbook/document/document.ts';
import { suggestWord } from '../../../runbook/foreign-words.ts';
import { type EndpointName, getEndpoint, type RecordName } from '../../../venue/catalogue.ts';
import { readMarketOfId } from '../../../venue/forms.ts';
import { SIMULATED_PROFILE } from '../../../venue/profile/profile.ts';
import {
  type DeadmanRecord,
  type FieldRule,
  makeRecord,
  RECORD_FIELDS,
  type VenueRecord,
} from '../../../venue/records.ts';
import { readAnswer } from '../../../venue/wire/answer.ts';
import type { Reply } from './test-case.ts';

export type ShapeName = RecordName | 'deadman';
type Fields = Readonly<Record<string, unknown>>;

/** The account of every scripted record, and of the simulated venue. */
const PROFILE_ID = 88892;
const ORDER = {
  id: 'BTC-USD@1',
  market_id: 'BTC-USD',
  profile_id: PROFILE_ID,
  time_in_force: 'good_till_cancel',
} as const;

const TEMPLATES: { readonly [N in RecordName]: VenueRecord<N> } & { readonly deadman: Required<DeadmanRecord> } = {
  account: makeRecord('account', {
    id: PROFILE_ID,
    status: 'active',
    profile_type: 'trader',
    wallet: '0x51mu1a7ed',
    balance: '18234.10',
    withdrawable_balance: '18234.10',
    account_equity: '18234.10',
    health: '1',
  }),
  order: makeRecord('order', { ...ORDER, order_type: 'limit', status: 'open' }),
  placement: makeRecord('placement', { ...ORDER, type: 'limit', status: 'processing' }),
  cancel: { id: 'BTC-USD@1', market_id: 'BTC-USD', profile_id: PROFILE_ID, status: 'canceling' },
  amend: { id: 'BTC-USD@1', market_id: 'BTC-USD', price: '0', profile_id: PROFILE_ID, size: '0', status: 'amending' },
  fill: makeRecord('fill', {
    id: 'BTC-USD-1',
    trade_id: 'BTC-USD-1',
    order_id: 'BTC-USD@1',
    market_id: 'BTC-USD',
    profile_id: PROFILE_ID,
  }),
  tier: {
    tier_status: {
      current: { tier: 0, title: 'Standard', min_volume: '0' },
      next: { tier: 1, title: 'VIP 1', min_volume: '1000000' },
      needed_volume: '1000000',
    },
  },
  deadman: { market_id: 'BTC-USD', profile_id: PROFILE_ID, timeout: 60_000, last_updated: 0, status: 'active' },
};

/** The record type of an endpoint's answer; undefined for an answer without records. */
function chooseShape(name: EndpointName): ShapeName | undefined {
  const { answer } = getEndpoint(name);
  if (answer.shape === 'list') return answer.of;
  return answer.shape === 'deadman' ? 'deadman' : undefined;
}

/** A complete record: the given fields over the known ones over the template. The market follows from an order id. */
export function completeRecord<N extends ShapeName>(
  shape: N,
  given: Fields,
  known: Fields = {},
): (typeof TEMPLATES)[N] {
  const market = ['id', 'order_id'].map((key) => given[key] ?? known[key]).find((id) => typeof id === 'string');
  const home = typeof market === 'string' ? readMarketOfId(market) : undefined;
  return {
    ...TEMPLATES[shape],
    ...(home === undefined ? {} : { market_id: home }),
    ...known,
    ...given,
  } as (typeof TEMPLATES)[N];
}

export type ReplyCheck = 'strict' | 'present' | 'off';

/** Reads `reply:` of a rule, and reports fields that the endpoint cannot answer with. */
export function readReply(
  name: EndpointName,
  node: Node,
  check: ReplyCheck,
  source: SourceText,
): { readonly reply: Reply | undefined; readonly diagnostics: readonly Diagnostic[] } {
  const shape = chooseShape(name);
  const nothing = { reply: undefined, diagnostics: [] };
  if (check === 'off')
    return { reply: { kind: 'result', result: readExactData(node, toExactNumber) }, diagnostics: [] };
  if (shape === undefined) {
    const jwt = getEndpoint(name).answer.shape === 'jwt';
    return {
      reply: {
        kind: 'result',
        result: jwt && node.kind === 'scalar' ? [node.text] : readExactData(node, toExactNumber),
      },
      diagnostics: [],
    };
  }
  // `{}`, `[]` and null say that the switch is not active.
  if (name === 'GET /cancel_all_after' && isEmpty(node))
    return { reply: { kind: 'result', result: {} }, diagnostics: [] };
  const items = node.kind === 'list' ? node.items : [node];
  const { answer } = getEndpoint(name);
  const wrong = (span: Span, message: string) => ({
    ...nothing,
    diagnostics: [makeFinding(source, span, 'wrong-type', message)],
  });
  if (!(answer.shape === 'list' && !answer.one) && items.length !== 1)
    return wrong(node.span, `${name} answers with one record, found ${items.length}`);
  const odd = items.find((item) => item.kind !== 'map');
  if (odd !== undefined) return wrong(odd.span, `a record of ${name} is a map of its fields`);
  const records = items as readonly MapNode[];
  const diagnostics = records.flatMap((record) => checkRecord(name, shape, record, check, source));
  return { reply: { kind: 'records', records: records.map((record) => readFields(shape, record)) }, diagnostics };
}

/** Reports errors in a record outside of a rule, such as the account. */
export function checkRecord(
  name: EndpointName,
  shape: ShapeName,
  record: MapNode,
  check: ReplyCheck,
  source: SourceText,
): readonly Diagnostic[] {
  const fields = Object.keys(TEMPLATES[shape]);
  const unknown = record.entries.filter(({ key }) => !fields.includes(key));
  if (unknown.length > 0) {
    return unknown.map(({ key, keySpan }) => {
      const hint = hintMeant(suggestSpelling(key, fields)) ?? `Its fields are ${fields.join(', ')}.`;
      return makeFinding(source, keySpan, 'unknown-key', `a record of ${name} has no field "${key}"`, hint);
    });
  }
  const missing = check === 'strict' ? fields.filter((field) => record.get(field) === undefined) : [];
  if (missing.length > 0) {
    const message = `replies: strict requires every field of the record; ${missing.join(', ')} ${pluralize(missing.length, 'is', 'are')} missing`;
    return [
      makeFinding(
        source,
        record.span,
        'missing-key',
        message,
        'Add them, or have them filled in with replies: present.',
      ),
    ];
  }
  return checkFields(name, shape, record, check, source);
}

/** Checks each field alone in an otherwise plain record, as the client would read it, so that an error has a position. */
function checkFields(
  name: EndpointName,
  shape: ShapeName,
  record: MapNode,
  check: ReplyCheck,
  source: SourceText,
): readonly Diagnostic[] {
  return record.entries.flatMap(({ key, value, span }) => {
    const given = { [key]: readField(TEMPLATES[shape], key, value) };
    const home = findMarket(given);
    const order = home === undefined || key === 'id' ? {} : { id: shape === 'fill' ? `${home}-1` : `${home}@1` };
    const whole =
      'id' in TEMPLATES[shape] && shape !== 'account'
        ? completeRecord(shape, { ...order, ...given }, {})
        : completeRecord(shape, given);
    const result = getEndpoint(name).answer.shape === 'list' ? [whole] : whole;
    const verdict = readAnswer(name, { status: 200, headers: {}, body: formatEnvelope(result) }, SIMULATED_PROFILE);
    if (verdict.kind === 'unreadable')
      return [makeFinding(source, span, 'wrong-type', `${name} cannot answer with this: ${verdict.why}`)];
    const unknown = findUnknownWord(name, shape, key, value);
    if (unknown !== undefined) return [makeFinding(source, value.span, 'unknown-word', unknown.message, unknown.hint)];
    const notes = check === 'strict' && verdict.kind === 'confirmed' ? verdict.notes : [];
    return notes.map((note) =>
      makeFinding(
        source,
        span,
        'unknown-word',
        `${name}: ${note}`,
        'Use replies: present for a value in another form than the document has.',
      ),
    );
  });
}

/** A word that the document does not name is more often misspelt than meant; the run would take it for an unknown state. */
function findUnknownWord(
  name: EndpointName,
  shape: ShapeName,
  key: string,
  value: Node,
): { readonly message: string; readonly hint: string } | undefined {
  const rules: Readonly<Record<string, FieldRule>> = shape === 'deadman' ? {} : RECORD_FIELDS[shape];
  const rule = Object.hasOwn(rules, key) ? rules[key] : undefined;
  if (rule?.as !== 'text' || rule.known === undefined || value.kind !== 'scalar' || rule.known.includes(value.text))
    return undefined;
  return {
    message: `${name}: ${key} is one of ${rule.known.join(', ')}; found ${makePrintable(value.text, 60)}`,
    hint: hintMeant(suggestWord(value.text, rule.known)) ?? 'With replies: off a whole record is sent as written.',
  };
}

function findMarket(given: Fields): string | undefined {
  const { market_id: market, order_id: order } = given;
  if (typeof market === 'string') return market;
  return typeof order === 'string' ? readMarketOfId(order) : undefined;
}

export function formatEnvelope(result: unknown, error = ''): string {
  return exactJsonText({ success: error === '', error, result });
}

function isEmpty(node: Node): boolean {
  if (node.kind === 'map') return node.entries.length === 0;
  if (node.kind === 'list') return node.items.length === 0;
  return node.type === 'null';
}

/** The fields of a record in wire form: a decimal becomes a text, however it is written. */
export function readFields(shape: ShapeName, record: MapNode): Readonly<Record<string, unknown>> {
  return Object.fromEntries(record.entries.map(({ key, value }) => [key, readField(TEMPLATES[shape], key, value)]));
}

function readField(template: unknown, key: string, node: Node): unknown {
  const like =
    typeof template === 'object' && template !== null && Object.hasOwn(template, key) ? (template as Fields)[key] : '';
  return readValueLike(like, node);
}

function readValueLike(like: unknown, node: Node): unknown {
  switch (node.kind) {
    case 'list':
      return node.items.map((item) => readValueLike('', item));
    case 'map':
      return Object.fromEntries(node.entries.map(({ key, value }) => [key, readField(like, key, value)]));
    case 'scalar':
      if (node.type === 'null') return null;
      if (typeof like === 'number' && /^-?\d{1,15}$/.test(node.text)) return Number(node.text);
      if (typeof like === 'boolean' && node.type === 'boolean') return node.text === 'true';
      return node.text;
    default:
      return node satisfies never;
  }
}
