/**
 * The form of a fixture file as JSON Schema (interface.md, Fixtures), for editors and for reading. In JSON lines the first
 * line is the header, and each further line one of `exchanges`.
 */
import { DURATION_PATTERN, SIGNED_DURATION_PATTERN } from '../base/duration.ts';
import { ENDPOINT_NAMES, endpoint } from '../venue/catalogue.ts';

export const FIXTURE_SCHEMA_NAME = 'fixture';

const duration = (description: string) => ({ type: 'string', pattern: DURATION_PATTERN, description });
const decimal = (description: string) => ({ type: ['string', 'number'], description });
const instant = (description: string) => ({
  type: 'string',
  pattern: '^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}(?::\\d{2}(?:\\.\\d{1,6})?)?(?:Z|[+-]\\d{2}:\\d{2})$',
  description,
});

const market = {
  type: 'object',
  additionalProperties: false,
  required: ['tick', 'lot'],
  properties: {
    tick: decimal('smallest step of a price'),
    lot: decimal('smallest step of a size'),
    min_size: decimal('smallest size of an order'),
  },
};

const feed = {
  type: 'object',
  additionalProperties: false,
  required: ['name', 'value', 'after'],
  properties: {
    name: { type: 'string', minLength: 1, description: 'name of the feed in the runbook' },
    key: { type: 'string', description: 'market of the value, for a feed that is a map or follows a market' },
    value: decimal('the value'),
    after: {
      type: 'string',
      pattern: SIGNED_DURATION_PATTERN,
      description: 'time since the start of the run at which it was true; negative before it',
    },
  },
};

const request = {
  type: 'object',
  additionalProperties: false,
  required: ['method', 'path'],
  properties: {
    method: { enum: [...new Set(ENDPOINT_NAMES.map((name) => endpoint(name).method))] },
    path: { type: 'string', pattern: '^/', description: 'path below the base URL, without query' },
    params: {
      type: 'object',
      additionalProperties: { type: ['string', 'number', 'boolean'] },
      description: 'parameters, in query or body; numbers as their literal',
    },
  },
};

const answer = {
  type: 'object',
  additionalProperties: false,
  required: ['status', 'body'],
  properties: {
    status: { type: 'integer', minimum: 100, maximum: 599 },
    headers: {
      type: 'object',
      additionalProperties: { type: ['string', 'number'] },
      description: 'headers that matter: content-type, retry-after and those of the rate limit',
    },
    body: { description: 'the JSON text as a string, or the structure itself' },
  },
};

const failure = {
  type: 'object',
  additionalProperties: false,
  required: ['sent', 'message'],
  properties: {
    sent: { type: 'boolean', description: 'false only where certainly nothing left' },
    message: { type: 'string' },
  },
};

const exchange = {
  type: 'object',
  additionalProperties: false,
  required: ['after', 'took', 'request'],
  oneOf: [
    { required: ['answer'], properties: { answer: true } },
    { required: ['failure'], properties: { failure: true } },
  ],
  properties: {
    after: duration('time since the previous exchange was sent; for the first, since the start of the run'),
    took: duration('time until the answer'),
    request,
    answer,
    failure,
  },
};

const schema = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  $id: 'https://perp-runbook.invalid/schemas/fixture.schema.json',
  title: 'perp-runbook fixture',
  type: 'object',
  additionalProperties: false,
  required: ['fixture', 'recorded_at', 'start', 'markets', 'exchanges'],
  properties: {
    fixture: { const: 1, description: 'version of this format' },
    recorded_at: instant('when the recording was made'),
    start: instant('when the recorded run started: what times in parameters and answers are measured from'),
    runbook: { type: 'string', description: 'name of the runbook that was recorded' },
    inputs: { type: 'object', description: 'inputs of the recorded run' },
    seed: { type: 'integer', minimum: 0 },
    capabilities: {
      type: 'array',
      items: { type: 'string' },
      description: 'what a runbook may need; every capability when absent',
    },
    markets: { type: 'object', additionalProperties: market, description: 'market id to its steps' },
    feeds: { type: 'array', items: feed },
    exchanges: { type: 'array', items: exchange, description: 'in the order they were sent' },
  },
};

/** The schema of a whole fixture, published as `schemas/fixture.schema.json`. */
export function fixtureSchema(): object {
  return schema;
}
