/**
 * A process that executes approved actions, and that the kernel ends at one stage of its work:
 * `node FILE PLACE WORKER STAGE`, as in `before:act`.
 */
import type { Actuator } from '../../src/services/actions/actuator.js';
import { openPostgresState, openState } from '../../src/stores/state/state.js';
import { createKillPoint } from './kill-points.js';
import { createLampActuator, openLedger } from './support.js';

const [place, worker, stage] = process.argv.slice(2) as [string, string, string];

const watch = createKillPoint(stage);
const bounds = { connections: 4, connectMs: 5000, statementMs: 10_000 };
const state = place.startsWith('postgresql:')
  ? await openPostgresState(place, bounds)
  : await openState(place, new URL(worker));
const { ledger, engine, keys } = openLedger(state);
for (const acts of ['in-transaction', 'in-own-transaction', 'repeatably'] as const) {
  const actuator = createLampActuator(state, { name: `lamp.${acts}`, acts });
  watch(actuator, 'preconditions', 'check');
  watch(actuator, 'act', 'act');
  watch(actuator, 'verify', 'verify');
  ledger.register(actuator as Actuator);
}
watch(keys, 'published', 'seals');
let transactions = 0;
watch(state, 'atomically', () => `commit-${++transactions}`);
watch(keys, 'signer', 'receipt');
engine.start();
// Ends with the test.
process.stdin.on('end', () => process.exit()).resume();
