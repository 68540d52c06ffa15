import { type Edition, ENTITLEMENT_KEYS, ENTITLEMENTS } from '../../../core/licensing/entitlements.js';
import type { Licences } from '../../../services/licensing/licences.js';

/** A feature of the server, and whether it can be used. */
export interface FeatureStatus {
  readonly key: string;
  readonly name: string;
  readonly description: string;
  readonly category: string;
  readonly minimumEdition: Edition;
  readonly isEnabled: boolean;
}

const FREE = [
  {
    key: 'ogc-features',
    name: 'OGC API Features',
    description: 'Features with filters, sorting, every CRS, and edits.',
    category: 'data',
  },
  { key: 'ogc-tiles', name: 'OGC API Tiles', description: 'Vector and map tiles.', category: 'maps' },
  { key: 'ogc-maps', name: 'OGC API Maps', description: 'Maps in any CRS.', category: 'maps' },
  {
    key: 'ogc-coverages',
    name: 'OGC API Coverages',
    description: 'Windows of rasters.',
    category: 'data',
  },
  { key: 'stac', name: 'STAC API', description: 'Search for rasters and footprints.', category: 'data' },
  { key: 'streaming', name: 'Feature streams', description: 'Changes as they happen.', category: 'data' },
  {
    key: 'import',
    name: 'Import',
    description: 'Imports files, remote files and remote services as collections.',
    category: 'management',
  },
  {
    key: 'access-policies',
    name: 'Access policies',
    description: 'Roles, row policies, field masks and rate limits.',
    category: 'management',
  },
];

/** All features. Those without an entitlement need no licence. */
export function listFeatures({
  enabled,
  entitlements,
}: Pick<Licences, 'enabled' | 'entitlements'>): FeatureStatus[] {
  return [
    ...FREE.map((one) => ({ ...one, minimumEdition: 'community' as const, isEnabled: true })),
    ...ENTITLEMENT_KEYS.map((key) => {
      const { name, description, category, minimumEdition } = ENTITLEMENTS[key];
      const isEnabled = !enabled || entitlements.includes(key);
      return { key, name, description, category, minimumEdition, isEnabled };
    }),
  ];
}
