import { measureFloors } from './processes/floors.js';
import { measureJobs } from './processes/jobs.js';
import { measureMemory } from './processes/memory.js';
import { measurePeers } from './processes/peers.js';
import { measurePushDown } from './processes/push-down.js';
import { textOption } from './support/report.js';

/** Processes, in parts that are measured alone: `--part floors`, `peers`, `push-down`, `jobs` or `memory`. */
const PARTS = {
  floors: measureFloors,
  peers: measurePeers,
  'push-down': measurePushDown,
  jobs: measureJobs,
  memory: measureMemory,
};

const name = textOption('part');
const parts = Object.entries(PARTS).filter(([part]) => name === undefined || part === name);
if (parts.length === 0) throw new Error(`Parts: ${Object.keys(PARTS).join(', ')}`);
for (const [, measure] of parts) await measure();
