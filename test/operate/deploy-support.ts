import { createDeployActuator } from '../../src/services/deploy/actuator.js';
import { Deployments } from '../../src/services/deploy/deployments.js';
import type { State } from '../../src/stores/state/state.js';
import { createCaller, openLedger } from './support.js';

/** May deploy. `OTHER` may approve. */
export const OPERATOR = createCaller('operator', ['admin:deploy:write']);
export const OTHER = createCaller('other', ['admin:deploy:write']);

export const NEXT = { targetId: 'servers', desiredRevision: '2026.3.1' };

/** A server that deploys. Its jobs run after `engine.start()`. */
export function openDeployments(state: State, options: { verifyMs?: number; pinned?: 'servers'[] } = {}) {
  const server = openLedger(state);
  const { verifyMs = 60_000, pinned = [] } = options;
  server.ledger.register(createDeployActuator(state, verifyMs));
  const settings = { release: '2026.3.1', artifact: 'graticule:2026.3.1', pinned };
  const deployments = new Deployments({ state, ledger: server.ledger, settings });
  return { ...server, deployments };
}

/**
 * Heartbeats of servers with these releases, in place of all earlier ones. No process sees fewer servers while they are
 * replaced.
 */
export function runReleases(state: State, ...releases: string[]): Promise<void> {
  return state.atomically(async ({ instances }) => {
    for (const { name } of await instances.alive()) await instances.remove(name);
    for (const [i, release] of releases.entries())
      await instances.beat({
        ...{ name: `elsewhere ${i} ${release}`, server: `server ${i}`, host: 'elsewhere' },
        ...{ release, applied: 0 },
      });
  });
}
