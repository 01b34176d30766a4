/**
 * Runs each test once as it is, then again with each mutant that it reaches switched on, until each is caught. So the modules
 * are loaded once, not once for each mutant. What it finds is a line in `work/log.jsonl`.
 */
import { appendFileSync, openSync, readFileSync, writeSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { TestRunner } from 'vitest';

const work = fileURLToPath(new URL('./work/', import.meta.url));
const { setInterval: startTimer, clearInterval: stopTimer } = globalThis;
/** Processor time, ms, within which a test with a mutant has ended: other programs may load the machine. */
const limitMs = (ms) => 500 + 10 * ms;
/** A test that takes next to none for so many looks waits for what never comes. */
const IDLE_LOOKS = 15;
const LOOK_EVERY_MS = 200;
/** So many times more often than in the test as it is, a changed place is reached only in a loop without end. */
const HITS = 100;

globalThis.mutating ??= begin();
const { plan, space, left, now } = globalThis.mutating;

function begin() {
  const plan = JSON.parse(readFileSync(`${work}plan.json`, 'utf8'));
  const space = { mutantCoverage: { static: {}, perTest: {} }, activeMutant: plan.always ?? '' };
  globalThis.__stryker__ = space;
  return { plan, space, left: new Set(plan.left), now: openSync(`${work}now.json`, 'w') };
}

export default class MutantRunner extends TestRunner {
  async onBeforeRunTask(test) {
    if (plan.tests !== undefined && plan.tests[nameOf(test)] === undefined) test.mode = 'skip';
    await super.onBeforeRunTask(test);
  }

  async runTask(test) {
    const given = TestRunner.getTestFn(test);
    // Assertions that an earlier run of the test left unawaited are none of this one.
    const run = () => {
      test.promises = undefined;
      return given();
    };
    const name = nameOf(test);
    if (plan.always !== undefined) {
      const caught = await this.runWith(plan.always, { run, name, ms: 3000, hits: 10_000 });
      if (caught !== undefined) throw new Error(`${caught} by mutant ${plan.always}`);
      return;
    }
    space.currentTestId = test.id;
    await run();
    const covered = space.mutantCoverage.perTest[test.id] ?? {};
    space.currentTestId = undefined;
    delete space.mutantCoverage.perTest[test.id];
    const reaches = Object.keys(covered).filter((mutant) => left.has(mutant));
    if (reaches.length === 0) return;
    const ms = await this.measure(run);
    if (plan.tests === undefined) {
      tell({ name, ms, repeats: ms !== undefined, covered: reaches });
      return;
    }
    if (ms === undefined) return;
    for (const [mutant, hits] of Object.entries(covered)) {
      if (!left.has(mutant)) continue;
      const caught = await this.runWith(mutant, { run, name, ms, hits });
      if (caught === undefined) continue;
      left.delete(mutant);
      tell({ caught: mutant, name, how: caught });
      if ((await this.measure(run)) === undefined) {
        // The mutant has left something behind in this process.
        tell({ spoilt: name, by: mutant });
        process.kill(process.pid, 'SIGKILL');
      }
    }
    tell({ done: name });
  }

  /** The processor time that the test takes as it is, ms; undefined where it does not pass a second time. */
  async measure(run) {
    const used = process.cpuUsage();
    try {
      await run();
      return usedSince(used);
    } catch {
      return undefined;
    }
  }

  /** How the test catches the mutant, if it does. */
  async runWith(mutant, { run, name, ms, hits }) {
    writeSync(now, JSON.stringify({ mutant, name, until: Date.now() + 30_000 + 20 * limitMs(ms) }).padEnd(1000), 0);
    Object.assign(space, { activeMutant: mutant, hitCount: 0, hitLimit: hits * HITS });
    let timer;
    const late = new Promise((resolve) => {
      const start = process.cpuUsage();
      let before = start;
      let idle = 0;
      timer = startTimer(() => {
        idle = usedSince(before) < 5 ? idle + 1 : 0;
        before = process.cpuUsage();
        if (idle >= IDLE_LOOKS || usedSince(start) > limitMs(ms)) resolve('late');
      }, LOOK_EVERY_MS);
    });
    try {
      const ended = await Promise.race([run(), late]);
      return ended === 'late' || space.hitCount > space.hitLimit ? 'timeout' : undefined;
    } catch {
      return space.hitCount > space.hitLimit ? 'timeout' : 'killed';
    } finally {
      stopTimer(timer);
      Object.assign(space, { activeMutant: plan.always ?? '', hitCount: undefined });
      writeSync(now, '{}'.padEnd(1000), 0);
    }
  }

  onAfterRunFiles() {
    if (plan.tests === undefined) tell({ loading: Object.keys(space.mutantCoverage.static) });
    super.onAfterRunFiles();
  }
}

function usedSince(before) {
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

function nameOf(test) {
  const names = [];
  for (let task = test; task !== undefined; task = task.suite) names.unshift(task.name);
  return `${test.file.name} ${names.join(' > ')}`;
}

function tell(line) {
  appendFileSync(`${work}log.jsonl`, `${JSON.stringify(line)}\n`);
}
