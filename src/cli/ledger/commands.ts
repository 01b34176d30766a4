/** `runbook account …`: shows the ledger of an account, makes it again, compares it with the venue, and states a position. */
import { openAccount } from '../../app/account/account.ts';
import { describeActor, makeAct, withAccountJournal } from '../../app/account/acts.ts';
import { anchorAct } from '../../app/account/anchoring.ts';
import { keepBaseline, loadLedger, nameLedger, openLedger } from '../../app/account/ledger.ts';
import { signWith } from '../../app/account/people.ts';
import { requireName } from '../../app/account/person.ts';
import { EXIT, type ExitCode, UserError } from '../../app/errors.ts';
import { compareWithVenue } from '../../app/reconciliation/ledger-settling.ts';
import { chooseStorePlace } from '../../app/stores/location.ts';
import { parseAuthoredDecimal } from '../../base/decimal.ts';
import { formatCount } from '../../base/format.ts';
import { makePrintable } from '../../base/printable.ts';
import { AccountLedger } from '../../gateway/limits/account-ledger.ts';
import { formatAverage, formatMoney, formatText } from '../../report/format.ts';
import { describeLedger, type LedgerDocument } from '../../report/results/ledger.ts';
import type { Given } from '../actions/actions.ts';
import type { Invocation } from '../invocation.ts';
import type { Output } from '../terminal/output.ts';
import { formatStyledTable } from '../terminal/text-table.ts';
import { chooseProfile, withLedger } from './account.ts';

export async function showLedger(
  { profile: file }: Given<'account ledger'>,
  invocation: Invocation,
): Promise<ExitCode> {
  const profile = await chooseProfile(file, invocation);
  const document = await withLedger(profile, invocation, async (of) =>
    describeLedger(profile.account, await openLedger(of), Date.now()),
  );
  invocation.terminal.answer(document, () => formatLedger(document, invocation.terminal));
  return EXIT.done;
}

/** Folds every journal of the account in the store anew. */
export async function rebuildLedger(
  { profile: file }: Given<'account rebuild'>,
  invocation: Invocation,
): Promise<ExitCode> {
  const profile = await chooseProfile(file, invocation);
  const { document, runs } = await withLedger(profile, invocation, async (of) => {
    const { parts, folded } = await loadLedger(of, { anew: true });
    return { document: describeLedger(profile.account, new AccountLedger(parts), Date.now()), runs: folded };
  });
  invocation.terminal.answer({ runs, ...document }, () =>
    [`${formatCount(runs, 'run')} folded anew`, formatLedger(document, invocation.terminal)].join('\n'),
  );
  return EXIT.done;
}

/** Exit 1 where the venue shows fills that no journal has. */
export async function reconcileLedger(
  { profile: file }: Given<'account reconcile'>,
  invocation: Invocation,
): Promise<ExitCode> {
  const { terminal } = invocation;
  const profile = await chooseProfile(file, invocation);
  const account = await openAccount(profile, invocation);
  try {
    const ledger = await openLedger(nameLedger(account));
    const { added, gone, moved, unread } = await compareWithVenue({ account, ledger, voice: terminal }, { all: true });
    if (unread !== undefined)
      throw new UserError(
        `what the account holds could not be compared with the venue's lists: ${makePrintable(unread, 300)}`,
        EXIT.failed,
        'unanswered',
      );
    const document = describeLedger(profile.account, ledger, Date.now());
    const found = { ok: added.length + moved.length === 0, added, gone, moved };
    terminal.answer({ ...found, ...document }, () =>
      [
        added.length === 0
          ? Object.keys(document.markets).length === 0 && profile.positions === undefined
            ? 'nothing was traded here, so the venue was asked for nothing'
            : 'the venue lists no fill that the journals lack'
          : `the venue lists ${formatCount(added.length, 'fill')} that no journal has; they count from now on`,
        ...moved.map(
          ({ market, was, size }) =>
            `the venue lists a position of ${formatText(size)} ${formatText(market)}, where the fills add up to ${was}; it counts from now on`,
        ),
        ...(gone.length === 0 ? [] : [`not open any more: ${gone.map(formatText).join(', ')}`]),
        formatLedger(document, terminal),
      ].join('\n'),
    );
    return found.ok ? EXIT.done : EXIT.failed;
  } finally {
    await account.close();
  }
}

