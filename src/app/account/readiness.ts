/**
 * Refuses a live run before anything is sent: its profile lacks what the runbook needs, its deadman switch is too short or takes too
 * many tokens, or the kill switch is engaged.
 */
import { pluralize } from '../../base/format.ts';
import { makePrintable } from '../../base/printable.ts';
import type { KillOrder } from '../../journal/shared/shared.ts';
import type { CheckedRunbook, DeadmanDeclaration } from '../../runbook/checked.ts';
import { listAllSteps, listRunbooks, listSteps, walkSteps } from '../../runbook/steps/walk.ts';
import { type Duration, EvaluationFailure, type Expr, NOWHERE, NotKnown, type Value } from '../../runbook/values.ts';
import { chooseKeepAliveMs, describeShortTimeout, SHORTEST_LIVE_TIMEOUT_MS } from '../../venue/deadman.ts';
import { followsMarket } from '../../venue/profile/price-feed.ts';
import { getCost, getSessionCost, type Profile } from '../../venue/profile/profile.ts';
import { describeOvercommitment } from '../../venue/tokens/heartbeat-reserve.ts';
import { budgetSettings } from '../../venue/tokens/ledger.ts';
import { EXIT, UserError } from '../errors.ts';

const FEED_MARKET_FIX = 'Write one market under limits.markets, or declare the feed as a map by market';

/** `inputs`: those of the run, where they are known by then. */
export function refuseUnready(
  runbook: CheckedRunbook,
  profile: Profile,
  inputs: Readonly<Record<string, Value>> | undefined = undefined,
): void {
  const all = listRunbooks(runbook);
  const missing = [...new Set(all.flatMap(({ needs }) => needs))].filter(
    (need) => !profile.capabilities.includes(need),
  );
  if (missing.length > 0) {
    throw new UserError(
      `${runbook.name} needs ${missing.join(', ')}; the profile grants ${profile.capabilities.join(', ') || 'no capabilities'}. Add the missing ones to capabilities in the profile; nothing was sent`,
    );
  }
  const feeds = [...new Set(all.flatMap((each) => each.feeds.map(({ name }) => name)))];
  const unbound = feeds.filter((name) => !Object.hasOwn(profile.feeds, name));
  if (unbound.length > 0) {
    throw new UserError(
      `${runbook.name} reads the ${pluralize(unbound.length, 'feed')} ${unbound.join(', ')}; the profile binds ${Object.keys(profile.feeds).join(', ') || 'none'}. Add a source for ${unbound.length > 1 ? 'each' : 'it'} under feeds in the profile; nothing was sent`,
    );
  }
  const lost = all
    .flatMap((each) => each.feeds)
    .filter(({ name, type, market }) => type.kind !== 'map' && market === undefined && followsMarket(profile, name));
  if (lost.length > 0) {
    throw new UserError(
      `${runbook.name} reads the ${pluralize(lost.length, 'feed')} ${lost.map(({ name }) => name).join(', ')} of one market, and nothing says of which. ${FEED_MARKET_FIX}; nothing was sent`,
    );
  }
  const channels = listSteps(runbook).flatMap((step) => (step.verb === 'notify' ? [step.args.to] : []));
  const unknown = [...new Set(channels)].filter((to) => !Object.hasOwn(profile.notify, to));
  if (unknown.length > 0) {
    throw new UserError(
      `${runbook.name} notifies ${unknown.join(', ')}; the profile names ${Object.keys(profile.notify).join(', ') || 'no channels'}. Add ${unknown.length > 1 ? 'each' : 'it'} under notify in the profile; nothing was sent`,
    );
  }
  for (const each of all) {
    const steps = [...walkSteps(listAllSteps(each))];
    const timeouts = [each.deadman, ...steps.map((step) => (step.verb === 'arm_deadman' ? step.args : undefined))];
    // The inputs of a called runbook are known when it is called: the run refuses its switch then.
    for (const declared of timeouts)
      if (declared !== undefined) refuseShort(declared.timeout, each === runbook ? inputs : undefined);
    if (each.deadman?.timeout.constant) refuseSwitch(each.deadman, profile);
  }
}

function refuseShort(timeout: Expr<Duration>, inputs: Readonly<Record<string, Value>> | undefined): void {
  const timeoutMs = timeout.constant || inputs !== undefined ? evaluateTimeout(timeout, inputs ?? {}) : undefined;
  if (timeoutMs !== undefined && timeoutMs < SHORTEST_LIVE_TIMEOUT_MS)
    throw new UserError(`${describeShortTimeout(timeoutMs)}; nothing was sent`);
}

/** A timeout of the deadman switch, ms; undefined where it depends on more than the inputs. */
export function evaluateTimeout(timeout: Expr<Duration>, inputs: Readonly<Record<string, Value>>): number | undefined {
  try {
    return timeout.evaluate({ ...NOWHERE, get: (root) => (root === 'inputs' ? inputs : undefined) }).ms;
  } catch (error) {
    if (error instanceof EvaluationFailure || error instanceof NotKnown) return undefined;
    throw error;
  }
}

/** Refuses a deadman switch of which every run has the same timeout. */
function refuseSwitch({ timeout, keepAlive }: DeadmanDeclaration, profile: Profile): void {
  const timeoutMs = timeout.evaluate(NOWHERE).ms;
  // A timeout that inputs decide is checked when it is armed, and so is one for which others on the address leave no tokens.
  if (keepAlive?.constant === false) return;
  const everyMs = keepAlive?.evaluate(NOWHERE).ms ?? chooseKeepAliveMs(timeoutMs);
  const { tokens: limit, windowMs } = profile.rateLimit;
  const { reserve } = budgetSettings({ tokens: limit, windowMs });
  const weight = getCost(profile, 'POST /cancel_all_after');
  const readWeight = getCost(profile, 'GET /cancel_all_after');
  const rhythm = { everyMs, timeoutMs, readWeight, sessionWeight: getSessionCost(profile) };
  const why = describeOvercommitment({ limit, reserve, windowMs, weight, ...rhythm });
  if (why !== undefined)
    throw new UserError(`the token limit cannot carry the deadman switch: ${why}; nothing was sent`);
}

export function refuseUntil(runbook: CheckedRunbook, until: string | undefined): void {
  if (until === undefined) return;
  const ids = [...walkSteps(runbook.steps)].flatMap((step) => (step.id === undefined ? [] : [step.id]));
  if (!ids.includes(until))
    throw new UserError(
      `--until matches no step: ${makePrintable(until, 80)}; steps with an id are ${ids.join(', ') || 'none'}`,
    );
}

/** Why nothing may be started: a person has engaged the kill switch, or it cannot be read, which is no kill. */
export function makeKilledError(killed: KillOrder): UserError {
  if (killed.unread)
    return new UserError(
      `${makePrintable(killed.reason, 300)}; nothing was sent. Try again once it answers`,
      EXIT.usage,
      'configuration',
    );
  const when = killed.at === 0 ? '' : ` at ${new Date(killed.at).toISOString()}`;
  return new UserError(
    `the kill switch is engaged by ${makePrintable(killed.by, 100)}${when}: ${makePrintable(killed.reason, 300)}; nothing was sent. \`runbook release --profile FILE --by NAME\` lifts it`,
    EXIT.failed,
    'killed',
  );
}
