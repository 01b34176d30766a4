/** Notices as a webhook gets them: the documented JSON, and forms of chat services in which a text is nothing but text. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { buildNoticeBody, type Notice } from '../../src/gateway/live/notice-body.ts';

const NOTICE: Notice = {
  to: 'ops',
  text: 'filled at 65000',
  severity: 'warn',
  account: 'main',
  at: Date.parse('2026-01-05T08:00:00.000Z'),
  run: '20260105-080000-entry-4f2a',
  runbook: 'entry',
  step: 'steps/2',
  link: 'https://desk.example/run?id=20260105-080000-entry-4f2a',
};

describe('the body of a notice', () => {
  it('is the one that the documentation shows', () => {
    const page = readFileSync(new URL('../../docs/profile.md', import.meta.url), 'utf8');
    const shown = /```json\n(\{[^`]*"severity"[^`]*)```/.exec(page)?.[1] ?? '';
    expect(buildNoticeBody(NOTICE)).toEqual(JSON.parse(shown));
  });

  it('has no field that it knows nothing of, and an id of its own', () => {
    const { run: _, runbook: _1, step: _2, link: _3, ...plain } = NOTICE;
    const body = buildNoticeBody(plain);
    expect(Object.keys(body).sort()).toEqual(['account', 'at', 'id', 'severity', 'text', 'to']);
    expect(body['id']).not.toBe(buildNoticeBody(NOTICE)['id']);
    expect(body['id']).toBe(buildNoticeBody(plain)['id']);
  });

  const HOSTILE =
    '<!channel> <@U123> @everyone @here [pay](http://evil.example) <http://evil.example|venue> *b* `c` \u202e';
  const written = (shape: 'slack' | 'mattermost' | 'discord' | 'telegram', text = HOSTILE) => {
    const body = buildNoticeBody({ ...NOTICE, text }, shape, '-100123');
    return { body, text: String(body['text'] ?? body['content']) };
  };

  it.each(['slack', 'mattermost', 'discord', 'telegram'] as const)('addresses no one in %s', (shape) => {
    const { text } = written(shape);
    expect(text).not.toMatch(/@[\w]/);
    expect(text).not.toContain('\u202e');
    expect(text).toContain('\\u202e'.slice(-5));
    expect(text.endsWith(`\n${NOTICE.link}`)).toBe(true);
    if (shape !== 'telegram') expect(text).not.toMatch(/(?<!\\)<[!@h]/);
    if (shape === 'discord' || shape === 'mattermost') expect(text).not.toMatch(/(?<!\\)[[\]()*`]/);
  });

  it('switches off what a service would make of it', () => {
    expect(written('discord').body).toMatchObject({ allowed_mentions: { parse: [] }, flags: 4 });
    expect(written('telegram').body).toMatchObject({ chat_id: '-100123' });
    expect(written('telegram').body).not.toHaveProperty('parse_mode');
    expect(written('slack').body).toMatchObject({ mrkdwn: false });
    expect(written('slack', 'a & <b>').text).toContain('a &amp; &lt;b&gt;');
  });

  it.each([
    ['slack', 4000],
    ['mattermost', 4000],
    ['discord', 2000],
    ['telegram', 4096],
  ] as const)('is no longer than %s takes, with its link', (shape, most) => {
    const { text } = written(shape, '*<'.repeat(3000));
    expect(text.length).toBeLessThanOrEqual(most);
    expect(text.length).toBeGreaterThan(most - 10);
    expect(text.endsWith(`…\n${NOTICE.link}`)).toBe(true);
  });
});
