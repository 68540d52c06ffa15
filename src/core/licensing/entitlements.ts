import { ApiError } from '../errors/errors.js';

export const EDITIONS = ['community', 'pro', 'enterprise'] as const;
export type Edition = (typeof EDITIONS)[number];

/** A part of the server that a licence can include. */
interface EntitlementAbout {
  readonly name: string;
  readonly description: string;
  readonly category: string;
  readonly minimumEdition: Edition;
  /** Ids of the operations that return 402 without the entitlement. */
  readonly operations: readonly string[];
  /** Requests of these operations that return 402. Default: all of them. */
  readonly when?: string;
}

/** All entitlements. No other operation returns 402. */
export const ENTITLEMENTS = {
  'spatial-analytics': {
    name: 'Spatial analytics',
    description: 'Clusters, densities, aggregations and joins.',
    category: 'analytics',
    minimumEdition: 'pro',
    operations: [
      ...['features.clusters', 'features.spatialJoin', 'features.bufferAggregate', 'features.density'],
      ...['geoservices.queryClusters', 'geoservices.spatialJoin'],
      ...['geoservices.queryBufferAggregate', 'geoservices.queryDensity'],
    ],
  },
  'raster.temporal-mosaic': {
    name: 'Mosaics in time',
    description: 'Maps of a mosaic at an instant.',
    category: 'analytics',
    minimumEdition: 'pro',
    operations: [
      ...['maps.getDatasetMap', 'maps.getCollectionMap', 'maps.getStyledMap'],
      ...['geoservices.mapExport', 'geoservices.postMapExport'],
      ...['geoservices.exportImage', 'geoservices.postExportImage'],
    ],
    when: 'The request has a time and draws rasters.',
  },
} as const satisfies Record<string, EntitlementAbout>;

export type Entitlement = keyof typeof ENTITLEMENTS;
export const ENTITLEMENT_KEYS = Object.keys(ENTITLEMENTS) as Entitlement[];

/** Entitlements of the licence in force. They are checked only if licensing is enabled. */
export interface Licensing {
  readonly enabled: boolean;
  /** Empty without a valid licence. */
  readonly entitlements: readonly string[];
}

/** Throws 402 `entitlement-missing` when licensing is enabled and the licence does not include this. */
export function requireEntitlement({ enabled, entitlements }: Licensing, entitlement: Entitlement): void {
  if (!enabled || entitlements.includes(entitlement)) return;
  throw new ApiError(
    'entitlement-missing',
    `The license does not include ${entitlement}. Install a license that does.`,
  );
}
