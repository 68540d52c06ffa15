import { SERVICE } from '../../../core/access/access.js';
import type { CatalogSnapshot, Collection } from '../../../core/catalog/collection.js';
import { listRasterLocations } from '../../../core/catalog/raster-sources.js';
import { isDatabase } from '../../../core/sources/database-url.js';
import { objectAddress } from '../../../core/sources/object-stores.js';
import { mapInLanes } from '../../../core/values/lanes.js';
import type { CollectionStore } from '../../../stores/catalog/collections.js';
import type { RasterStore } from '../../../stores/rasters/rasters.js';
import type { DocumentStore } from '../../../stores/state/documents.js';
import type { Derivations } from '../../access/rules/derivations.js';
import type { CopySourceLayer, RuledLayer } from '../../access/rules/rules.js';
import {
  CONNECTION_KIND,
  type Connection,
  getConnectionProvider,
  type StoredConnection,
} from '../../connections/connection.js';
import { LAYER_COPY } from '../../connections/connections.js';
import { createObjectStore, isBucketProvider } from '../../connections/object-store.js';
import { serviceAddress } from '../../connections/service-address.js';
import {
  buildServicePlace,
  type DataPlace,
  findPlace,
  findPlaces,
  overlap,
  parseUrlPlace,
} from '../publish/data-places.js';
import { STAT_LANES } from '../publish/source-identities.js';
import type { LayerCopy } from './layer-copy.js';

export interface ShownLayersDeps {
  readonly documents: Pick<DocumentStore, 'list'>;
  readonly rasters: Pick<RasterStore, 'list'>;
  readonly collections: Pick<CollectionStore, 'find' | 'slugOf'>;
  readonly derivations: Pick<Derivations, 'sourcesOf'>;
  catalog(): CatalogSnapshot;
}

interface PlacedLayer {
  readonly layer: RuledLayer;
  readonly places: readonly DataPlace[];
}

/**
 * Finds the layers that show data. A further layer of the data is a copy of them, so it cannot bypass their rules.
 */
export class LayerFinder {
  /** The running inspection of all published files. Concurrent registrations share it. */
  #look: { readonly catalog: CatalogSnapshot; readonly layers: Promise<PlacedLayer[]> } | undefined;

  constructor(private readonly deps: ShownLayersDeps) {}

  /** The layers that show something of a place, but for the one of the id `except`, and the layers that they are copies of. */
  async at(place: DataPlace, except?: string): Promise<CopySourceLayer[]> {
    const all = [
      ...(await this.#published()),
      ...(await this.#registered()),
      ...(await this.#copied()),
      ...this.#awaited(),
    ];
    const shown = all.filter(({ places }) => places.some((one) => overlap(one, place)));
    const byId = new Map(shown.map(({ layer }) => [layer.id, this.deps.catalog().byId(layer.id) ?? layer]));
    return this.deps.derivations.sourcesOf([...byId.values()]).filter(({ id }) => id !== except);
  }

  #published(): Promise<PlacedLayer[]> {
    const catalog = this.deps.catalog();
    if (this.#look?.catalog === catalog) return this.#look.layers;
    const place = async (layer: Collection) => ({ layer, places: await findPlaces(layer) });
    const layers = mapInLanes(catalog.collections, STAT_LANES, place).finally(() => {
      if (this.#look?.layers === layers) this.#look = undefined;
    });
    this.#look = { catalog, layers };
    return layers;
  }

  /** Rasters of a connection that is switched off are in no catalog. */
  async #registered(): Promise<PlacedLayer[]> {
    const rasters = await this.deps.rasters.list();
    const find = async ({ kind, layerId, grids }: (typeof rasters)[number]): Promise<PlacedLayer[]> => {
      const id = kind === 'import' ? undefined : await this.deps.collections.slugOf(layerId);
      if (id === undefined) return [];
      const paths = grids.flatMap(({ source }) => listRasterLocations(source));
      return [{ layer: { id, layerId }, places: await Promise.all(paths.map((path) => findPlace(path))) }];
    };
    return (await mapInLanes(rasters, STAT_LANES, find)).flat();
  }

  async #copied(): Promise<PlacedLayer[]> {
    const { documents, collections } = this.deps;
    const copies = await documents.list<LayerCopy>(LAYER_COPY);
    if (copies.length === 0) return [];
    const stored = await documents.list<Connection>(CONNECTION_KIND);
    const connections = new Map(stored.map((one) => [one.id, one]));
    const placed = copies.map(async ({ id, body }): Promise<PlacedLayer[]> => {
      const [connection, layerId] = [connections.get(body.connectionId), await collections.find(id)];
      if (!connection || layerId === undefined) return [];
      const service = body.settings.service ?? SERVICE;
      return [{ layer: { id, layerId, service }, places: [buildCopyPlace(connection, body)] }];
    });
    return (await Promise.all(placed)).flat();
  }

  /** Layers whose source cannot be read now. */
  #awaited(): PlacedLayer[] {
    return this.deps
      .catalog()
      .quarantined.flatMap(({ path, awaited = [] }) =>
        isDatabase(path) ? [] : awaited.map((layer) => ({ layer, places: [{ path }] })),
      );
  }
}

/** Place of the data of a connection to a bucket or a service. */
export function buildCopyPlace({ body }: StoredConnection, { table }: Pick<LayerCopy, 'table'>): DataPlace {
  if (!isBucketProvider(getConnectionProvider(body))) return buildServicePlace(serviceAddress(body), table);
  return parseUrlPlace(objectAddress(createObjectStore(body, ''), table));
}

/** The place of a bucket. */
export function buildBucketPlace({ body }: StoredConnection): DataPlace {
  const { endpoint, bucket } = createObjectStore(body, '');
  return parseUrlPlace(`${endpoint}/${bucket}`);
}
