import type { NetworkTasks } from '../../core/networks/networks.js';
import { buildNetwork } from '../networks/build.js';
import { runTaskBody } from '../threads/failure.js';
import { lowerPriority, PROCESS_NICENESS } from '../threads/niceness.js';
import type { OneThreadMessage } from '../threads/one-thread.js';

/** Thread side of network builds, which can take minutes. */

lowerPriority(PROCESS_NICENESS);

export default function runTask({ input }: OneThreadMessage<'network.build'>) {
  return runTaskBody(() => buildNetwork(input as NetworkTasks['network.build']['input']));
}
