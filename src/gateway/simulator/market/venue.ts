/** Assembles the parts of the simulated venue. */
import type { Clock } from '../../../base/clock.ts';
import { decimal } from '../../../base/decimal.ts';
import type { Chance } from '../config/random.ts';
import type { Settings } from '../config/settings.ts';
import { PriceGrid, PricePath } from '../price/prices.ts';
import { Account } from './account.ts';
import { DeadmanSwitch } from './deadman.ts';
import { EventQueue } from './events.ts';
import { FillEngine } from './fills.ts';
import { OrderLedger } from './ledger.ts';
import { Market } from './matching.ts';
import { OrderEntry } from './orders.ts';
import { Sessions } from './sessions.ts';

export interface Venue {
  readonly settings: Settings;
  readonly chance: Chance;
  readonly markets: ReadonlyMap<string, Market>;
  readonly ledger: OrderLedger;
  readonly account: Account;
  readonly fillEngine: FillEngine;
  readonly events: EventQueue;
  readonly orderEntry: OrderEntry;
  readonly deadman: DeadmanSwitch;
  readonly sessions: Sessions;
}

/** Starts the venue now, with the positions and orders of the settings. `keepsRenewals`: whether the books show those of the switch. */
export function openVenue(settings: Settings, clock: Clock, chance: Chance, keepsRenewals: boolean): Venue {
  const startedAt = clock.now();
  const markets = openMarkets(settings, startedAt, chance);
  const ledger = new OrderLedger(settings.account.id, settings.surprises, {
    clockSteps: settings.clockSteps,
    startedAt,
  });
  const account = new Account(settings.account, [...markets.keys()], startedAt, (id, at) =>
    fillEngine.getMarket(id).getMidAt(at),
  );
  const fillEngine = new FillEngine({ settings, chance, ledger, account, markets });
  const events = new EventQueue(clock, [...markets.values()], (market, at) => fillEngine.step(market, at));
  const orderEntry = new OrderEntry({ settings, chance, events, fillEngine, ledger });
  const deadman = new DeadmanSwitch(
    clock,
    settings.surprises.deadmanDelayMs,
    (at) => orderEntry.cancelByDeadman(at),
    keepsRenewals,
  );
  const sessions = new Sessions(settings.auth, startedAt);
  const { positions, resting } = settings.account;
  fillEngine.openWith({ positions, resting: resting.filter(({ agoMs }) => agoMs >= 0) }, startedAt);
  for (const agoMs of new Set(resting.map((row) => row.agoMs).filter((each) => each < 0))) {
    const arriving = { positions: [], resting: resting.filter((row) => row.agoMs === agoMs) };
    events.schedule(startedAt - agoMs, () => fillEngine.openWith(arriving, startedAt));
  }
  events.watch();
  return { settings, chance, markets, ledger, account, fillEngine, events, orderEntry, deadman, sessions };
}

function openMarkets(settings: Settings, startedAt: number, chance: Chance): Map<string, Market> {
  return new Map(
    Object.entries(settings.markets).map(([id, config]) => {
      const grid = new PriceGrid(decimal(config.tick));
      const path = new PricePath(config, grid, startedAt, chance.openStream(`prices ${id}`));
      return [id, new Market(id, config, grid, path)];
    }),
  );
}
