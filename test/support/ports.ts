import { once } from 'node:events';
import { createServer, type Server } from 'node:net';

/** Ports below those that the system gives to connections (32,768 and above). */
const FIRST_PORT = 12_001;
/** Ports of a test process: gateways share ports, so two servers with the same one would mix their answers. */
const PORTS_PER_PROCESS = 1280;
/** As many as `maxWorkers` of vitest.config.ts. */
const PROCESSES = 4;
/** Runs of the suite on this machine at the same time, each with ports of its own. */
const RUNS = 4;
/** The number of this run among those. */
const RUN_NUMBER = 'GRATICULE_TEST_RUN_NUMBER';

let lastPort = Math.floor(Math.random() * PORTS_PER_PROCESS);

/**
 * Takes the ports of one run, by a port that stays open until the run ends.
 * With more than four runs at the same time, the last ones share ports.
 */
export async function claimPorts(): Promise<Server | undefined> {
  for (let run = 0; run < RUNS; run += 1) {
    const claim = await listen(FIRST_PORT - 1 - run);
    if (!claim) continue;
    process.env[RUN_NUMBER] = String(run);
    return claim;
  }
  return undefined;
}

/** A port that was free a moment ago, of those that no other process of this run and no other run takes. */
export async function freePort(): Promise<number> {
  for (;;) {
    lastPort = (lastPort + 1) % PORTS_PER_PROCESS;
    const port = firstPort() + lastPort;
    const probe = await listen(port);
    if (!probe) continue;
    probe.close();
    await once(probe, 'close');
    return port;
  }
}

function firstPort(): number {
  const run = Number(process.env[RUN_NUMBER] ?? 0);
  const processNumber = Number(process.env['VITEST_POOL_ID'] ?? 0) % PROCESSES;
  return FIRST_PORT + PORTS_PER_PROCESS * (run * PROCESSES + processNumber);
}

function listen(port: number): Promise<Server | undefined> {
  const server = createServer();
  return new Promise((resolve) => {
    server.once('error', () => resolve(undefined));
    server.listen(port, () => resolve(server));
  });
}
