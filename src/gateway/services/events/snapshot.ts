import { randomUUID } from 'node:crypto';
import type { CatalogSnapshot } from '../../../core/collection.js';
import { and, bboxFilter, type Expression } from '../../../core/cql2/index.js';
import { CRS84 } from '../../../core/crs.js';
import type { PageKey } from '../../../core/features.js';
import { parseExact } from '../../../core/json.js';
import { LIMITS } from '../../../core/limits.js';
import { SERVICE_ID } from '../../../core/service.js';
import type { Pools } from '../../../core/tasks.js';
import { FRAME_CRS, jsonFrame, objectIdOf } from './frames.js';
import type { Session } from './session.js';
import { type Scope, type Subscription, scopesOf } from './subscription.js';

interface SnapshotPlan {
  session: Session;
  subscription: Subscription;
  /** `initial`, `cursor-expired` or `cursor-invalid`. */
  reason: string;
  visible: CatalogSnapshot;
  pools: Pools;
}

interface Row {
  id: string | number;
  geometry: object | null;
  properties: Record<string, unknown>;
}

/** Features read at once: few enough to be turned into frames between two turns of the loop. */
const PAGE = 100;
const DECIMALS = 7;

/** Sends what the layers of a subscription hold now, at the pace of the client. Ends early when the client leaves. */
export async function sendSnapshot({
  session,
  subscription,
  reason,
  visible,
  pools,
}: SnapshotPlan): Promise<void> {
  const snapshotId = randomUUID();
  const { position: cursor, interest } = subscription;
  const scopes = scopesOf(interest, visible);
  const frame = (type: string, members: Record<string, unknown>): void => {
    const ids = { snapshotId, subscriptionId: subscription.id, sequence: subscription.next(), cursor };
    session.send(jsonFrame(type, { ...ids, ...members }));
  };
  const timestamp = new Date().toISOString();
  frame('snapshot-begin', { reason, serviceId: SERVICE_ID, layerIds: [...scopes.keys()], timestamp });
  let featureCount = 0;
  let bytes = 0;
  let complete = true;
  for (const scope of scopes.values()) {
    for await (const page of pages(pools, subscription, scope)) {
      bytes += page.bytes;
      const room = LIMITS.snapshotFeatures - featureCount;
      if (bytes > LIMITS.snapshotBytes || page.rows.length > room) complete = false;
      const rows = bytes > LIMITS.snapshotBytes ? [] : page.rows.slice(0, room);
      while (session.blocked) await session.writable();
      if (subscription.ended) return;
      session.transport.together(() => {
        for (const row of rows) frame('snapshot-feature', featureOf(row, scope));
      });
      featureCount += rows.length;
      if (!complete) break;
    }
    if (!complete) break;
  }
  frame('snapshot-end', { featureCount, complete });
}

async function* pages(pools: Pools, { interest }: Subscription, { collection, filter, fields }: Scope) {
  const source = collection.rule?.stored ?? collection.source;
  const box = interest.bbox && bboxFilter(source.geometryColumn, interest.bbox, CRS84.proj);
  const whole = and(filter === undefined ? undefined : (JSON.parse(filter) as Expression), box);
  let after: PageKey | undefined;
  for (;;) {
    const page = await pools.run(
      'vector.items',
      {
        source,
        format: 'geojson',
        crs: CRS84.proj,
        swapAxes: false,
        precision: DECIMALS,
        ...(fields ? { fields: [...fields] } : {}),
        ...(whole === undefined ? {} : { filter: whole }),
        ...(after ? { after } : {}),
        maxBytes: LIMITS.sendBuffer,
        limit: PAGE,
        offset: 0,
      },
      { deadlineMs: LIMITS.requestDeadlineMs },
    );
    const text = Buffer.from(page.features).toString('utf8');
    yield { rows: parseExact(`[${text}]`) as Row[], bytes: page.features.byteLength };
    if (!page.more || !page.last) return;
    after = page.last;
  }
}

function featureOf({ id, geometry, properties }: Row, { collection }: Scope): Record<string, unknown> {
  const featureId = String(id);
  return {
    serviceId: SERVICE_ID,
    layerId: collection.layerId,
    featureId,
    objectId: objectIdOf(featureId),
    ...(geometry ? { geometry, geometryCrs: FRAME_CRS } : {}),
    attributes: properties,
  };
}
