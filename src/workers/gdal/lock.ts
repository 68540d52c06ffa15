/** Queues of tasks that must run one after the other. */

import { TaskFailure } from '../../core/errors/failure.js';
import type { Cancellation } from '../threads/cancellation.js';

/** Waiting tasks by key, first come, first served. The running task is not in the list. */
const lines = new Map<string, (() => void)[]>();

/** Returns the number of tasks that have the key or wait for it. */
export function getQueueLength(key: string): number {
  const waiting = lines.get(key);
  return waiting ? waiting.length + 1 : 0;
}

/** Runs tasks with the same key one after the other. After a call of `leave` the next task runs concurrently. */
export async function oneAtATime<T>(
  key: string,
  run: (leave: () => void) => Promise<T>,
  cancellation?: Cancellation,
): Promise<T> {
  await awaitTurn(key, cancellation);
  let hasLeft = false;
  const leave = () => {
    if (!hasLeft) startNext(key);
    hasLeft = true;
  };
  try {
    return await run(leave);
  } finally {
    leave();
  }
}

/** Waits for a turn. Fails with `cancelled` as soon as the turn is not needed any more. */
async function awaitTurn(key: string, cancellation?: Cancellation): Promise<void> {
  const waiting = lines.get(key);
  if (!waiting) {
    lines.set(key, []);
    return;
  }
  let unhook: (() => void) | undefined;
  await new Promise<void>((resolve, reject) => {
    waiting.push(resolve);
    unhook = cancellation?.onRequest(() => {
      const place = waiting.indexOf(resolve);
      if (place >= 0) waiting.splice(place, 1);
      reject(new TaskFailure('cancelled', 'The task was cancelled.'));
    });
  }).finally(() => unhook?.());
}

function startNext(key: string): void {
  const start = lines.get(key)!.shift();
  if (start) start();
  else lines.delete(key);
}
