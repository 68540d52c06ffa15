/**
 * A process that creates a deploy operation or executes approved ones, and that the kernel ends at one stage of its
 * work: `node FILE PLACE WORKER STAGE create|execute`.
 */
import { openPostgresState, openState } from '../../src/stores/state/state.js';
import { NEXT, OPERATOR, openDeployments } from './deploy-support.js';
import { createKillPoint } from './kill-points.js';

const [place, worker, stage, mode] = process.argv.slice(2) as [string, string, string, string];
const bounds = { connections: 4, connectMs: 5000, statementMs: 10_000 };
const state = place.startsWith('postgresql:')
  ? await openPostgresState(place, bounds)
  : await openState(place, new URL(worker));
const { ledger, engine, keys, deployments } = openDeployments(state);
const watch = createKillPoint(stage);
let transactions = 0;
watch(state, 'atomically', () => `commit-${++transactions}`);
if (mode === 'create') {
  watch(state.documents, 'create', 'store');
  watch(ledger, 'propose', 'propose');
  await deployments.create({ ...NEXT, idempotencyKey: 'k' }, OPERATOR);
  process.exit();
}
watch(keys, 'signer', 'receipt');
for (const one of ledger.actuators)
  for (const method of ['preconditions', 'act', 'verify']) watch(one, method, method);
engine.start();
// Ends with the test.
process.stdin.on('end', () => process.exit()).resume();
