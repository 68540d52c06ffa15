import { ApiError } from '../../../core/errors/errors.js';
import type { RasterInfo } from '../../../core/rasters/rasters.js';
import { isRemote } from '../../../core/sources/sources.js';
import type { RegisteredRaster } from '../../../stores/rasters/rasters.js';
import { formatObjectPlace, type ObjectPlace } from '../../storage/places.js';
import { readStore } from '../publish/store-folder.js';
import { findObject, type GridDeps, scanGrid } from './grid-scan.js';
import type { RegisteredRasters, Registrant } from './registered-rasters.js';
import { readZarrMetadata, type ZarrArray } from './zarr-metadata.js';

/** Stored facts about the registration and the scan of a store. */
interface ZarrAbout extends ObjectPlace {
  zarrFormat: 2 | 3 | null;
  arrays: ZarrArray[];
  /** The first of the variables that are published. */
  primary: string | null;
}

export interface NewZarr extends ObjectPlace {
  layerId: number;
  name: string;
  description: string | null;
  createLayer: boolean;
}

export type ZarrStore = RegisteredRaster<ZarrAbout>;

type Scan = Pick<ZarrAbout, 'zarrFormat' | 'arrays' | 'primary'> & { parts: RasterInfo[] };

/** Zarr stores. */
export class ZarrStores {
  constructor(
    readonly registered: RegisteredRasters,
    private readonly deps: GridDeps,
  ) {}

  list(layerId: number): Promise<ZarrStore[]> {
    return this.registered.list<ZarrAbout>('zarr', layerId);
  }

  /** Throws `not-found`. */
  get(id: number): Promise<ZarrStore> {
    return this.registered.get<ZarrAbout>('zarr', id);
  }

  /**
   * Registers a Zarr store. Throws `not-found` for the layer, `conflict`, and `invalid-request` for an unreadable or
   * unsuitable store.
   */
  async register(
    { layerId, name, description, createLayer, ...object }: NewZarr,
    { right, by }: Registrant,
  ): Promise<ZarrStore> {
    const dataKey = formatObjectPlace(object);
    await this.registered.requireLayer(layerId, createLayer);
    await this.registered.refuseTwice('zarr', layerId, dataKey);
    const { read, sources } = await this.registered.readNew(
      object,
      { right, layerId },
      {
        find: () => findObject(object, this.deps),
        read: (path) => this.#scan(path),
      },
    );
    const { parts, ...scan } = read;
    this.registered.requireFit(layerId, parts[0]);
    const registration: ZarrAbout = { ...object, ...scan };
    const acquired = parts[0]?.acquired ?? null;
    const row = { layerId, name, description, dataKey, registration, grids: parts, acquired };
    return this.registered.add<ZarrAbout>({ kind: 'zarr', ...row }, { sources, by });
  }

  /** Reads its metadata again. Throws as `register` does. */
  async refresh(id: number): Promise<ZarrStore> {
    const { registration, layerId } = await this.get(id);
    const { path } = await findObject(registration, this.deps);
    const { parts, ...scan } = await this.#scan(path);
    this.registered.requireFit(layerId, parts[0]);
    return this.registered.change<ZarrAbout>('zarr', id, {
      registration: { ...registration, ...scan },
      grids: parts,
      scannedAt: Date.now(),
    });
  }

  /** Throws `not-found`. */
  remove(id: number): Promise<void> {
    return this.registered.remove('zarr', id);
  }

  async #scan(path: string): Promise<Scan> {
    if (isRemote(path)) return this.#scanRemote(path);
    const { problem } = await readStore(path);
    if (problem !== undefined) throw new ApiError('invalid-request', problem);
    const { zarrFormat, arrays } = await readZarrMetadata(path);
    if (zarrFormat === 3)
      throw new ApiError('invalid-request', 'Zarr version 3 is not supported. Use version 2.');
    const { parts, variables } = await scanGrid(path, [], this.deps);
    return { parts, zarrFormat, arrays, primary: variables[0] ?? null };
  }

  async #scanRemote(url: string): Promise<Scan> {
    const { parts, variables } = await scanGrid(url, [], this.deps);
    if (parts.length === 0)
      throw new ApiError('invalid-request', 'Zarr stores can only be read from published folders (Local).');
    return { parts, zarrFormat: null, arrays: [], primary: variables[0] ?? null };
  }
}
