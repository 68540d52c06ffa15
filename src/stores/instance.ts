import { randomUUID } from 'node:crypto';
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
  try {
    process.kill(Number(pid), 0);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH';
  }
}

/** Whether another process than `instance` holds a lease now. */
export function isHeldByAnother(
  { owner, lease_expires_at }: { owner: string | null; lease_expires_at: number },
  instance: string,
): boolean {
  return owner !== null && owner !== instance && lease_expires_at > Date.now() && !hasEnded(owner);
}
