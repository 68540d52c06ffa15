import type { NetworkTasks } from '../../core/networks/networks.js';
import { findRoute } from '../networks/routes.js';
import { runTaskBody } from '../threads/failure.js';
import { lowerPriority, WORKER_NICENESS } from '../threads/niceness.js';
import type { OneThreadMessage } from '../threads/one-thread.js';

/** Thread side of routes. */

lowerPriority(WORKER_NICENESS);

export default function runTask({ input }: OneThreadMessage<'network.route'>) {
  return runTaskBody(async () => findRoute(input as NetworkTasks['network.route']['input']));
}
