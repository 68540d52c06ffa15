import { randomUUID } from 'node:crypto';
import type { TriggerType } from '../../src/core/alerts/alerts.js';
import { CatalogSnapshot, type VectorCollection } from '../../src/core/catalog/collection.js';
import type { Expression } from '../../src/core/cql2/index.js';
import type { FeatureEvent } from '../../src/core/edits/edits.js';
import { CRS84 } from '../../src/core/geometry/crs.js';
import type { Field } from '../../src/core/sources/vector-source.js';
import { defaultStyle } from '../../src/core/styles/default-style.js';
import type { Pools } from '../../src/core/tasks/tasks.js';
import { Evaluator } from '../../src/services/alerts/evaluation/evaluator.js';
import { Feed } from '../../src/services/streams/feed.js';
import type { Log } from '../../src/services/telemetry/log.js';
import type { AlertEventRow } from '../../src/stores/alerts/events.js';
import type { State } from '../../src/stores/state/state.js';
import type { NewEntry } from '../../src/stores/streams/feed.js';
import { computeZoneArea } from '../../src/workers/alerts/zone-area.js';
import { matchZones } from '../../src/workers/alerts/zone-match.js';
import { match } from '../../src/workers/features/match.js';
import type { TemporaryState } from '../support/state.js';

const LAYER = 1;
const FIELDS: Field[] = [
  { name: 'speed', type: 'number' },
  { name: 'name', type: 'string' },
  { name: 'seen', type: 'string' },
] as Field[];

const cars = {
  kind: 'vector',
  id: 'cars',
  layerId: LAYER,
  title: 'Cars',
  crs: [CRS84],
  style: defaultStyle('Point', 'cars'),
  file: 'cars.gpkg',
  source: {
    ...{ kind: 'geopackage', path: 'cars.gpkg', table: 'cars', idColumn: 'fid', idType: 'integer' },
    ...{ geometryColumn: 'geom', geometryType: 'Point', crs: 'EPSG:4326', fields: FIELDS, writable: true },
  },
} as unknown as VectorCollection;

export type Position = readonly [lon: number, lat: number];
interface Car {
  geometry: string | null;
  attributes: Record<string, unknown>;
}

export interface RuleInput {
  readonly trigger: TriggerType;
  readonly zone?: number;
  readonly conditions?: Record<string, unknown>;
  readonly cooldown?: number;
  readonly channels?: readonly string[];
  readonly author?: string;
  /** Number of another layer, which is not published. */
  readonly layer?: number;
}

/** Called while the evaluator works. */
interface Hooks {
  beforeRead?: (() => void) | undefined;
  afterRead?: (() => Promise<void>) | undefined;
  beforeMatch?: (() => Promise<void>) | undefined;
}

