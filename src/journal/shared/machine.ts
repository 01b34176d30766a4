/**
 * Gives the processes of one machine a common clock, and detects that one of them has ended. It claims neither without
 * certainty: freeing an account while its holder lives would mean two writers.
 */
import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';

export interface Machine {
  /** Milliseconds on a clock that never jumps and is the same in every process with the same `clockId`. */
  nowMs(): number;
  /** Identifies the clock; each start of the machine has its own. Instants of different clocks cannot be compared. */
  readonly clockId: string;
  /** Mark of this process, for `isGone`; empty when the system offers nothing to identify it by. */
  readonly self: string;
  /** True only when the process with that mark has certainly ended. */
  isGone(mark: string): boolean;
}

/** Describes the machine this process runs on. */
export function describeMachine(): Machine {
  const boot = readBootId();
  // A container may have its own process numbers, and even its own clock.
  const place = boot === undefined ? undefined : `${boot} ${readNamespace('pid')}`;
  return {
    nowMs: () => Number(process.hrtime.bigint()) / 1e6,
    clockId: boot === undefined ? hostname() : `${boot} ${readNamespace('time')}`,
    self: place === undefined ? '' : `${place} ${process.pid} ${readStart(process.pid) ?? '?'}`,
    isGone: (mark) => place !== undefined && mark.startsWith(`${place} `) && hasEnded(mark),
  };
}

/**
 * Identifies the machine start from which monotonic time counts (base/clock.ts, SystemClock). Two processes get the same value
 * only when that is certain; when the system does not say, each process gets its own.
 */
export function identifyMachineStart(): string {
  const boot = readBootId();
  return boot === undefined
    ? `${hostname()} ${process.pid} ${performance.timeOrigin}`
    : `start ${boot} ${readNamespace('time')}`;
}

function readBootId(): string | undefined {
  return tryRead(() => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim());
}

function readNamespace(name: string): string {
  return tryRead(() => readlinkSync(`/proc/self/ns/${name}`)) ?? name;
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
  // The number is in use: by the same process, by its zombie, or by a later process.
  const startNow = readStart(pid);
  return startNow === 'ended' || (startNow !== undefined && start !== '?' && startNow !== start);
}

/** Reads when a process started, in clock ticks since the machine's start; `ended` for a zombie. */
function readStart(pid: number): string | undefined {
  const stat = tryRead(() => readFileSync(`/proc/${pid}/stat`, 'utf8'));
  // The second field is the program's name in brackets, and may contain blanks and brackets itself.
  const fields = stat?.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [state] = fields ?? [];
  return state === 'Z' || state === 'X' ? 'ended' : fields?.[19];
}

function tryRead(read: () => string): string | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
