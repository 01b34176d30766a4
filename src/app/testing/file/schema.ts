/**
 * The JSON Schema of a test file (testing.md, What a case says), for editors and for reading. It checks structure; whether a
 * request, a time or a reply makes sense is checked when the file is read.
 */
import { DURATION_PATTERN } from '../../../base/duration.ts';
import { SIMULATOR_SCHEMA } from '../../../gateway/simulator/config/schema.ts';
import { ERROR_KINDS } from '../../../runbook/checked.ts';
import { ENDPOINT_NAMES } from '../../../venue/catalogue.ts';
import { ORDER_TYPES } from '../../../venue/records.ts';

export const TEST_FILE_SCHEMA_NAME = 'runbook-test';

/** Every name of a request: an endpoint, and POST /orders with a type of order. */
export const REQUEST_NAMES: readonly string[] = ENDPOINT_NAMES.flatMap((name) =>
  name === 'POST /orders' ? [name, ...ORDER_TYPES.map((type) => `${name} ${type}`)] : [name],
);

const request = (description: string) => ({ enum: [...REQUEST_NAMES], description });
const duration = (description: string) => ({ type: 'string', pattern: DURATION_PATTERN, description });
const text = (description: string) => ({ type: 'string', description });
const scalar = (description: string) => ({ type: ['string', 'number', 'boolean'], description });
const anything = (description: string) => ({ description });
const map = (of: object, description: string) => ({ type: 'object', additionalProperties: of, description });
const list = (of: object, description: string) => ({ type: 'array', items: of, description });
const object = (properties: object, rules: object = {}) => ({
  type: 'object',
  additionalProperties: false,
  properties,
  ...rules,
});

const fraction = (description: string) => ({
  type: ['number', 'string'],
  pattern: '^(1|0?\\.[0-9]{1,6})$',
  exclusiveMinimum: 0,
  maximum: 1,
  description,
});

const call = {
  type: ['integer', 'string'],
  minimum: 1,
  pattern: '^[1-9][0-9]{0,5}(\\+|-[1-9][0-9]{0,5})?$',
  description: 'which of the requests that match: 2, 1-2 or 3+; counted from 1, all when absent',
};

const rule = object(
  {
    on: request('the request it answers'),
    match: map(scalar('its value; a decimal is compared by value'), 'parameters the request must have'),
    call,
    reply: {
      type: ['object', 'array', 'string', 'null'],
      description:
        'the record, or a list of records; missing fields are filled in from the request and earlier replies',
    },
    http: { type: 'integer', minimum: 200, maximum: 599, description: 'status of the answer' },
    headers: map({ type: ['string', 'number'] }, 'headers of the answer'),
    error: text('refused with this text'),
    lost: {
      enum: ['before', 'after'],
      description: 'no answer arrives; `after`: the request is still executed',
    },
    delay: duration('delay of the answer'),
    malformed: {
      type: ['boolean', 'string'],
      description: 'an unreadable body: this text, or the real one cut off',
    },
    fills: object(
      { before: fraction('as the request is sent'), after: fraction('just before it is answered') },
      {
        minProperties: 1,
        description: 'what rests of the run fills by this fraction of what remains, at its own price',
      },
    ),
    jump: map(scalar('the price'), 'the price of a market from this request on, whatever its path says'),
  },
  { required: ['on'] },
);

const feedPoints = list(
  object(
    {
      after: duration('since the start of the run'),
      value: {
        type: ['string', 'number', 'null'],
        description: 'the value from this time; null: the feed cannot be read',
      },
      age: duration('age of the value when it is read'),
    },
    { required: ['value'] },
  ),
  'values in sequence',
);

const crash = {
  type: ['object', 'array'],
  description: 'the process dies at a request and is started again',
  additionalProperties: false,
  properties: {
    before: request('it dies before this request is sent'),
    after: request('it dies after this request was sent'),
    call: { type: 'integer', minimum: 1, description: 'which of these requests, the first when absent' },
    answer: { enum: ['lost', 'kept'], description: 'whether the answer was journaled before; lost when absent' },
    down: duration('how long no process runs; 1s when absent'),
  },
};

const counts = (description: string) => ({
  type: 'object',
  description,
  additionalProperties: false,
  properties: Object.fromEntries(REQUEST_NAMES.map((name) => [name, { type: 'integer', minimum: 0 }])),
});

