import { randomUUID } from 'node:crypto';
import type { CatalogSnapshot } from '../../core/catalog/collection.js';
import { and, bboxFilter, type Expression } from '../../core/cql2/index.js';
import { type FeatureText, featureTexts } from '../../core/edits/feature-text.js';
import type { PageKey } from '../../core/features/features.js';
import { CRS84 } from '../../core/geometry/crs.js';
import { LIMITS } from '../../core/kit/limits.js';
import { SERVICE_ID } from '../../core/kit/service.js';
import { STREAM_LIMITS } from '../../core/streams/limits.js';
import type { Pools } from '../../core/tasks/tasks.js';
import { decodeStoredJson, stringifyExactly } from '../../core/values/json.js';
import { requestCaller } from '../access/identity/request-caller.js';
import { Turns } from '../kit/turns.js';
import { computeObjectId, FRAME_CRS, jsonFrame } from './frames.js';
import { buildScopes, type Scope } from './scope.js';
import type { Session } from './session.js';
import type { StreamSubscription } from './subscription.js';

interface SnapshotPlan {
  session: Session;
  subscription: StreamSubscription;
  /** `initial`, `cursor-expired` or `cursor-invalid`. */
  reason: string;
  /** The presently readable catalog. */
  visible(): CatalogSnapshot;
  /** See `Pauses.current`. */
  current?: (() => Promise<void> | undefined) | undefined;
  pools: Pools;
}

/** Number of features read together: few enough to create their frames between two event-loop iterations. */
const PAGE = 100;
const DECIMALS = 7;

/**
 * Limits concurrent snapshots, with separate limits for clients without a key. The features of a page are sent before
 * its turn ends, so at most one page waits for a client that does not read.
 */
export class SnapshotTurns {
  readonly #pages = {
    keyed: new Turns(STREAM_LIMITS.snapshotTurns),
    anonymous: new Turns(STREAM_LIMITS.anonymousSnapshotTurns),
  };
  readonly #frames = {
    keyed: new Turns(STREAM_LIMITS.snapshotTurns),
    anonymous: new Turns(STREAM_LIMITS.anonymousSnapshotTurns),
  };

  /** A turn to read and send a page, once the client has read its frames. */
  async page(session: Session): Promise<() => void> {
    for (;;) {
      await session.writable();
      const release = await this.#pages[chooseKind(session)].take();
      // Another subscription of the session can have sent frames in between.
      if (!session.blocked) return release;
      release();
    }
  }

  /** A turn to create one frame of a complete snapshot and to wait until it is read. */
  frame(session: Session): Promise<() => void> {
    return this.#frames[chooseKind(session)].take();
  }
}

const chooseKind = ({ principal }: Session) => (principal.kind === 'anonymous' ? 'anonymous' : 'keyed');

/**
 * Sends the present features of a subscription's layers, at the pace of the client. Ends early if the client
 * disconnects. The cursor of the snapshot is the one up to which events are being passed, because these are already
 * in the store. Clients drop repeated changes by cursor.
 */
export function sendSnapshot(plan: SnapshotPlan, turns: SnapshotTurns): Promise<void> {
  // A subscription for only a snapshot gets it in one frame.
  return plan.subscription.mode === 'snapshot' ? sendWhole(plan, turns) : sendInFrames(plan, turns);
}

/** Members of the first frame of a snapshot. */
function beginning(scopes: ReadonlyMap<number, Scope>, reason: string) {
  const timestamp = new Date().toISOString();
  return { reason, serviceId: SERVICE_ID, layerIds: [...scopes.keys()], timestamp };
}

async function sendInFrames(plan: SnapshotPlan, turns: SnapshotTurns): Promise<void> {
  const { session, subscription, reason } = plan;
  const snapshotId = randomUUID();
  const { position: cursor } = subscription;
  const scopes = new PlannedScopes(plan);
  const ids = () => ({ snapshotId, subscriptionId: subscription.id, sequence: subscription.next(), cursor });
  const frame = (type: string, members: Record<string, unknown>): void =>
    session.send(jsonFrame(type, { ...ids(), ...members }));
  frame('snapshot-begin', beginning(scopes.all, reason));
  const rows = new SnapshotRows(plan, scopes.all, STREAM_LIMITS.snapshotBytes);
  for (let more = true; more; ) {
    const release = await turns.page(session);
    try {
      if (subscription.ended) return;
      const page = await rows.next();
      if (subscription.ended) return;
      await scopes.requireSame();
      session.transport.together(() => {
        for (const { row, scope } of page)
          session.send(`${jsonFrame('snapshot-feature', ids()).slice(0, -1)},${featureMembers(row, scope)}`);
      });
      more = !rows.ended;
    } finally {
      release();
    }
  }
  frame('snapshot-end', { featureCount: rows.count, complete: rows.complete });
}

