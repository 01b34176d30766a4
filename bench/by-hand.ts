/**
 * Measures the lowest cost of a durable call, written by hand: a request with got, and one insert before and one after it.
 * Arguments: address, database, number of calls, pause between two calls (ms). Prints the median in ms. With `send` in place of
 * the database it sends one DELETE and ends.
 */
import { got } from 'got';
import { openDatabase } from '../src/journal/sql/sqlite.ts';
import { computeMedian } from './measure.ts';
import { ACCOUNT_RECORD } from './trials/account-record.ts';

const [address = '', file = '', count = '0', pause = '0'] = process.argv.slice(2);

if (file === 'send') {
  await got.delete(`${address}/orders/cancel_all`, { json: {} });
} else {
  const database = await openDatabase(file);
  database.exec('CREATE TABLE entries (seq INTEGER PRIMARY KEY, line TEXT)');
  const insert = database.statement('INSERT INTO entries (line) VALUES (?)');
  const [intent, outcome] = ['x'.repeat(700), 'x'.repeat(700 + ACCOUNT_RECORD.length)];
  const times: number[] = [];
  for (let n = 0; n < Number(count); n += 1) {
    if (pause !== '0') await new Promise((resolve) => setTimeout(resolve, Number(pause)));
    const begun = performance.now();
    insert.run(intent);
    await got
      .put(`${address}/account/leverage`, { json: { market_id: 'BTC-USD', leverage: 3 }, retry: { limit: 0 } })
      .json();
    insert.run(outcome);
    times.push(performance.now() - begun);
  }
  database.close();
  process.stdout.write(String(computeMedian(times.slice(20))));
}
