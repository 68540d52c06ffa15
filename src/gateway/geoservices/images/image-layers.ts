import { hasCoverage } from '../../../core/catalog/abilities.js';
import type { CatalogSnapshot, RasterCollection } from '../../../core/catalog/collection.js';
import { listMosaicMembers, ofMembers } from '../../../core/catalog/raster-sources.js';
import { unreadFailure } from '../../../core/catalog/unread.js';
import { ApiError, badParameter } from '../../../core/errors/errors.js';
import { suggestName } from '../../../core/errors/near-names.js';
import type { Principal } from '../../../core/http/operation.js';
import { listGranules } from '../../../services/rasters/granules.js';
import type { MapDeps } from '../maps/map-layers.js';
import { type Members, naming, readListMember, readObjectMember, wholeNumber } from '../members.js';

/** An image service is a collection of rasters, by its identifier. Throws 404, and 401 where credentials may help. */
export function requireImage(deps: MapDeps, principal: Principal, id: string): RasterCollection {
  const catalog = deps.visible(principal);
  const collection = catalog.byId(id);
  if (hasCoverage(collection)) return collection;
  const { refused } = catalog;
  if (refused.collections.some((one) => one.id === id))
    throw new ApiError(
      refused.why,
      'Credentials are required to read this image service. Send an API key or a token.',
    );
  const unread = unreadFailure(catalog, (one) => one.id === id);
  throw (
    unread ??
    new ApiError(
      'not-found',
      `There is no image service '${id.slice(0, 100)}'.${suggestName(
        id,
        catalog.collections.filter(hasCoverage).map((one) => one.id),
      )}`,
    )
  );
}

/** The image service with the lowest layer number that the caller may read. Throws 404 if there is none. */
export function requireFirstImage(deps: MapDeps, principal: Principal): RasterCollection {
  const images = deps.visible(principal).collections.filter(hasCoverage);
  const first = images.sort((a, b) => a.layerId - b.layerId)[0];
  if (!first) throw new ApiError('not-found', 'This server has no image service. Publish a raster first.');
  return first;
}

/** Names of image services. */
export function imageServices({ collections }: CatalogSnapshot): string[] {
  return collections.filter(hasCoverage).map(({ id }) => id);
}

/**
 * The rasters that a mosaic rule locks; the whole collection if the rule sets nothing. Throws 400 with the name
 * `mosaicRule`.
 */
export function ruled(collection: RasterCollection, members: Members): RasterCollection {
  const rule = readObjectMember(members, 'mosaicRule');
  const method = rule?.['mosaicMethod'] ?? 'esriMosaicNone';
  if (!rule || method === 'esriMosaicNone') return collection;
  if (method !== 'esriMosaicLockRaster')
    throw badParameter('mosaicRule', 'must have the method esriMosaicNone or esriMosaicLockRaster');
  const granules = listGranules(collection);
  const ids = (naming('mosaicRule', () => readListMember(rule, 'lockRasterIds', granules.length)) ?? []).map(
    (id) => wholeNumber('mosaicRule', id),
  );
  const choice = ids.map((id) => granules[id - 1]);
  const { raster } = collection;
  if (!choice.every((one) => one !== undefined) || choice.length === 0)
    throw badParameter(
      'mosaicRule',
      `lockRasterIds must list at least one raster id from 1 to ${granules.length}`,
    );
  if (!listMosaicMembers(raster.source)) {
    if (granules.length === 1) return collection;
    throw badParameter('mosaicRule', 'is only for mosaics. Select a time step with time');
  }
  const source = ofMembers(
    raster.source,
    choice.flatMap(({ member }) => member ?? []),
  );
  return { ...collection, raster: { ...raster, source } };
}
