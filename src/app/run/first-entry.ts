/**
 * Names a run and builds its first entry, which holds everything needed to execute it again; reads setup and profile back from it.
 */
import { randomBytes } from 'node:crypto';
import { sha256 } from '../../base/digest.ts';
import { makePrintable } from '../../base/printable.ts';
import type { RunSetup } from '../../engine/ports.ts';
import { type DataOf, ENTRY_VERSION, type EntryOf, type JsonObject, type ProcessFact } from '../../journal/entry.ts';
import { LAST_WITH_V1 } from '../../journal/entry-v1.ts';
import type { CheckedRunbook } from '../../runbook/checked.ts';
import type { Value } from '../../runbook/values.ts';
import type { MarketRules } from '../../venue/port.ts';
import { restoreProfile, type SettingsJson, writeProfileSettings } from '../../venue/profile/in-force.ts';
import { type Profile, SIMULATED_PROFILE } from '../../venue/profile/profile.ts';
import type { Account } from '../account/account.ts';
import { EXIT, UserError } from '../errors.ts';
import type { LoadedRunbook } from '../files/load.ts';
import { ENGINE_VERSION, LOCK_SHA256 } from '../version.ts';

/** The origin of a run: what its first entry holds beside texts, inputs and settings. */
export type Origin = Pick<DataOf<'run.started'>, 'trigger' | 'by' | 'plan' | 'bounds' | 'until' | 'occurrence'>;

type Started = DataOf<'run.started'>;

/** Sorts by start time, contains the runbook's name, and is not guessable: `20260105T080000123-bracket-entry-3f9a0c1b2d`. */
export function makeRunName(runbook: string): string {
  const stamp = new Date().toISOString().replace(/[-:.Z]/g, '');
  return `${stamp}-${runbook.slice(0, 40)}-${randomBytes(5).toString('hex')}`;
}

/** The first entry of a run: everything needed to execute it again. `markets`: those of the venue, where the profile does not list them. */
export function buildStartedData(
  profile: Profile,
  { runbook, sources }: LoadedRunbook,
  about: Pick<Started, 'mode' | 'inputs' | 'seed' | 'startedAt'> & Origin & Pick<Started, 'accountId'>,
  place: Pick<Started, 'account' | 'process' | 'fixture' | 'killsBefore'>,
  markets?: Readonly<Record<string, MarketRules>>,
): Started {
  return {
    runbook: runbook.name,
    file: runbook.source.file,
    ...about,
    sources: sources.map(({ name, source: { file, text } }) => ({ name, file, text, sha256: sha256(text) })),
    settings: {
      ...writeProfileSettings(profile),
      ...(markets === undefined ? {} : { markets }),
      absenceHorizonMs: profile.ambiguityWindowMs,
      fillsWindowMs: profile.fillsWindowMs,
    } as unknown as JsonObject,
    engine: ENGINE_VERSION,
    ...place,
  };
}

/** What the engine needs of a run's first entry, when it begins and whenever it is executed again. */
export function makeSetup(
  run: string,
  runbook: CheckedRunbook,
  inputs: Readonly<Record<string, Value>>,
  started: Started,
): RunSetup {
  const { accountId, account, mode, seed, startedAt, plan = '', until } = started;
  const { absenceHorizonMs, fillsWindowMs } = started.settings as Partial<
    Pick<RunSetup, 'absenceHorizonMs' | 'fillsWindowMs'>
  >;
  return {
    run,
    account: accountId ?? account,
    mode,
    runbook,
    inputs,
    seed,
    startedAt,
    absenceHorizonMs: absenceHorizonMs ?? SIMULATED_PROFILE.ambiguityWindowMs,
    fillsWindowMs: fillsWindowMs ?? SIMULATED_PROFILE.fillsWindowMs,
    plan,
    until,
  };
}

/** The facts in the journal about the process that writes it. */
export function describeProcess(): ProcessFact {
  const lock = LOCK_SHA256;
  return { pid: process.pid, node: process.versions.node, ...(lock === undefined ? {} : { lock }), clock: 'system' };
}

/**
 * The profile a run was started with; secrets are read from the environment again. `place`: the store in which the run was found,
 * which the profile may name by a path that is another one from here.
 */
export function readRecordedProfile(first: EntryOf<'run.started'>, place?: Account['place']): Profile {
  const { absenceHorizonMs: _absence, fillsWindowMs: _fills, ...settings } = first.data.settings as SettingsJson;
  const profile = restoreProfile(settings);
  if (profile === undefined)
    throw new UserError(
      `the settings that run ${first.run} was started with are not accepted by this version`,
      EXIT.usage,
      'configuration',
    );
  if (place === undefined) return profile;
  return { ...profile, store: place.kind === 'sqlite' ? { sqlite: place.file } : { postgres: place.url } };
}

/**
 * Throws a UserError for a run written by an older version: this version reads its journal but cannot execute it again, because
 * the names and sentences that a replay compares have changed (versions.md, Journals).
 */
export function refuseOlderVersion({ v, run, data }: EntryOf<'run.started'>, act: 'replay' | 'resume'): void {
  if (v === ENTRY_VERSION) return;
  const rest = act === 'resume' ? '; `runbook kill` cancels what is open at the venue' : '';
  throw new UserError(
    `run ${makePrintable(run, 100)} was written by version ${makePrintable(data.engine, 40)} (journal entries of version ${v}). This version can read it but not ${act} it: use perp-runbook ${LAST_WITH_V1}${rest}`,
    act === 'resume' ? EXIT.halted : EXIT.usage,
    'version',
  );
}
