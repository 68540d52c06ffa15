import { createHash } from 'node:crypto';
import { SERVICE } from '../../core/access/access.js';
import { hasFeatures } from '../../core/catalog/abilities.js';
import {
  type AccessRefusal,
  type CatalogSnapshot,
  type Collection,
  type VectorCollection,
  whole,
} from '../../core/catalog/collection.js';
import { canHaveIntegerIds, useGeneratedCollectionIds } from '../../core/catalog/generated-ids.js';
import { unreadLayer } from '../../core/catalog/unread.js';
import { and, type Expression } from '../../core/cql2/index.js';
import { ApiError, badParameter } from '../../core/errors/errors.js';
import { suggestName } from '../../core/errors/near-names.js';
import type { EsriLayer } from '../../core/geoservices/geoservices-features.js';
import type { Principal } from '../../core/http/operation.js';
import type { Catalogs } from '../features/view.js';
import { buildScope, type Scope } from '../streams/scope.js';

/** A layer as one principal has it offline. */
export interface ReplicaLayerView {
  readonly layerId: number;
  /** With all its fields. */
  readonly collection: VectorCollection;
  /** The collection as described to the principal. */
  readonly visible: VectorCollection;
  /** Filter of the features that exist for the principal and are in the replica. */
  readonly filter: Expression | undefined;
  /** The filter in the form for events. */
  readonly scope: Scope;
  readonly esri: EsriLayer;
}

/** The collections of a service that a principal can read and whose features have numbers, with these as ids. */
export function listServiceLayers(
  catalogs: Catalogs,
  principal: Principal,
  service: string,
): VectorCollection[] {
  return catalogs
    .visible(principal)
    .vectors.filter((one) => isInService(one, service) && whyNot(one) === undefined)
    .map(useGeneratedCollectionIds);
}

/** Throws 404 for a service that does not exist for this principal, 401 where credentials may help. */
export function requireVisibleService({ visible }: Catalogs, principal: Principal, service: string): void {
  const { collections, refused } = visible(principal);
  if (service === SERVICE || collections.some((one) => isInService(one, service))) return;
  if (refused.collections.some((one) => isInService(one, service))) throw refusal(refused.why);
  throw new ApiError(
    'not-found',
    `There is no service '${service.slice(0, 100)}'.${suggestName(
      service,
      collections.map((one) => one.service ?? SERVICE),
    )}`,
  );
}

export const isInService = (one: Pick<Collection, 'service'>, service: string) =>
  (one.service ?? SERVICE) === service;

function missingLayer(catalog: CatalogSnapshot, service: string, layerId: number): ApiError {
  const { refused } = catalog;
  if (refused.collections.some((one) => one.layerId === layerId && isInService(one, service)))
    return refusal(refused.why);
  return (
    unreadLayer(catalog, layerId) ??
    new ApiError('not-found', `There is no layer ${layerId} in the service '${service}'.`)
  );
}

function refusal(why: AccessRefusal): ApiError {
  return new ApiError(
    why,
    why === 'forbidden'
      ? 'The caller may not read this layer. An administrator can grant access to it.'
      : 'Credentials are required to read this layer. Send an API key or a token.',
  );
}

/**
 * A layer of a service, with numbers as ids. Throws 400 with the name of `parameter` for a layer without numbers, and
 * 404 for a missing layer.
 */
export function requireLayer(
  catalogs: Catalogs,
  principal: Principal,
  { service, layerId, parameter = 'layers' }: { service: string; layerId: number; parameter?: string },
): VectorCollection {
  const catalog = catalogs.visible(principal);
  const visible = catalog.byLayerId(layerId);
  if (!visible || !isInService(visible, service)) throw missingLayer(catalog, service, layerId);
  const reason = hasFeatures(visible) ? whyNot(visible) : 'has no features';
  if (reason !== undefined) throw badParameter(parameter, `layer ${layerId} ${reason}`);
  return useGeneratedCollectionIds(visible as VectorCollection);
}

function whyNot({ source, storageCrs }: VectorCollection): string | undefined {
  if (!canHaveIntegerIds(source)) return 'has keys that are not numbers, so its features have no object ids';
  if (storageCrs.isPlane) return 'has no known position on Earth';
  return undefined;
}

export function layerView(
  { catalog }: Catalogs,
  visible: VectorCollection,
  filter: Expression | undefined,
): ReplicaLayerView {
  const collection = whole((catalog().byId(visible.id) as VectorCollection | undefined) ?? visible);
  return {
    layerId: visible.layerId,
    collection,
    visible,
    filter: and(visible.rule?.rows, filter),
    scope: buildScope({ layers: undefined, bbox: undefined, datetime: undefined, filter }, visible),
    esri: esriLayer(visible),
  };
}

export function esriLayer({ source }: VectorCollection): EsriLayer {
  const { idColumn, geometryType, hasZ, fields } = source;
  return { idColumn, geometryType, hasZ, fields };
}

/** Key of the readable part of a layer. If it changes, an offline copy of the layer is no longer valid. */
export function scopeName({ rule, source }: VectorCollection): string {
  const shown = source.fields.map(({ name, type, isMasked = false }) => [name, type, isMasked]);
  return createHash('sha256')
    .update(JSON.stringify([rule?.rows ?? null, rule ? scopeMask(rule.stored.fields) : null, shown]))
    .digest('hex')
    .slice(0, 16);
}

const scopeMask = (fields: readonly { name: string; mask?: unknown }[]) =>
  fields.flatMap(({ name, mask }) => (mask ? [[name, mask]] : []));
