import { hash, randomUUID } from 'node:crypto';
import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';

/** A name for this process. Other processes on its machine can check by it whether this one still runs. */
export function instanceName(): string {
  return `${MACHINE}:${process.pid}:${randomUUID()}`;
}

/** Scope in which process ids are unique. Machines can share a host name, and so can containers of one machine. */
const MACHINE = machine();

function machine(): string {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'latin1');
    const id = hash('sha256', `${boot} ${readlinkSync('/proc/self/ns/pid')}`, 'hex').slice(0, 12);
    return `${hostname()}@${id}`;
  } catch {
    return hostname();
  }
}

/**
 * Whether the process of a name has ended for certain. One of another machine, and one whose number is used again, are
 * not known to have ended: their leases run out.
 */
export function hasEnded(instance: string): boolean {
  const pid = instance.split(':')[1] ?? '';
  return isOnThisMachine(instance) && /^\d+$/.test(pid) && !isRunning(Number(pid));
}

/** Whether the number of a name's process means the same here. */
export function isOnThisMachine(instance: string): boolean {
  const [host] = instance.split(':');
  // Former releases used only the host name, in files and databases of this machine.
  return host === MACHINE || host === hostname();
}

/** A name for the server that this process belongs to: for its supervisor. */
export function serverName(): string {
  return `${MACHINE}:${process.ppid}`;
}

/** Whether a process of this machine runs. A killed process that its parent has not reaped does not. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
  }
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The process name is in brackets and can contain any character. The state follows it.
    return stat[stat.lastIndexOf(')') + 2] !== 'Z';
  } catch {
    return true;
  }
}

/** Whether a process other than `instance` has a lease with this number of milliseconds left. */
export function isHeldByAnother(
  { owner, left_ms }: { owner: string | null; left_ms: number },
  instance: string,
): boolean {
  return owner !== null && owner !== instance && left_ms > 0 && !hasEnded(owner);
}
