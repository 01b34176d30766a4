/**
 * Runs each test as it is, to see which mutants it reaches and how long it takes, then again with each of them switched on that no
 * test has caught yet. So the modules are loaded once, not once for each mutant. What it finds is a line in `work/log.jsonl`.
 */
import { appendFileSync, openSync, readFileSync, writeSync } from 'node:fs';
import { TestRunner } from 'vitest';

/** See rounds.js. */
const work = process.env.MUTATE_WORK;
const { setInterval: startTimer, clearInterval: stopTimer } = globalThis;
/** Processor time, ms, within which a test with a mutant has ended: other programs may load the machine. */
const limitMs = (ms) => 500 + 10 * ms;
/** A test that takes next to none for so many looks waits for what never comes. */
const IDLE_LOOKS = 15;
const LOOK_EVERY_MS = 200;
/** A test that holds its process is ended after this time, ms, where its processor time cannot be read. */
const PATIENCE_MS = 600_000;
/** So many times more often than in the test as it is, a changed place is reached only in a loop without end. */
const HITS = 100;

globalThis.mutating ??= begin();
const { plan, space, left, tries, now } = globalThis.mutating;

function begin() {
  const plan = JSON.parse(readFileSync(`${work}plan.json`, 'utf8'));
  const space = { mutantCoverage: { static: {}, perTest: {} }, activeMutant: plan.always ?? '' };
  globalThis.__stryker__ = space;
  return {
    plan,
    space,
    left: new Set(plan.left),
    tries: new Map(Object.entries(plan.tries ?? {})),
    now: openSync(`${work}now.json`, 'w'),
  };
}

export default class MutantRunner extends TestRunner {
  async onBeforeRunTask(test) {
    const name = nameOf(test);
    const isDue = plan.due === undefined ? plan.done?.[name] === undefined : plan.due[name] !== undefined;
    if (!isDue) test.mode = 'skip';
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
    const reached = Object.keys(covered);
    const wanted = plan.due?.[name] ?? true;
    const tried = reached.filter((mutant) => left.has(mutant) && (wanted === true || wanted.includes(mutant)));
    const ms = tried.length === 0 ? 0 : await this.measure(run);
    for (const mutant of ms <= plan.atMostMs ? tried : []) {
      const count = tries.get(mutant) ?? 0;
      tries.set(mutant, count + 1);
      if (count < plan.after || count >= plan.upTo) continue;
      const caught = await this.runWith(mutant, { run, name, ms, hits: covered[mutant] });
      if (caught === undefined) continue;
      left.delete(mutant);
      tell({ caught: mutant, name, how: caught });
      if (this.isBusy || (await this.measure(run)) === undefined) {
        // The mutant goes on in this process, or has left something behind in it.
        tell({ spoilt: name, by: mutant });
        process.kill(process.pid, 'SIGKILL');
      }
    }
    tell({ done: name, ms, reached, tried: ms <= plan.atMostMs ? tried : [] });
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
    const untilUsedMs = usedSince() + 2000 + 3 * limitMs(ms);
    const { pid } = process;
    writeSync(now, JSON.stringify({ mutant, name, pid, untilUsedMs, until: Date.now() + PATIENCE_MS }).padEnd(1000), 0);
    Object.assign(space, { activeMutant: mutant, hitCount: 0, hitLimit: hits * HITS });
    let timer;
    this.isBusy = false;
    const late = new Promise((resolve) => {
      const start = process.cpuUsage();
      let before = start;
      let queued = readQueuedMs();
      let idle = 0;
      timer = startTimer(() => {
        // One that other programs keep from a processor has used none either.
        idle = usedSince(before) < 5 && readQueuedMs() - queued < 20 ? idle + 1 : 0;
        before = process.cpuUsage();
        queued = readQueuedMs();
        if (idle >= IDLE_LOOKS) resolve('idle');
        else if (usedSince(start) > limitMs(ms)) resolve('busy');
      }, LOOK_EVERY_MS);
    });
    try {
      const ended = await Promise.race([run(), late]);
      this.isBusy = ended === 'busy';
      return ended === 'idle' || ended === 'busy' || space.hitCount > space.hitLimit ? 'timeout' : undefined;
    } catch {
      return space.hitCount > space.hitLimit ? 'timeout' : 'killed';
    } finally {
      stopTimer(timer);
      Object.assign(space, { activeMutant: plan.always ?? '', hitCount: undefined });
      writeSync(now, '{}'.padEnd(1000), 0);
    }
  }

  onAfterRunFiles() {
    tell({ loading: Object.keys(space.mutantCoverage.static).filter((mutant) => left.has(mutant)) });
    super.onAfterRunFiles();
  }
}

function usedSince(before) {
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

/** How long this thread was ready and had no processor, ms; 0 where the system does not say. */
function readQueuedMs() {
  try {
    return Number(readFileSync('/proc/self/schedstat', 'utf8').split(' ')[1]) / 1e6;
  } catch {
    return 0;
  }
}

function nameOf(test) {
  const names = [];
  for (let task = test; task !== undefined; task = task.suite) names.unshift(task.name);
  return `${test.file.name} ${names.join(' > ')}`;
}

function tell(line) {
  appendFileSync(`${work}log.jsonl`, `${JSON.stringify(line)}\n`);
}
