import type { RemoteRaster } from '../../../core/rasters/rasters.js';
import { type ObjectStore, objectAddress } from '../../../core/sources/object-stores.js';
import type { RegisteredRaster } from '../../../stores/rasters/rasters.js';

/** Stored facts about the registration of a cloud raster. */
export interface CloudAbout {
  provider: 'AwsS3' | 'AzureBlob';
  bucket: string;
  objectKey: string;
  /** Connection that it is read by; else the environment says where the store is and who reads it. */
  connectionId?: string;
}

/** Finds the bucket of a connection, with its secret. Undefined for a deleted or disabled connection. */
export type StoreOf = (connectionId: string) => Promise<ObjectStore | undefined>;

/** Access to an object of a bucket as a raster. */
export function remoteRaster(store: ObjectStore, key: string): RemoteRaster {
  const { credentials } = store;
  return { kind: 'remote', url: objectAddress(store, key), ...(credentials && { credentials }) };
}

export function findConnectionId({ kind, registration }: RegisteredRaster): string | undefined {
  return kind === 'cloud' ? (registration as CloudAbout).connectionId : undefined;
}

/** Registered rasters with their present access. Rasters of a disabled or deleted connection are omitted. */
export async function connectedRasters(
  rasters: readonly RegisteredRaster[],
  storeOf: StoreOf,
): Promise<RegisteredRaster[]> {
  const ids = new Set(rasters.flatMap((raster) => findConnectionId(raster) ?? []));
  const stores = new Map(await Promise.all([...ids].map(async (id) => [id, await storeOf(id)] as const)));
  return rasters.flatMap((raster) => {
    const id = findConnectionId(raster);
    if (id === undefined) return [raster];
    const store = stores.get(id);
    if (!store) return [];
    const source = remoteRaster(store, (raster.registration as CloudAbout).objectKey);
    return [{ ...raster, grids: raster.grids.map((part) => ({ ...part, source })) }];
  });
}
