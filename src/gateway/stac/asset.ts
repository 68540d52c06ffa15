import { realpath } from 'node:fs/promises';
import { basename } from 'node:path';
import { hasCoverage } from '../../core/catalog/abilities.js';
import type { Collection } from '../../core/catalog/collection.js';
import { findCollection } from '../../core/catalog/find.js';
import { ApiError, notFound } from '../../core/errors/errors.js';
import { isBelow } from '../../core/files/folders.js';
import { defineOperation, type Exchange, type Operation } from '../../core/http/operation.js';
import { pathString } from '../../core/http/params.js';
import type { StacFile } from '../../core/stac/stac.js';
import { collectionsInFile } from '../../services/catalog/published-files.js';
import { runTask } from '../../services/kit/run-task.js';
import { listGranules } from '../../services/rasters/granules.js';
import { findDownloadPath, getAssetMediaType } from '../../services/stac/raster-items.js';
import { fileReply } from '../http/replies/file-reply.js';
import {
  itemId,
  readsWhole,
  STAC_OPERATION,
  STAC_PATH,
  type StacDeps,
  stacCollectionParam,
} from './params.js';

/** Files of assets. An extension of the contract, which does not define the hrefs of assets. */
export function assetOperation(deps: StacDeps): Operation {
  return defineOperation({
    ...STAC_OPERATION,
    method: 'GET',
    id: 'stac.getAsset',
    path: `${STAC_PATH}/collections/{collectionId}/items/{itemId}/assets/{assetKey}`,
    summary: 'The file of an asset',
    description:
      'Returns the file or a range of it (Range, If-Range). Only local published files are available. If the file contains published layers, you must have access to all rows and attributes of each layer.',
    tag: 'Items',
    params: {
      collectionId: stacCollectionParam,
      itemId,
      assetKey: pathString('assetKey', 'Name of the asset in the item.'),
    },
    responses: {
      200: { description: 'The file', content: { 'application/octet-stream': null } },
      206: { description: 'Part of the file', content: { 'application/octet-stream': null } },
      401: { description: 'The file contains a layer that requires credentials' },
      403: { description: 'The file contains a layer that you cannot read' },
      404: { description: 'The asset does not exist or is not a file of this server' },
      416: { description: 'The range is outside of the file' },
    },
    async run(x) {
      const { assetKey, itemId: item } = x.params;
      const collection = findCollection(deps.visible(x.principal), x.params.collectionId);
      const file = readsWhole(collection) ? await findFile(x, deps, collection, item, assetKey) : undefined;
      if (!file) throw notFound('file of the asset', assetKey.slice(0, 100));
      await requireFile(x, deps, file);
      return fileReply(x, file);
    },
  });
}

/** Throws what the layer throws for each layer of the file that the caller may not read, or not all of. */
async function requireFile(x: Exchange, deps: StacDeps, { path, root }: AssetFile): Promise<void> {
  const ids = await collectionsInFile(deps.catalog(), path);
  // The folder of a catalog may contain the data folder, whose other files are not for clients.
  const dataDir = await realpath(deps.dataDir);
  if (ids.length === 0 && root !== undefined && isBelow(dataDir, root) && isBelow(path, dataDir))
    throw notFound('file', basename(path));
  const visible = deps.visibleEverywhere(x.principal);
  for (const id of ids) {
    if (readsWhole(findCollection(visible, id))) continue;
    const code = x.principal.kind === 'anonymous' ? 'unauthenticated' : 'forbidden';
    throw new ApiError(
      code,
      `The file contains rows or attributes of collection '${id}' that you may not read.`,
    );
  }
}

interface AssetFile extends Partial<Pick<StacFile, 'root'>> {
  path: string;
  mediaType: string;
}

async function findFile(
  x: Exchange,
  { pools, stac, catalog }: StacDeps,
  collection: Collection,
  item: string,
  asset: string,
): Promise<AssetFile | undefined> {
  if (hasCoverage(collection)) {
    const granule = asset === 'data' ? listGranules(collection).find(({ id }) => id === item) : undefined;
    const path = granule && findDownloadPath(collection, granule);
    return path === undefined ? undefined : { path, mediaType: getAssetMediaType(collection, granule) };
  }
  await stac.of(catalog());
  const task = { path: stac.path, collection: collection.id, item, asset };
  const file = await runTask(x, pools, 'vector.stacFile', task);
  return file ? { ...file, mediaType: 'application/octet-stream' } : undefined;
}
