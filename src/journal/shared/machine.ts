/**
 * The machine as the processes on it see it together: a clock that all of them read alike, and whether one of them is gone.
 * Both are certain or not claimed at all: an account freed while its holder lives means two writers.
 */
import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';

export interface Machine {
  /** Milliseconds on a clock that never jumps and is the same in every process with the same `clockId`. */
  nowMs(): number;
  /** Instants of two different clocks can not be compared: each start of the machine has its own. */
  readonly clockId: string;
  /** This process, for `isGone`; empty where the system offers nothing to recognise it by. */
  readonly self: string;
  /** True only when the process of that mark has certainly ended. */
  isGone(mark: string): boolean;
}

/** The machine this process runs on. */
export function thisMachine(): Machine {
  const boot = bootId();
  // Containers of one machine may have process numbers, and even a clock, of their own.
  const place = boot === undefined ? undefined : `${boot} ${space('pid')}`;
  return {
    nowMs: () => Number(process.hrtime.bigint()) / 1e6,
    clockId: boot === undefined ? hostname() : `${boot} ${space('time')}`,
    self: place === undefined ? '' : markOf(place, process.pid, startOf(process.pid)),
    isGone: (mark) => place !== undefined && mark.startsWith(`${place} `) && hasEnded(mark),
  };
}

/**
 * Which start of this machine the time of its processes counts from (base/clock.ts, SystemClock): equal in two of them only
 * where it is certain, so each has one of its own where the system tells nothing.
 */
export function machineStart(): string {
  const boot = bootId();
  return boot === undefined
    ? `${hostname()} ${process.pid} ${performance.timeOrigin}`
    : `start ${boot} ${space('time')}`;
}

function bootId(): string | undefined {
  return readable(() => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim());
}

function space(name: string): string {
  return readable(() => readlinkSync(`/proc/self/ns/${name}`)) ?? name;
}

function markOf(place: string, pid: number, start: string | undefined): string {
  return `${place} ${pid} ${start ?? '?'}`;
}

function hasEnded(mark: string): boolean {
  const [pidText = '', start = '?'] = mark.split(' ').slice(-2);
  const pid = Number.parseInt(pidText, 10);
  if (!Number.isSafeInteger(pid) || pid <= 0) return false;
  try {
    process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH';
  }
  // The number is in use: by the same process, by its remains that nobody has collected, or by another that came later.
  const startNow = startOf(pid);
  return startNow === 'ended' || (startNow !== undefined && start !== '?' && startNow !== start);
}

/** When a process started, in clock ticks since the machine's start; `ended` for one that is dead and not collected yet. */
function startOf(pid: number): string | undefined {
  const stat = readable(() => readFileSync(`/proc/${pid}/stat`, 'utf8'));
  // The second field is the program's name in brackets, and may contain blanks and brackets itself.
  const fields = stat?.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [state] = fields ?? [];
  return state === 'Z' || state === 'X' ? 'ended' : fields?.[19];
}

function readable(read: () => string): string | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
