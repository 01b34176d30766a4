import { describe, expect, it } from 'vitest';
import { EXIT } from '../../src/app/errors.ts';
import { folder } from './command.ts';

const entry = (at: string, method: string, path: string, body: string | undefined, text: string) => ({
  startedDateTime: `2026-01-05T08:00:0${at}Z`,
  time: 12,
  request: {
    method,
    url: `https://venue.example/api${path}`,
    headers: [{ name: 'authorization', value: 'Bearer top-secret-token-123' }],
    cookies: [{ name: 'jwt', value: 'top-secret-cookie-123' }],
    ...(body === undefined ? {} : { postData: { mimeType: 'application/json', text: body } }),
  },
  response: { status: 200, headers: [{ name: 'x-ratelimit-remaining', value: '1180' }], content: { text } },
});
const har = JSON.stringify({
  log: {
    version: '1.2',
    entries: [
      entry(
        '0',
        'GET',
        '/account',
        undefined,
        '{"success":true,"error":"","result":[{"wallet":"0x52908400098527886E0F7030069857D2E4169EE7","balance":"1e3","n":0.100}]}',
      ),
      entry(
        '1',
        'POST',
        '/orders',
        '{"market_id":"BTC-USD","size":0.10000000000000000000001}',
        '{"success":true,"error":"","result":[{"id":"BTC-USD@1"}]}',
      ),
    ],
  },
});

describe('record', () => {
  const here = folder();
  here.write('session.har', har);

  it('converts a HAR into a fixture without secrets', () => {
    const { exit, out, err } = here.run('record', '--from', 'session.har', '--to', 'session.yaml');
    expect({ exit, out }).toEqual({
      exit: EXIT.done,
      out: 'session.yaml: 2 exchanges with GET /account, POST /orders\n',
    });
    expect(err).toContain('steps of the markets');
    const text = here.read('session.yaml');
    expect(text).toContain('"size": "0.10000000000000000000001"');
    expect(text).not.toMatch(/secret|52908400098527886E0F7030069857D2E4169EE7|venue\.example/i);
  });

  it('converts through every format without losing a digit', () => {
    expect(here.run('record', '--from', 'session.yaml', '--to', 'session.jsonl').exit).toBe(EXIT.done);
    expect(here.run('record', '--from', 'session.jsonl', '--to', 'again.har').exit).toBe(EXIT.done);
    expect(here.run('record', '--from', 'again.har', '--to', 'again.yml').exit).toBe(EXIT.done);
    expect(here.read('again.yml')).toBe(here.read('session.yaml'));
  });

  it('replaces a fixture, but no other file', () => {
    expect(here.run('record', '--from', 'session.jsonl', '--to', 'again.yml').exit).toBe(EXIT.done);
    for (const name of ['runbook.yaml', 'notes.jsonl', 'other.har']) {
      here.write(name, 'runbook: mine\n');
      expect(here.run('record', '--from', 'session.jsonl', '--to', name)).toEqual({
        exit: EXIT.usage,
        out: '',
        err: expect.stringContaining(`${name} exists and is not a fixture`),
      });
      expect(here.read(name)).toBe('runbook: mine\n');
    }
  });

  it('answers in JSON', () => {
    const { out } = here.run('record', '--json', '--from', 'session.yaml', '--to', 'copy.jsonl');
    expect(JSON.parse(out)).toEqual({
      from: 'session.yaml',
      to: 'copy.jsonl',
      exchanges: 2,
      endpoints: ['GET /account', 'POST /orders'],
      notes: [],
    });
  });

  const fixture = (rest: string) =>
    `fixture: 1\nrecorded_at: 2026-01-05T08:00:00Z\nstart: 2026-01-05T08:00:00Z\nmarkets: {}\n${rest}`;
  it.each([
    ['a.txt', 'x', '.yaml, .yml, .jsonl, .har'],
    ['a.har', '{"log":{}}', 'it is not HAR: log.entries'],
    ['a.yaml', 'fixture: [', 'a.yaml is no fixture: line 1, column'],
    [
      'b.yaml',
      fixture(
        'exchanges:\n  - {after: 0ms, took: soon, request: {method: GET, path: /account}, answer: {status: 200, body: {}}}\n',
      ),
      'line 6, column 24: exchanges[0].took must match pattern',
    ],
    ['c.yaml', fixture('exchanges: []\nextra: 1\n'), 'the fixture has the unknown key extra'],
    ['a.jsonl', '{"fixture":1}\n{', 'line 2 cannot be read: not JSON'],
  ])('names what is wrong with %s', (name, text, message) => {
    here.write(name, text);
    const { exit, out, err } = here.run('record', '--from', name, '--to', 'never.yaml');
    expect({ exit, out }).toEqual({ exit: EXIT.usage, out: '' });
    expect(err).toContain(message);
    expect(() => here.read('never.yaml')).toThrow('ENOENT');
  });
});
