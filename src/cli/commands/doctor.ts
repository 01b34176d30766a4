/** `runbook doctor`: checks a profile against its venue, with reads only, and shows what works and what was found. */

import { type Account, openAccount } from '../../app/account/account.ts';
import { deliverNotice } from '../../app/account/notifications.ts';
import { type Asked, readDeclaredPositions, sendOnce } from '../../app/account/one-request.ts';
import { EXIT, type ExitCode } from '../../app/errors.ts';
import { readProfileFile } from '../../app/files/profile.ts';
import type { Voice } from '../../app/voice.ts';
import { formatCount, formatFirst, formatSpan, formatTable, formatWholeSeconds } from '../../base/format.ts';
import { makePrintable } from '../../base/printable.ts';
import { askHeartbeat } from '../../gateway/live/webhook.ts';
import type { EndpointName, Params } from '../../venue/catalogue.ts';
import type { DeclaredPositions } from '../../venue/profile/profile.ts';
import { readRateHeaders } from '../../venue/tokens/headers.ts';
import type { Given } from '../actions/actions.ts';
import type { Invocation } from '../invocation.ts';

interface Finding {
  readonly check: string;
  readonly ok: boolean;
  /** Without secrets; the venue's texts made printable. */
  readonly found: string;
}

/** A larger clock offset than this breaks signatures and look-ups, ms. */
const WORRYING_OFFSET_MS = 5_000;

export async function examine(options: Given<'doctor'>, invocation: Invocation): Promise<ExitCode> {
  const { terminal } = invocation;
  const profile = readProfileFile(options.profile, terminal);
  const account = await openAccount(profile, invocation);
  try {
    const findings = [
      ...(await collectFindings(account)),
      ...(options.notify ? await testChannels(account, terminal) : []),
    ];
    const ok = findings.every((finding) => finding.ok);
    terminal.answer({ ok, findings }, () =>
      formatTable(
        findings.map(({ check, ok: good, found }) => [
          terminal.style(good ? 'good' : 'bad', good ? 'ok' : 'bad'),
          check,
          found,
        ]),
      ),
    );
    return ok ? EXIT.done : EXIT.failed;
  } finally {
    await account.close();
  }
}

async function collectFindings(account: Account): Promise<readonly Finding[]> {
  const { profile, clock, shared, key } = account;
  const { positions } = profile;
  const record = await sendOnce(account, 'GET /account', {}, 'read');
  const findings: Finding[] = [
    describeReading('GET /account', record, (result) => `${result[0]?.status}, equity ${result[0]?.account_equity}`),
  ];
  if (record.kind !== 'unanswered')
    findings.push(checkClock(record.reply.headers, clock.now()), checkLimit(account, record.reply.headers));
  const reads: readonly (() => Promise<Finding>)[] = [
    () => read(account, 'GET /profile', {}, (result) => `tier ${result[0]?.tier_status.current.title}`),
    () =>
      read(
        account,
        'GET /orders',
        { status: 'open', p_limit: 1000, start_time: (clock.now() - 7 * 86_400_000) * 1000 },
        (result) => `${formatCount(result.length, 'open order')} of the last week`,
      ),
    () =>
      read(
        account,
        'GET /fills',
        { p_limit: 1, start_time: (clock.now() - 86_400_000) * 1000 },
        (result) => `${result.length === 0 ? 'no fill' : 'fills'} in the last day`,
      ),
    ...Object.keys(profile.markets).map(
      (market) => () =>
        read(account, 'GET /cancel_all_after', { market_id: market }, (result) =>
          result === null
            ? `${market}: the deadman switch is off`
            : `${market}: the deadman switch is ${result.status}, ${formatSpan(result.timeout)}`,
        ),
    ),
    ...(positions === undefined ? [] : [() => checkPositions(account, positions)]),
  ];
  // After one timeout the other reads are skipped: each would time out as well.
  if (record.kind === 'unanswered')
    findings.push({ check: 'other reads', ok: false, found: 'not tried: the first got no answer' });
  else for (const each of reads) findings.push(await each());
  const killed = await shared.killSwitch.engaged(key);
  findings.push({
    check: 'kill switch',
    ok: killed === undefined,
    found:
      killed === undefined
        ? 'not engaged'
        : killed.unread
          ? makePrintable(killed.reason, 300)
          : `engaged by ${makePrintable(killed.by, 60)}: ${makePrintable(killed.reason, 200)}. \`runbook release --profile FILE --by NAME\` lifts it`,
  });
  findings.push({
    check: 'markets',
    ok: Object.keys(profile.markets).length > 0,
    found: Object.keys(profile.markets).join(', ') || 'none: prices and sizes are not checked against ticks and lots',
  });
  return findings;
}

