import { statfs } from 'node:fs/promises';
import { hostname } from 'node:os';
import { listClosedLayers } from '../../../services/access/rules/findings.js';
import type { AuditCheckpoints } from '../../../services/audit/checkpoints.js';
import { Findings } from '../../../services/operate/findings/findings.js';
import { createDatabaseRules } from '../../../services/operate/rules/databases.js';
import { createDeliveryRules } from '../../../services/operate/rules/deliveries.js';
import { createJobRules } from '../../../services/operate/rules/jobs.js';
import { createLayerRules } from '../../../services/operate/rules/layers.js';
import { createLicenceRules, type LicenceRuleDeps } from '../../../services/operate/rules/licences.js';
import { type ConnectionUse, createRecordRules } from '../../../services/operate/rules/records.js';
import { createServerRules, type HostFacts } from '../../../services/operate/rules/server.js';
import { createSourceRules } from '../../../services/operate/rules/sources.js';
import { createTileRules } from '../../../services/operate/rules/tiles.js';
import type { CollectionUse } from '../../../services/tiles/cache/collection-uses.js';
import type { Data } from '../data.js';
import type { Foundation } from '../foundation.js';
import { readReceivers } from '../health.js';

const HOST_TOPIC = 'operate.host-facts';
const CONNECTIONS_TOPIC = 'operate.connections';
const TILES_TOPIC = 'operate.tile-uses';

interface FindingFacts extends LicenceRuleDeps {
  readonly audit: Pick<AuditCheckpoints, 'verify'>;
}

/** The findings of all servers, by all rules. */
export function createFindings(
  foundation: Foundation,
  data: Data,
  { audit, licences, capacity }: FindingFacts,
): Findings {
  const { state, pools, peers, observer, reports } = foundation;
  const catalog = () => data.catalog.current;
  peers.answer(HOST_TOPIC, () => readHostFacts(foundation));
  peers.answer(TILES_TOPIC, () => data.caching.tiles.collectionUses());
  peers.answer(CONNECTIONS_TOPIC, () => readConnections(foundation));
  return new Findings({
    store: state.findings,
    rules: [
      ...createSourceRules({ sources: () => data.sourceStates.list() }),
      ...createLayerRules({
        catalog,
        closedLayers: () => listClosedLayers(data.rules.current, catalog()),
      }),
      ...createDeliveryRules({ receivers: () => readReceivers(foundation) }),
      ...createDatabaseRules({ catalog, pools }),
      ...createTileRules({ catalog, tileUses: () => peers.gather<CollectionUse[]>(TILES_TOPIC) }),
      ...createJobRules({ stuckJobs: (silentMs) => readStuckJobs(foundation, silentMs) }),
      ...createRecordRules({
        ...{ observer, reports },
        connections: () => peers.gather<ConnectionUse>(CONNECTIONS_TOPIC),
      }),
      ...createLicenceRules({ licences, capacity }),
      ...createServerRules({
        instances: () => state.instances.alive(),
        migrationSteps: () => state.migrationSteps(),
        hosts: () => peers.gather<HostFacts>(HOST_TOPIC),
        verifyAudit: () => audit.verify(),
      }),
    ],
  });
}

async function readHostFacts({ dataDir, hostChecks }: Foundation): Promise<HostFacts> {
  const { bavail, blocks, bsize } = await statfs(dataDir);
  return {
    host: hostname(),
    checks: hostChecks.list(),
    disk: { path: dataDir, free: bavail * bsize, total: blocks * bsize },
  };
}

function readConnections({ pools }: Foundation): ConnectionUse {
  const { active = 0, capacity = 0 } =
    pools.status().find(({ connections }) => connections)?.connections ?? {};
  return { active, capacity };
}

async function readStuckJobs({ state }: Foundation, silentMs: number) {
  const rows = await state.jobs.stuck(silentMs);
  return rows.map(({ id, kind, folder, attempt, max_attempts }) => ({
    ...{ id, kind, folder, attempt, maxAttempts: max_attempts },
  }));
}
