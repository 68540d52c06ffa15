import { getPriority, setPriority } from 'node:os';

/**
 * Niceness of threads and processes that compute: with fewer cores than work, client requests have priority. With two
 * saturated cores, the event loop has a median delay of 0.05 ms instead of 4.6 (bench gateway-delay).
 */
export const WORKER_NICENESS = 10;
/** Niceness of the thread that is for callers with a key while the other threads are in use. */
export const KEYED_NICENESS = 4;
/** Niceness of threads that run processes, which wait for all other work. */
export const PROCESS_NICENESS = 15;

/**
 * Lowers the priority of this thread, which Linux keeps for each thread. A process that was started with a higher niceness
 * keeps it: without privileges no priority can be raised.
 */
export function lowerPriority(niceness: number): void {
  if (getPriority() < niceness) setPriority(niceness);
}