const expect = object(
  {
    outcome: { enum: ['succeeded', 'failed', 'stopped', 'halted'] },
    sound: { const: true, description: 'the run is sound, as `--explore` asks it of every story' },
    reason: text('the word of `stop`, or a part of the message of a failure'),
    error: object({
      kind: { enum: [...ERROR_KINDS], description: 'kind of the error' },
      message: text('a part of the message'),
      step: text('id or path of the failed step'),
    }),
    steps: list(text('an id; `id*`: once or more in a row'), 'ids of the steps that ran, in the order they began'),
    requests: list(
      text('such as `POST /orders limit`, or `PUT /orders x3`'),
      'the writes in the order they were sent. Reads, the deadman switch and the session are compared only where the list names their endpoint',
    ),
    requests_exactly: counts('how often each was sent'),
    at_least: counts('minimum number of times each was sent'),
    never: list(request('a request'), 'requests that must not be sent'),
    outputs: map(anything('the value; a decimal is compared by value, null: absent'), 'outputs; others are ignored'),
    orders: list(
      object(
        Object.fromEntries(
          [
            'market',
            'side',
            'type',
            'price',
            'size',
            'filled',
            'average_price',
            'state',
            'order_id',
            'client_order_id',
          ].map((name) => [name, scalar(`its ${name.replaceAll('_', ' ')}`)]),
        ),
        { minProperties: 1 },
      ),
      'orders of the run that have these fields, in the order they were placed; there may be others between them',
    ),
    notified: list(
      {
        type: ['string', 'object'],
        additionalProperties: false,
        properties: { to: text('the channel'), text: text('a part of the text') },
      },
      'parts of texts that were sent',
    ),
    elapsed: text('virtual time the run took: `4s`, `>= 4s`, `>= 4s, < 1m`'),
    tokens: { type: ['string', 'integer'], description: 'tokens used: 120, `<= 400`' },
    position: map(
      { type: ['string', 'number'], description: 'net size: 0, `> 0`, `>= -1, < 1`' },
      'net size of the fills of the run by market, base currency, long positive',
    ),
    ...Object.fromEntries(
      [
        ['realized', 'realised PnL'],
        ['unrealized', 'unrealised PnL at the last price that the run read'],
        ['fees', 'fees, negative where they were rebates'],
        ['net', 'realised and unrealised PnL, less fees'],
        ['slippage', 'slippage, positive where fills were worse than the price at decision'],
      ].map(([name, meaning]) => [
        name,
        { type: ['string', 'number'], description: `${meaning}, over all markets: \`> 10\`, \`>= -5, < 5\`` },
      ]),
    ),
    deadman: list(
      text('armed, renewed, disarmed or assumed_fired; `renewed*`: once or more'),
      'what happened to the deadman switch; renewals are compared only where the list names them',
    ),
  },
  { minProperties: 1 },
);

/** Settings of a case, and of `defaults` for all cases. */
const settings = {
  inputs: map(anything('the value'), 'inputs of the run'),
  clock: text('when the run starts, ISO 8601 with its offset'),
  seed: { type: 'integer', minimum: 0, description: 'seed of the simulated venue' },
  simulator: makeSimulatorPart(),
  venue: list(rule, 'rules; the first match answers'),
  venue_default: {
    enum: ['simulated', 'none'],
    description: 'what answers requests without a matching rule; `none`: the case fails',
  },
  replies: {
    enum: ['strict', 'present', 'off'],
    description:
      'how replies are checked: every field is required; the given fields must fit; not at all, sent as written',
  },
  account: { type: ['object', 'string'], description: 'fields of the account record, or a file that contains one' },
  feeds: map(
    {
      type: ['string', 'number', 'array', 'object'],
      items: feedPoints.items,
      additionalProperties: { type: ['string', 'number', 'array'], items: feedPoints.items },
    },
    'feeds: a value, values in sequence, or either by market',
  ),
  approvals: map(
    {
      type: ['string', 'object'],
      additionalProperties: false,
      properties: { answer: { enum: ['approve', 'reject'] }, after: duration('delay of the answer; 1s when absent') },
    },
    'answers to `approve` steps by id or path; `*` for the others',
  ),
  crash_at: { ...crash, items: object(crash.properties) },
  expect,
};

function makeSimulatorPart(): object {
  const { $schema: _dialect, title: _title, ...rest } = SIMULATOR_SCHEMA;
  return { ...rest, description: 'configuration of the simulated venue' };
}

/** Defaults and cases have the same parts, defined once. */
const shared = Object.fromEntries(Object.keys(settings).map((name) => [name, { $ref: `#/$defs/${name}` }]));

const always = list(
  text('an expression'),
  'expressions over inputs and `position(market)` that must hold at every instant',
);

const schema = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  $id: 'https://perp-runbook.invalid/schemas/runbook-test.schema.json',
  title: 'perp-runbook test file',
  type: 'object',
  additionalProperties: false,
  required: ['tests', 'cases'],
  properties: {
    tests: text('name of the runbook: NAME.yaml beside this file'),
    about: text('what is tested'),
    always,
    defaults: object(shared),
    cases: {
      type: 'array',
      minItems: 1,
      items: object(
        { name: text('what the case shows'), about: text('description'), always, ...shared },
        { required: ['name'] },
      ),
    },
  },
  $defs: settings,
};

/** The schema of a test file, published as `schemas/runbook-test.schema.json`. */
export function makeTestFileSchema(): object {
  return schema;
}
