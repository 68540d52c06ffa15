import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';

/** A name for this process, from which others on its machine can tell whether it still runs. */
export function instanceName(): string {
  return `${hostname()}:${process.pid}:${randomUUID()}`;
}

/**
 * Whether the process of a name has ended for certain. One of another machine, and one whose number is used again, are
 * not known to have ended: their leases run out.
 */
export function hasEnded(instance: string): boolean {
  const [host, pid] = instance.split(':');
  if (host !== hostname() || !/^\d+$/.test(pid ?? '')) return false;
  return !isRunning(Number(pid));
}

/** Whether a process of this machine runs. One that was killed, and whose end nobody has asked for, does not. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
  }
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The name stands in brackets and may hold any character; the state follows it.
    return stat[stat.lastIndexOf(')') + 2] !== 'Z';
  } catch {
    return true;
  }
}

/** Whether another process than `instance` holds a lease, of which so many milliseconds are left. */
export function isHeldByAnother(
  { owner, left_ms }: { owner: string | null; left_ms: number },
  instance: string,
): boolean {
  return owner !== null && owner !== instance && left_ms > 0 && !hasEnded(owner);
}