/** States the position of a market: what was before counts no more for its size. */
export async function stateBaseline(options: Given<'account baseline'>, invocation: Invocation): Promise<ExitCode> {
  const by = requireName('account baseline', options.by);
  const size = readDecimalOption('--size', options.size);
  const price = options.price === undefined ? undefined : readDecimalOption('--price', options.price);
  const { market } = options;
  if (!/^[A-Za-z0-9._]{1,32}-[A-Za-z0-9._]{1,32}$/.test(market))
    throw new UserError(`--market takes a market id, <BASE>-<QUOTE>; found ${makePrintable(market, 100)}`);
  if (price !== undefined && !/^\d*[.\d]*[1-9]/.test(price))
    throw new UserError(`--price takes a price above zero; found ${makePrintable(price, 100)}`);
  const profile = await chooseProfile(options.profile, invocation);
  const at = Date.now();
  const stated = { market, size, ...(price === undefined ? {} : { price }) };
  await withLedger(profile, invocation, async (of) => {
    const made = makeAct('baseline.stated', describeActor(by), at, stated);
    const act = signWith(of.key, made, {
      file: options.sign,
      people: profile.people,
      environment: invocation.environment,
    });
    const place = chooseStorePlace(profile, invocation.state);
    await withAccountJournal(place, invocation.environment, (journal) => journal.append(of.key, act));
    await keepBaseline(of, { ...stated, by, at });
    await anchorAct(of.key, { profile, place }, invocation);
  });
  const document = {
    ok: true,
    act: 'baseline',
    at: new Date(at).toISOString(),
    account: profile.account,
    market,
    size,
    by,
  };
  invocation.terminal.answer(
    document,
    () =>
      `${profile.account} holds ${size} ${market}, says ${makePrintable(by, 100)}; \`runbook account ledger\` counts from there`,
  );
  return EXIT.done;
}

function readDecimalOption(name: string, text: string): string {
  const value = parseAuthoredDecimal(text);
  if (value === undefined)
    throw new UserError(
      `${name} takes a decimal such as 0.25 or -0.25, of at most 36 digits; found ${makePrintable(text, 100)}`,
    );
  return text;
}

function formatLedger({ account, markets, day, known, unread = [], why }: LedgerDocument, terminal: Output): string {
  const rows = Object.entries(markets).map(([market, row]) => [
    formatText(market),
    row.position,
    row.averageEntry === undefined ? '' : formatAverage(row.averageEntry),
    formatMoney(row.realized),
    formatMoney(row.fees),
    row.workingBuy,
    row.workingSell,
    row.foreign,
  ]);
  const headings = [
    'market',
    '#position',
    '#average entry',
    '#realized',
    '#fees',
    '#working buy',
    '#working sell',
    '#of others',
  ];
  const doubts = [
    ...(why === undefined ? [] : [why]),
    ...(unread.length === 0
      ? []
      : [
          `the fills of these orders have not all been read, and what is missing is in no sum: ${unread.map(formatText).join(', ')}`,
        ]),
  ];
  return [
    `account ${formatText(account)}`,
    rows.length === 0 ? 'nothing was traded' : formatStyledTable(headings, rows, terminal),
    `today (UTC): realized ${formatMoney(day.realized)}, fees ${formatMoney(day.fees)}, ${formatCount(day.orders, 'order')}${day.notional === undefined ? '' : ` worth ${formatMoney(day.notional)}`}`,
    ...(known ? [] : doubts.map((doubt) => terminal.style('warning', formatText(doubt)))),
  ].join('\n');
}