/** Alerts over a state of their own and a layer in memory: what `move` does is in the feed when it resolves. */
export async function openWorld(
  temporary: TemporaryState,
  write: Log['write'] = (...line) => console.error(line),
) {
  const { state } = temporary;
  const feed = await Feed.open(state.feed);
  const store = new Map<string, Car>();
  const evaluators: Evaluator[] = [];
  let cursor = 0;
  await state.feed.claim('cars.gpkg', 'test', 0, 1e9);
  let catalog = new CatalogSnapshot([cars], [], 1);
  let isAllowed = true;
  const hooks: Hooks = {};

  const run = async (name: string, input: never): Promise<unknown> => {
    if (name === 'vector.zoneMatch') {
      await hooks.beforeMatch?.();
      return matchZones(input);
    }
    if (name === 'vector.match') return match(input);
    if (name === 'vector.items') {
      hooks.beforeRead?.();
      await world.onRead?.();
      const page = readItems(store, input);
      await hooks.afterRead?.();
      return page;
    }
    throw new Error(`no ${name} here`);
  };
  const pools = { run } as unknown as Pools;

  async function append(entries: readonly NewEntry[]): Promise<void> {
    await state.feed.append('cars.gpkg', 'test', entries, { cursor: ++cursor, eventId: null });
    await feed.catchUp();
  }

  /** Puts a car somewhere, and returns the event. Null: nowhere. Undefined: it is deleted. */
  function change(
    id: string,
    position: Position | null | undefined,
    attributes: Record<string, unknown> = {},
    time = new Date(),
  ): NewEntry {
    const before = store.get(id);
    const geometry = position ? JSON.stringify({ type: 'Point', coordinates: position }) : null;
    const after = { geometry, attributes: { ...before?.attributes, ...attributes } };
    if (position === undefined) store.delete(id);
    else store.set(id, after);
    const isDeleted = position === undefined;
    const shown = isDeleted ? before! : after;
    const changed = Object.keys(attributes).filter((name) => before?.attributes[name] !== attributes[name]);
    const event: FeatureEvent = {
      ...{
        cursor: cursor + 1,
        eventId: randomUUID(),
        time: time.toISOString(),
        collection: 'cars',
        layerId: LAYER,
      },
      ...{ table: 'cars', featureId: id, protocol: 'OGC-Features', requestId: 'r', actor: 'a' },
      operation: isDeleted ? 'delete' : before ? 'update' : 'insert',
      ...(shown.geometry === null ? {} : { geometry: shown.geometry }),
      attributes: JSON.stringify(shown.attributes),
      ...(before && !isDeleted && before.geometry !== geometry
        ? { geometryBefore: before.geometry ?? 'null' }
        : {}),
      ...(before && !isDeleted && changed.length > 0
        ? {
            attributesBefore: JSON.stringify(
              Object.fromEntries(changed.map((name) => [name, before.attributes[name] ?? null])),
            ),
          }
        : {}),
      changedAttributes: changed,
      geometryChanged: before?.geometry !== geometry,
    };
    return { kind: 'event', event };
  }

  const world = {
    /** Runs before each page of the layer is read. */
    onRead: undefined as (() => Promise<void>) | undefined,
    state,
    feed,
    store,
    change,
    append,
    hooks,
    /** Changes the layer without an event, as a merge of many rows does. */
    lose(changes: () => void): Promise<void> {
      changes();
      return append([{ kind: 'gap', collections: ['cars'], time: new Date().toISOString() } as NewEntry]);
    },
    /** Replaces the catalog, as each edit of a layer does. */
    replaceCatalog(): void {
      catalog = new CatalogSnapshot([cars], [], 1);
    },
    async move(
      id: string,
      position: Position | null | undefined,
      attributes?: Record<string, unknown>,
      time?: Date,
    ) {
      await append([change(id, position, attributes, time)]);
    },
    async addZone(wkt: string, srid = 4326): Promise<number> {
      const { area } = computeZoneArea({ wkt, srid });
      const row = await state.alertZones.add(
        {
          name: 'zone',
          service: 'default',
          is_active: 1,
          srid,
          wkt,
          area_json: area,
          metadata_json: '{}',
          tenant: null,
        },
        1e6,
      );
      return row!.id;
    },
    async moveZone(id: number, wkt: string): Promise<void> {
      const { area } = computeZoneArea({ wkt, srid: 4326 });
      const row = { name: 'zone', service: 'default', is_active: 1, srid: 4326, wkt, area_json: area };
      await state.alertZones.change(id, { ...row, metadata_json: '{}', tenant: null });
    },
    async addRule({
      trigger,
      zone,
      conditions = {},
      cooldown = 0,
      channels = [],
      author = 'a',
      layer = LAYER,
    }: RuleInput): Promise<number> {
      const row = await state.alertRules.add(
        {
          ...{ name: `${trigger} rule`, service: 'default', layer_id: layer, collection: 'cars' },
          ...{ zone_id: zone ?? null, trigger_type: trigger, severity: 'warning', edition: 'pro' },
          conditions_json: JSON.stringify(conditions),
          ...{ cooldown_seconds: cooldown, is_active: 1, channels_json: JSON.stringify(channels) },
          ...{ author_json: JSON.stringify({ author }), tenant: null },
        },
        1e6,
      );
      return row!.id;
    },
    /** Lets the author of rules read the layer, or not. */
    allow(allowed: boolean): void {
      isAllowed = allowed;
    },
    start(other: State = state, otherFeed: Feed = feed, instance: string = randomUUID()): Evaluator {
      const evaluator = new Evaluator({
        ...{ pools, store: other.alertEvaluation, lanes: other.deliveries, feed: otherFeed, instance },
        log: { write } as unknown as Log,
        catalog: () => catalog,
        viewOf: async () => (isAllowed ? catalog : undefined),
        leaseMs: 600,
      });
      otherFeed.listen(() => evaluator.wake());
      other.signals.on('alerts', () => evaluator.changed());
      evaluators.push(evaluator);
      evaluator.changed();
      return evaluator;
    },
    /** Waits until the feed is evaluated, and no rule is compared. */
    async settled(): Promise<void> {
      await waitFor(async () => {
        const rules = await state.alertRules.list({ tenant: undefined });
        const isCompared = rules.every(({ scan, problem }) => scan === null || problem !== null);
        return isCompared && evaluators.some((one) => one.isIdleAt(feed.head));
      });
    },
    events: (): Promise<AlertEventRow[]> => state.alertEvents.list({ after: 0, limit: 1e6 }),
    async close(): Promise<void> {
      await Promise.all(evaluators.map((one) => one.close()));
    },
  };
  return world;
}

export type World = Awaited<ReturnType<typeof openWorld>>;

export async function waitFor(isDone: () => Promise<boolean> | boolean, ms = 60_000): Promise<void> {
  for (const end = performance.now() + ms; ; ) {
    if (await isDone()) return;
    if (performance.now() > end) throw new Error('it did not happen in time');
    await new Promise((resolve) => setTimeout(resolve, 15));
  }
}

/** A page of the store. Filters other than for ids only save work, so they are not applied. */
function readItems(
  store: ReadonlyMap<string, Car>,
  { filter, limit, after }: { filter?: Expression; limit: number; after?: { id: string } },
) {
  const ids = filter?.op === 'in' ? new Set((filter.args[1] as unknown[]).map(String)) : undefined;
  const all = [...store].filter(([id]) => !ids || ids.has(id)).sort(([a], [b]) => Number(a) - Number(b));
  const from = after ? all.findIndex(([id]) => id === after.id) + 1 : 0;
  const page = all.slice(from, from + limit);
  const text = page
    .map(
      ([id, { geometry, attributes }]) =>
        `{"type":"Feature","id":${id},"geometry":${geometry},"properties":${JSON.stringify(attributes)}}`,
    )
    .join(',');
  const last = page.at(-1);
  return {
    features: Buffer.from(text),
    returned: page.length,
    more: from + page.length < all.length,
    ...(last ? { last: { id: last[0] } } : {}),
  };
}
