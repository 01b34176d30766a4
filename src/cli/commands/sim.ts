/** `runbook sim`: serves the simulated venue over HTTP on the loopback address, until it is interrupted. */

import { type ExitCode, refusePort } from '../../app/errors.ts';
import { readSimulatorFile } from '../../app/files/simulator.ts';
import { exitAfter } from '../../app/process.ts';
import { SystemClock } from '../../base/clock.ts';
import { startSimServer } from '../../gateway/simulator/server.ts';
import { Simulator } from '../../gateway/simulator/simulator.ts';
import type { Given } from '../actions/actions.ts';
import { endProcess } from '../exit.ts';
import type { Invocation } from '../invocation.ts';
import { readPortOption, readSeedOption } from '../option-values.ts';
import { waitForInterrupt } from '../terminal/signals.ts';

const DEFAULT_PORT = 8080;

export async function serveSimulator(options: Given<'sim'>, { terminal }: Invocation): Promise<ExitCode> {
  const port = readPortOption(options.port, DEFAULT_PORT);
  const config = options.config === undefined ? {} : readSimulatorFile(options.config);
  const simulator = new Simulator(config, new SystemClock(), readSeedOption(options.seed));
  const server = await startSimServer(simulator, { port }).catch((error: unknown) => refusePort(port, error));
  const markets = Object.keys(simulator.markets).join(', ');
  terminal.answer(
    { url: server.url, markets: simulator.markets },
    () =>
      `the simulated venue listens on ${server.url} (${markets}); GET /_sim/books shows its true state; end it with Ctrl-C`,
  );
  const signal = await waitForInterrupt();
  await server.close();
  // Timers of the venue's orders would keep the process running.
  endProcess(exitAfter(signal));
}
