/** The parts of the simulated venue and how they are put together; nothing here does anything. */
import type { Clock } from '../../../base/clock.ts';
import { decimal } from '../../../base/decimal.ts';
import type { Chance } from '../config/random.ts';
import type { Settings } from '../config/settings.ts';
import { Account } from './account.ts';
import { DeadmanSwitch } from './deadman.ts';
import { Agenda } from './events.ts';
import { Floor } from './fills.ts';
import { Book } from './ledger.ts';
import { Market } from './matching.ts';
import { Desk } from './orders.ts';
import { PriceGrid, PricePath } from './prices.ts';
import { Sessions } from './sessions.ts';

export interface Venue {
  readonly settings: Settings;
  readonly markets: ReadonlyMap<string, Market>;
  readonly book: Book;
  readonly account: Account;
  readonly floor: Floor;
  readonly agenda: Agenda;
  readonly desk: Desk;
  readonly deadman: DeadmanSwitch;
  readonly sessions: Sessions;
}

/** Opens for business now, with the positions and orders that the settings begin with. */
export function openVenue(settings: Settings, clock: Clock, chance: Chance): Venue {
  const startedAt = clock.now();
  const markets = openMarkets(settings, startedAt, chance);
  const book = new Book(settings.account.id, settings.surprises.stopStatus);
  const account = new Account(settings.account, [...markets.keys()], startedAt, (id, at) => floor.market(id).midAt(at));
  const floor = new Floor({ settings, book, account, markets });
  const agenda = new Agenda(clock, [...markets.values()], (market, at) => floor.step(market, at));
  const desk = new Desk({ settings, chance, agenda, floor, book });
  const deadman = new DeadmanSwitch(clock, settings.surprises.deadmanDelayMs, (at) => desk.cancelByDeadman(at));
  const sessions = new Sessions(settings.auth, startedAt);
  floor.openWith(settings.account, startedAt);
  agenda.watch();
  return { settings, markets, book, account, floor, agenda, desk, deadman, sessions };
}

function openMarkets(settings: Settings, startedAt: number, chance: Chance): Map<string, Market> {
  return new Map(
    Object.entries(settings.markets).map(([id, config]) => {
      const grid = new PriceGrid(decimal(config.tick));
      const path = new PricePath(config, grid, startedAt, chance.stream(`prices ${id}`));
      return [id, new Market(id, config, grid, path)];
    }),
  );
}
