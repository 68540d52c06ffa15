/**
 * A process that evaluates alerts and sends them, and that the kernel ends at one stage of its work:
 * `node FILE PLACE URL STAGE TIMES`, as in `before:commit 3`.
 */
import { DeliveryDispatcher } from '../../src/services/deliveries/dispatcher.js';
import type { Sender } from '../../src/services/deliveries/lane.js';
import { readStatus } from '../../src/services/deliveries/outcome.js';
import { Feed } from '../../src/services/streams/feed.js';
import type { Log } from '../../src/services/telemetry/log.js';
import { instanceName } from '../../src/stores/database/instance.js';
import { openPostgresState, openState } from '../../src/stores/state/state.js';
import { openWorld } from './world.js';

const [place, worker, url, stage, times] = process.argv.slice(2) as [string, string, string, string, string];
let left = Number(times);

/** Ends the process before or after the calls of a method that belong to a stage. */
function watch<T extends object>(target: T, method: keyof T & string, name: string): void {
  const call = (target[method] as (...args: unknown[]) => unknown).bind(target);
  const reach = (point: string) => {
    if (point === stage && --left === 0) process.kill(process.pid, 'SIGKILL');
  };
  const watched = async (...args: unknown[]) => {
    reach(`before:${name}`);
    const result = await call(...args);
    reach(`after:${name}`);
    return result;
  };
  Object.assign(target, { [method]: watched });
}

const bounds = { connections: 4, connectMs: 5000, statementMs: 10_000 };
const state = place.startsWith('postgresql:')
  ? await openPostgresState(place, bounds)
  : await openState(place, new URL(worker));
const write = (...line: unknown[]) => console.error(JSON.stringify(line));
const world = await openWorld({ state } as never, write);
const feed = await Feed.open(state.feed);
state.feed.follow(() => void feed.catchUp());
const instance = instanceName();

const sender: Sender = {
  batch: 10,
  async send(eventId, body) {
    const response = await fetch(url, { method: 'POST', headers: { 'x-svc-event-id': eventId }, body });
    return readStatus(response.status);
  },
};
watch(feed, 'resume', 'read');
watch(state.alertEvaluation, 'states', 'evaluate');
watch(state.alertEvaluation, 'commit', 'commit');
watch(state.deliveries, 'take', 'claim');
watch(sender, 'send', 'send');
watch(state.deliveries, 'settle', 'settle');

const meter = { sent() {}, failed() {}, dead() {}, joined() {}, deferred() {} };
new DeliveryDispatcher(
  {
    ...{ store: state.deliveries, log: { write } as unknown as Log, instance, counted() {} },
    notices: { notify() {} },
  },
  [{ name: ':alert:webhook', sender, meter }],
).start();
world.start(state, feed, instance);
// Ends with the test.
process.stdin.on('end', () => process.exit()).resume();
