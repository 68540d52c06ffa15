import { SERVICE } from '../../../core/access/access.js';
import type { CatalogSnapshot, Collection } from '../../../core/catalog/collection.js';
import { describeRasterLocation } from '../../../core/catalog/raster-sources.js';
import { isBelow } from '../../../core/files/folders.js';
import type { RasterStore } from '../../../stores/rasters/rasters.js';
import type { DocumentStore } from '../../../stores/state/documents.js';
import { type Connections, PUBLISHED_LAYER } from '../../connections/connections.js';

export interface SourceLayersDeps {
  readonly documents: Pick<DocumentStore, 'list'>;
  readonly rasters: Pick<RasterStore, 'list'>;
  readonly connections: Pick<Connections, 'sourceFinder'>;
  /** Folders in which jobs publish files. They are not sources, regardless of their location. */
  readonly ownFolders: readonly string[];
  catalog(): CatalogSnapshot;
}

export interface SourceLayer {
  readonly connectionId: string;
  /** The file, table or URL's place, as the configuration has it. */
  readonly place: string;
  readonly collection: Collection;
}

/** Collections that sources of the configuration publish automatically. They appear and disappear with their data. */
export class SourceLayers {
  constructor(private readonly deps: SourceLayersDeps) {}

  /** Layers of a source. Default: of all sources. */
  async list(connectionId?: string, serviceName?: string): Promise<SourceLayer[]> {
    const [sourceOf, isManaged] = await Promise.all([this.deps.connections.sourceFinder(), this.#managed()]);
    return this.deps.catalog().collections.flatMap((collection) => {
      if (serviceName !== undefined && (collection.service ?? SERVICE) !== serviceName) return [];
      if (isManaged(collection)) return [];
      const source = sourceOf(collection.file);
      if (!source || (connectionId !== undefined && source.stored.id !== connectionId)) return [];
      return [{ connectionId: source.stored.id, place: source.place, collection }];
    });
  }

  /** Whether a collection was made over the management API: published, imported or registered. */
  async #managed(): Promise<(collection: Collection) => boolean> {
    const { documents, rasters, ownFolders } = this.deps;
    const [layers, registered] = await Promise.all([documents.list(PUBLISHED_LAYER), rasters.list()]);
    const ids = new Set(layers.map(({ id }) => id));
    const places = new Set(
      registered.flatMap(({ layerId, grids }) =>
        grids.map(({ source }) => `${layerId} ${describeRasterLocation(source)}`),
      ),
    );
    return ({ id, layerId, file }) =>
      ids.has(id) || places.has(`${layerId} ${file}`) || ownFolders.some((folder) => isBelow(file, folder));
  }
}
