import { setTimeout as sleep } from 'node:timers/promises';
import {
  type CatalogSnapshot,
  type Collection,
  isUnmeasured,
  measureRules,
} from '../../core/catalog/collection.js';
import type { Exchange, Operation, Principal, Reply } from '../../core/http/operation.js';

/** Operations that return the number of features of a collection, or their extent. */
const DESCRIBING: ReadonlySet<string> = new Set([
  'site.home',
  'features.getCollections',
  'features.getCollection',
  'features.getItems',
  'features.getStatistics',
  'tiles.getTileJson',
  'tiles.getCollections',
  'tiles.getCollection',
  'tiles.dataset.vector.getTileSetsList',
  'tiles.dataset.vector.getTileSet',
  'tiles.collection.vector.getTileSetsList',
  'tiles.collection.vector.getTileSet',
  'maps.getCollections',
  'maps.getCollection',
  'maps.getDatasetMap',
  'maps.getCollectionMap',
  'maps.getStyledMap',
  'maps.getDatasetStyle',
  'maps.getStyle',
  'maps.dataset.map.getTileSetsList',
  'maps.dataset.map.getTileSet',
  'maps.collection.map.getTileSetsList',
  'maps.collection.map.getTileSet',
  'maps.viewer',
  'site.live',
  'site.liveCollection',
  'stac.getCollections',
  'stac.getCollection',
  ...['service', 'layers', 'layer', 'mapService', 'mapLayers', 'mapLayer', 'vectorTileService'].flatMap(
    (name) => [`geoservices.${name}`, `geoservices.post${name[0]!.toUpperCase()}${name.slice(1)}`],
  ),
]);

/** Looks whether counts and extents are still right; undefined if that is known. */
type Look = (collections: readonly Collection[]) => Promise<unknown> | undefined;

/** Maximum number of collections that one response waits for. */
const MOST = 100;
/** Values that are not known by then are omitted. */
const WAIT_MS = 2000;

/**
 * Has operations that describe collections wait until it is known what rules leave of these, if that is soon: later
 * requests find it known.
 */
export function measuring(
  operations: readonly Operation[],
  visible: (principal: Principal) => CatalogSnapshot,
  look: Look = () => undefined,
): Operation[] {
  return operations.map((operation) =>
    DESCRIBING.has(operation.id) ? waiting(operation, visible, look) : operation,
  );
}

function waiting(
  operation: Operation,
  visible: (principal: Principal) => CatalogSnapshot,
  look: Look,
): Operation {
  return {
    ...operation,
    run(x): Reply | Promise<Reply> {
      const collections = listCollections(x, visible(x.principal));
      const unmeasured = collections.filter(isUnmeasured).slice(0, MOST);
      const looking = look(collections);
      if (unmeasured.length === 0 && !looking) return operation.run(x);
      return measured(unmeasured, looking).then(() => operation.run(x));
    },
  };
}

async function measured(
  collections: readonly Collection[],
  looking: Promise<unknown> | undefined,
): Promise<void> {
  const timer = new AbortController();
  await Promise.race([
    Promise.all([measureRules(collections), looking]),
    sleep(WAIT_MS, undefined, { signal: timer.signal }).catch(() => {}),
  ]);
  timer.abort();
}

/** Collections named by the path; all if it names none. */
function listCollections({ params }: Exchange, catalog: CatalogSnapshot): readonly Collection[] {
  const {
    layers,
    layerId,
    collectionId = layerId,
  } = params as {
    layers?: readonly string[];
    layerId?: number | string;
    collectionId?: number | string;
  };
  const names = collectionId === undefined ? layers : [collectionId];
  if (!names) return catalog.collections;
  return names.flatMap((name) => catalog.byId(String(name)) ?? catalog.byLayerId(Number(name)) ?? []);
}
