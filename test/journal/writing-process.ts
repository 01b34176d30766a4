/** Runs as a process of sqlite.test.ts: appends one entry after another and prints each number once it is durable. */
import { writeSync } from 'node:fs';
import { openSqliteStore } from '../../src/journal/stores/sqlite.ts';
import { newWriter, startedData } from './sample.ts';

const [file = ''] = process.argv.slice(2);
const writer = newWriter(await openSqliteStore(file), 'killed');
writer.append('run.started', startedData());
for (let index = 0; index < 100_000; index += 1) {
  const { seq } = writer.append('variable.set', { name: 'n', value: String(index) });
  await writer.flush();
  writeSync(1, `${seq}\n`);
}
