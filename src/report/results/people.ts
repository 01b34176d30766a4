/** `audit people`: what people did about an account, from its journal, each with who it was and how the name was established. */
import type { Act, ActType } from '../../journal/account/acts.ts';
import { formatIsoTime } from '../format.ts';

export interface PersonAct {
  /** ISO 8601, UTC. */
  readonly at: string;
  readonly who: string;
  readonly how: 'os' | 'signed' | 'claimed';
  readonly act: string;
  readonly about: string;
  readonly run?: string;
  /** Of the operating system, and where. */
  readonly user?: string;
  readonly host?: string;
  readonly terminal?: string;
  /** The venue's address and the account; `*` for every account of a store. */
  readonly account: string;
}

type Described = { readonly [T in ActType]?: (data: Extract<Act, { type: T }>['data']) => readonly [string, string] };

/** What a person does, and what about it; types of acts that no person does are left out. */
const DESCRIBED: Described = {
  'start.recorded': ({ runbook }) => ['start', runbook],
  'start.refused': ({ runbook, why }) => ['start refused', `${runbook}: ${why}`],
  'kill.engaged': ({ reason }) => ['kill', reason],
  'kill.released': () => ['release', ''],
  'command.given': ({ command, step, reason }) => [command, [step, reason].filter(Boolean).join(': ')],
  'baseline.stated': ({ market, size, price }) => [
    'baseline',
    `${size} ${market}${price === undefined ? '' : ` at ${price}`}`,
  ],
  'orders.adopted': ({ orders }) => ['adopt', orders.map(({ id }) => id).join(', ')],
  'store.restored': ({ backupAt }) => ['restore', `backup of ${formatIsoTime(backupAt)}`],
};

export function describePersonAct(act: Act): PersonAct | undefined {
  const describe = DESCRIBED[act.type] as ((data: object) => readonly [string, string]) | undefined;
  const { account, by, data } = act;
  const isLate = 'late' in data;
  if (describe === undefined || (data.who === undefined && !isLate)) return undefined;
  const { how = 'claimed', user, host, terminal } = data.who ?? {};
  const [what, about] = describe(data);
  return {
    at: formatIsoTime(isLate && 'at' in data ? data.at : act.at),
    who: by,
    how,
    act: what,
    about,
    ...('run' in data && data.run !== undefined ? { run: data.run } : {}),
    ...(user === undefined ? {} : { user }),
    ...(host === undefined ? {} : { host }),
    ...(terminal === undefined ? {} : { terminal }),
    account,
  };
}

/** The types to be read. */
export const PERSON_ACTS = Object.keys(DESCRIBED) as readonly ActType[];
