/** A message on its way to a channel of the profile: what is posted where, and what is said where it does not arrive. */
import { describe, expect, it } from 'vitest';
import { deliverNotice, sendAlarm } from '../../src/app/account/notifications.ts';
import { VirtualClock } from '../../src/base/clock.ts';
import { Secret } from '../../src/gateway/live/secret.ts';
import type { PostOutcome } from '../../src/gateway/live/webhook.ts';
import { MemoryAccountJournal } from '../../src/journal/account/memory.ts';
import { type Profile, SIMULATED_PROFILE } from '../../src/venue/profile/profile.ts';

const OPS = new Secret('notify.ops.webhook', 'https://hooks.example/canary-of-the-address');
const PROFILE: Profile = {
  ...SIMULATED_PROFILE,
  account: 'main',
  reviewPage: 'https://desk.example/',
  notify: { ops: { webhook: { env: 'OPS' } }, chat: { webhook: { env: 'C' }, shape: 'slack' }, desk: { log: true } },
};

/** Sends to one channel; every POST has this outcome. */
async function deliver(to: string, outcome: PostOutcome = {}) {
  const clock = new VirtualClock(Date.parse('2026-01-05T08:00:00Z'));
  const posted: unknown[] = [];
  const said: string[] = [];
  const secrets = { webhooks: { ops: OPS, chat: OPS }, anchorAddresses: {} };
  const voice = { note: (text: string) => said.push(text), complain: (text: string) => said.push(`error: ${text}`) };
  const problem = await clock.runUntil(
    deliverNotice(
      { profile: PROFILE, secrets, clock } as unknown as Parameters<typeof deliverNotice>[0],
      { to, text: 'one', severity: 'warn', run: 'r&1', runbook: 'entry' },
      voice,
      async (_webhook, body) => {
        posted.push(body);
        return outcome;
      },
    ),
  );
  return { problem, posted, said };
}

describe('a message', () => {
  it('is posted with the account, the run and a link to its page', async () => {
    const { problem, posted, said } = await deliver('ops');
    expect([problem, said]).toEqual([undefined, []]);
    expect(posted).toEqual([
      {
        id: expect.stringMatching(/^[0-9a-f]{32}$/),
        at: '2026-01-05T08:00:00.000Z',
        to: 'ops',
        text: 'one',
        severity: 'warn',
        account: 'main',
        run: 'r&1',
        runbook: 'entry',
        link: 'https://desk.example/run?id=r%261',
      },
    ]);
  });

  it('is posted in the shape of its channel', async () => {
    const { posted } = await deliver('chat');
    expect(posted).toMatchObject([{ mrkdwn: false, text: expect.stringContaining('run r&amp;1\none\nhttps://desk.') }]);
  });

  it.each([
    ['ops', { problem: 'HTTP_503', again: true }, 'HTTP_503 (4 tries)', 4],
    ['ops', { problem: 'HTTP_410' }, 'HTTP_410', 1],
    ['none', {}, 'the profile names no such channel', 0],
    ['desk', {}, undefined, 0],
  ])('to %s that meets %o comes to: %s', async (to, outcome, because, posts) => {
    const { problem, posted, said } = await deliver(to, outcome);
    expect([problem, posted.length]).toEqual([because, posts]);
    // The same body each time, so that who receives it knows a repetition; and the address is nowhere.
    expect(new Set(posted.map((body) => JSON.stringify(body))).size).toBe(Math.min(1, posts));
    expect(said).toHaveLength(1);
    expect(said.join()).not.toContain('canary');
  });
});

describe('an alarm of the program', () => {
  it.each([
    ['that arrives', {}, true, []],
    [
      'that does not arrive',
      { problem: 'HTTP_404' },
      false,
      [
        {
          type: 'alarm.undelivered',
          by: 'notifier',
          data: { to: 'ops', run: 'r1', text: 'late', because: 'HTTP_404' },
        },
      ],
    ],
  ])('%s is in the journal of the account only where no one got it', async (_what, outcome, arrived, acts) => {
    const clock = new VirtualClock(0);
    const journal = new MemoryAccountJournal();
    const account = {
      profile: PROFILE,
      secrets: { webhooks: { ops: OPS }, anchorAddresses: {} },
      clock,
      key: 'venue main',
      openAccountJournal: async () => journal,
    };
    const sent = sendAlarm(
      account as unknown as Parameters<typeof sendAlarm>[0],
      { text: 'late', severity: 'warn', run: 'r1' },
      { note: () => {}, complain: () => {} },
      async () => outcome,
    );
    expect(await clock.runUntil(sent)).toBe(arrived);
    expect(await journal.find('venue main', ['alarm.undelivered'])).toMatchObject(acts);
  });
});