async function sendWhole(plan: SnapshotPlan, turns: SnapshotTurns): Promise<void> {
  const { session, subscription, reason } = plan;
  const release = await turns.frame(session);
  try {
    const scopes = new PlannedScopes(plan);
    const anonymous = session.principal.kind === 'anonymous';
    const rows = new SnapshotRows(
      plan,
      scopes.all,
      anonymous ? STREAM_LIMITS.anonymousSnapshotBytes : STREAM_LIMITS.snapshotBytes,
    );
    const features: string[] = [];
    while (!rows.ended) {
      if (subscription.ended) return;
      for (const { row, scope } of await rows.next()) features.push(batchedFeature(row, scope));
    }
    await session.writable();
    if (subscription.ended) return;
    await scopes.requireSame();
    const head = jsonFrame('snapshot', {
      snapshotId: randomUUID(),
      subscriptionId: subscription.id,
      sequence: subscription.next(),
      cursor: subscription.position,
      ...beginning(scopes.all, reason),
      featureCount: rows.count,
      complete: rows.complete,
    });
    session.send(`${head.slice(0, -1)},"features":[${features.join(',')}]}`);
    // The turn lasts until the client has read the frame, because unread frames would accumulate.
    await session.writable();
  } finally {
    release();
  }
}

/** Visible parts of the layers of a snapshot. */
class PlannedScopes {
  readonly all: ReadonlyMap<number, Scope>;
  #visible: CatalogSnapshot;

  constructor(private readonly plan: SnapshotPlan) {
    this.#visible = plan.visible();
    this.all = buildScopes(plan.subscription.interest, this.#visible);
  }

  /** Rejects if the visible parts have changed: rows that were read under older rules must not be sent. */
  async requireSame(): Promise<void> {
    await this.plan.current?.();
    const now = this.plan.visible();
    if (now === this.#visible) return;
    this.#visible = now;
    const scopes = buildScopes(this.plan.subscription.interest, now);
    if (formatName(scopes) !== formatName(this.all)) throw new Error('what may be seen has changed');
  }
}

function formatName(scopes: ReadonlyMap<number, Scope>): string {
  return JSON.stringify([...scopes].map(([layerId, { filter, mask }]) => [layerId, filter, mask]));
}

/** The features of a snapshot, page by page, within its limits. */
class SnapshotRows {
  count = 0;
  /** False when there are more features than a snapshot may have. */
  complete = true;
  ended = false;
  #bytes = 0;
  readonly #pages: AsyncGenerator<{ rows: FeatureText[]; bytes: number; scope: Scope }>;

  constructor(
    plan: SnapshotPlan,
    scopes: ReadonlyMap<number, Scope>,
    private readonly maxBytes: number,
  ) {
    this.#pages = listPages(plan, scopes);
  }

  async next(): Promise<{ row: FeatureText; scope: Scope }[]> {
    const { value: page } = await this.#pages.next();
    if (!page) {
      this.ended = true;
      return [];
    }
    const { rows, bytes, scope } = page as { rows: FeatureText[]; bytes: number; scope: Scope };
    this.#bytes += bytes;
    const room = this.#bytes > this.maxBytes ? 0 : STREAM_LIMITS.snapshotFeatures - this.count;
    if (rows.length > room) {
      this.complete = false;
      this.ended = true;
    }
    const part = rows.slice(0, room);
    this.count += part.length;
    return part.map((row) => ({ row, scope }));
  }
}

async function* listPages(plan: SnapshotPlan, scopes: ReadonlyMap<number, Scope>) {
  for (const scope of scopes.values()) for await (const page of pages(plan, scope)) yield { ...page, scope };
}

/** Address of all sessions without a key, which together count as one caller. */
const STREAMS = 'streams';

async function* pages(
  { pools, subscription: { interest }, session }: SnapshotPlan,
  { collection, filter, fields }: Scope,
) {
  const caller = requestCaller(session.principal, STREAMS);
  const source = collection.rule?.stored ?? collection.source;
  const box = interest.bbox && bboxFilter(source.geometryColumn, interest.bbox, CRS84.proj);
  const whole = and(filter === undefined ? undefined : (decodeStoredJson(filter) as Expression), box);
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
        ...(fields ? { fields: [...fields.keys()] } : {}),
        filter: whole,
        ...(after ? { after } : {}),
        maxBytes: STREAM_LIMITS.snapshotPageBytes,
        limit: PAGE,
        offset: 0,
      },
      { deadlineMs: LIMITS.requestDeadlineMs, caller },
    );
    // Features remain text: as objects they would be most of the work of the event loop and of garbage collection.
    yield { rows: featureTexts(page.features), bytes: page.features.byteLength };
    if (!page.more || !page.last) return;
    after = page.last;
  }
}

/** Members of a frame with one feature, as JSON text that follows other members. */
function featureMembers({ id, geometry, properties }: FeatureText, { collection }: Scope): string {
  const names = {
    serviceId: SERVICE_ID,
    layerId: collection.layerId,
    featureId: id,
    objectId: computeObjectId(id),
  };
  const shape = geometry === 'null' ? '' : `,"geometry":${geometry},"geometryCrs":"${FRAME_CRS}"`;
  return `${stringifyExactly(names).slice(1, -1)}${shape},"attributes":${properties}}`;
}

/** A feature in a frame with all features, as JSON text. */
function batchedFeature({ id, idText, geometry, properties }: FeatureText, { collection }: Scope): string {
  const { id: sourceId, layerId } = collection;
  const head = JSON.stringify({ id, sourceId, layerId, geometryCrs: FRAME_CRS }).slice(0, -1);
  const feature = `{"type":"Feature","id":${idText},"geometry":${geometry},"properties":${properties}}`;
  return `${head},"feature":${feature}}`;
}
