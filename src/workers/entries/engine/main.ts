/**
 * Engine process: runs native code that real data can crash, separate from the processes that have the connections.
 */

import { createServer } from 'node:net';
import type { TaskInput } from '../../../core/tasks/tasks.js';
import { joinSupervisor } from '../../../supervisor/child.js';
import { watchFaults } from '../../../supervisor/faults.js';
import { engineSettings, SCRATCH_VARIABLE } from '../../engine/settings.js';
import { lowerPriority, WORKER_NICENESS } from '../../threads/niceness.js';
import { EngineConnection } from './connection.js';
import { EngineThreads } from './threads.js';
import { isTranslatorTask, Translators } from './translate-process.js';

const REPLACEMENT_INTERVAL_MS = 60_000;
const FAREWELL_MS = 1000;

process.title = 'graticule: engine';
// Before any thread starts, so that all inherit it: drawing yields to the gateways when cores are short.
lowerPriority(WORKER_NICENESS);
// HDF5 would otherwise prevent other programs from writing to a file while it is open here.
process.env.HDF5_USE_FILE_LOCKING = 'FALSE';
const settings = engineSettings(process.argv[2], process.env);
// Threads that start later inherit the variable. The folder is next to the socket, so that the supervisor removes
// both.
process.env[SCRATCH_VARIABLE] = settings.socketPath.replace(/\.sock$/, '');
const connections = new Set<EngineConnection>();
const server = createServer();
let draining = false;

let replacementAskedAt = Number.NEGATIVE_INFINITY;

const supervisor = joinSupervisor({
  onDrain: () => void drainAndExit(settings.drainMs),
  onOrphaned: endAtOnce,
});

watchFaults({
  onRejection: (error) =>
    supervisor.log(
      'process.rejection',
      `the engine had an unhandled promise rejection; it continues: ${error.stack}`,
    ),
  onException: (error) => endAfterLoss(`the engine fails: ${error.stack}`),
});

/** Exit handlers of native libraries crash while their threads still work, so the process must not run them. */
function endAtOnce(): void {
  process.kill(process.pid, 'SIGKILL');
}

function wait(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

function endAfterLoss(reason: string): void {
  if (draining) return;
  supervisor.log('process.exception', reason);
  // The line needs a turn of the event loop to leave.
  setImmediate(endAtOnce);
}

/** Requests a replacement. Without a supervisor the engine ends after its current tasks. */
function recycle(reason: string): void {
  if (draining || performance.now() - replacementAskedAt < REPLACEMENT_INTERVAL_MS) return;
  replacementAskedAt = performance.now();
  supervisor.log('process.replacement.requested', `the engine requested its replacement: ${reason}`);
  if (!supervisor.requestReplacement(reason)) void drainAndExit(settings.drainMs);
}

async function drainAndExit(timeoutMs: number): Promise<void> {
  if (draining) return;
  draining = true;
  server.close();
  for (const connection of connections) connection.drain();
  const until = Date.now() + timeoutMs;
  while (Date.now() < until && [...connections].some(({ running }) => running > 0)) {
    await wait(20);
  }
  const goodbye = Promise.all([...connections].map((connection) => connection.end()));
  const left = Math.max(FAREWELL_MS, until - Date.now());
  const clean = await Promise.race([Promise.all([goodbye, threads.close()]).then(() => true), wait(left)]);
  if (!clean || threads.running > 0) endAtOnce();
  process.exit(0);
}

const translators = new Translators(() => endAfterLoss('the process that starts imports has ended'));
const threads = new EngineThreads({ ...settings, onStuck: recycle, onLost: endAfterLoss });

server.on('connection', (socket) => {
  const connection = new EngineConnection(
    socket,
    (task, input, options) => {
      if (task === 'engine.look') return threads.look();
      if (isTranslatorTask(task)) return translators.run(task, input as TaskInput<typeof task>, options);
      // The threads of other tasks load GDAL.
      translators.begin();
      return threads.run(task, input, options);
    },
    (error) =>
      supervisor.log(
        'process.connection.closed',
        `the engine closed a connection to a gateway: ${String(error)}`,
      ),
  );
  connections.add(connection);
  socket.on('close', () => connections.delete(connection));
});
server.on('error', (error) => endAfterLoss(`the engine socket failed: ${String(error)}`));

server.listen(settings.socketPath, () => supervisor.ready());

setInterval(() => {
  const { rss } = process.memoryUsage();
  if (rss > settings.rssLimitBytes) recycle(`resident memory is ${rss >> 20} MiB`);
}, settings.rssCheckMs).unref();