/** Sends a test message to each channel of the profile, and asks for its heartbeat URL. */
async function testChannels(account: Account, voice: Voice): Promise<readonly Finding[]> {
  const channels = Object.keys(account.profile.notify);
  const { heartbeat } = account.secrets;
  const asked = heartbeat === undefined ? [] : [describeDelivery('heartbeat', await askHeartbeat(heartbeat))];
  if (channels.length === 0) return [{ check: 'notify', ok: false, found: 'the profile names no channels' }, ...asked];
  const told = await Promise.all(
    channels.map(async (to): Promise<Finding> => {
      const text = `test message of \`runbook doctor\` for ${account.profile.name}, account ${account.profile.account}`;
      return describeDelivery(`notify ${to}`, await deliverNotice(account, { to, text, severity: 'info' }, voice));
    }),
  );
  return [...told, ...asked];
}

function describeDelivery(check: string, problem: string | undefined): Finding {
  return { check, ok: problem === undefined, found: problem ?? 'delivered' };
}

/** A declaration is written by hand: what it reads is shown, before the limits of a run count on it. */
async function checkPositions(account: Account, declared: DeclaredPositions): Promise<Finding> {
  const read = await readDeclaredPositions(account, declared);
  if ('why' in read) return { check: 'positions', ok: false, found: makePrintable(read.why, 300) };
  const held = [...read.positions].map(([market, { size }]) => makePrintable(`${size} ${market}`, 100));
  return { check: 'positions', ok: true, found: held.length === 0 ? 'none is held' : formatFirst(held, 5) };
}

async function read<E extends EndpointName>(
  account: Account,
  name: E,
  params: Params<E>,
  tell: (result: Extract<Asked<E>, { kind: 'confirmed' }>['result']) => string,
): Promise<Finding> {
  return describeReading(name, await sendOnce(account, name, params, 'read'), tell);
}

function describeReading<E extends EndpointName>(
  name: E,
  asked: Asked<E>,
  tell: (result: Extract<Asked<E>, { kind: 'confirmed' }>['result']) => string,
): Finding {
  switch (asked.kind) {
    case 'confirmed': {
      const odd = asked.notes.length === 0 ? '' : ` (odd: ${asked.notes.slice(0, 3).join('; ')})`;
      return {
        check: name,
        ok: true,
        found: `${makePrintable(tell(asked.result), 200)}, ${Math.round(asked.tookMs)} ms${makePrintable(odd, 300)}`,
      };
    }
    case 'refused':
      return {
        check: name,
        ok: false,
        found: `refused with status ${asked.reply.status}: ${makePrintable(asked.text, 200)}${findAdvice(asked.reply.status === 401 || asked.reply.status === 403 ? 'session' : asked.reply.status === 404 ? 'path' : '')}`,
      };
    case 'unreadable':
    case 'unanswered':
      return { check: name, ok: false, found: `${makePrintable(asked.why, 300)}${findAdvice(asked.why)}` };
    default:
      return asked satisfies never;
  }
}

/** Advice by words in the failure; the network's error codes alone help few people. */
const ADVICE: readonly (readonly [RegExp, string])[] = [
  [/ECONNREFUSED/, 'nothing listens at that address: check base_url, and whether the venue is up'],
  [/ENOTFOUND|EAI_AGAIN/, 'the name in base_url cannot be resolved: check its spelling and the network'],
  [
    /EPROTO|ERR_SSL|WRONG_VERSION|wrong version/i,
    'the server does not speak TLS: check http or https and the port in base_url',
  ],
  [/CERT|self.signed/i, 'the certificate is not accepted: check the host in base_url'],
  [/timeout|ETIMEDOUT|aborted/i, 'no answer in time: check base_url, the network, and whether the venue is up'],
  [
    /^session$|refresh token|session|\b401\b/i,
    'the credentials are not accepted: put a fresh JWT or key into the variable that `auth` names',
  ],
  [/^path$/, 'there is no such path: check base_url'],
];

function findAdvice(why: string): string {
  const found = ADVICE.find(([words]) => words.test(why));
  return found === undefined ? '' : `. ${found[1]}`;
}

function checkClock(headers: Readonly<Record<string, string>>, now: number): Finding {
  const date = Date.parse(headers['date'] ?? '');
  if (Number.isNaN(date)) return { check: 'clock', ok: true, found: 'the venue sends no Date header; not compared' };
  const offset = now - date;
  return {
    check: 'clock',
    ok: Math.abs(offset) <= WORRYING_OFFSET_MS,
    found: `${formatWholeSeconds(offset)} apart from the venue's Date header`,
  };
}

function checkLimit({ profile, clock }: Account, headers: Readonly<Record<string, string>>): Finding {
  const { limit, remaining } = readRateHeaders(headers, clock.now(), profile.rateLimit.resetUnit);
  if (limit === undefined)
    return {
      check: 'rate limit',
      ok: true,
      found: `no X-RateLimit headers; the profile's ${profile.rateLimit.tokens} tokens count`,
    };
  return {
    check: 'rate limit',
    ok: limit >= profile.rateLimit.tokens,
    found: `${remaining ?? '?'} of ${limit} tokens left; the profile says ${profile.rateLimit.tokens}`,
  };
}
