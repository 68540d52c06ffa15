import Type, { type Static } from 'typebox';
import type { Entitlement } from '../../../core/kit/licensing.js';
import type { ServicesOf } from '../../admin/deps.js';
import { OptionalStringSchema } from '../../admin/envelope.js';
import { createRowBuilders, group } from '../../admin/kit.js';

const SERVICES = ['config'] as const;
type Deps = ServicesOf<typeof SERVICES>;
const { report } = createRowBuilders(SERVICES);

/** There is only one edition, but clients may ask for the licence. */
const EDITION = 'community';

const Feature = Type.Object({
  key: Type.String(),
  displayName: Type.String(),
  description: Type.String(),
  category: Type.String(),
  minimumEdition: Type.String(),
  isEnabled: Type.Boolean(),
  upgradeMessage: OptionalStringSchema,
});

interface About {
  readonly name: string;
  readonly description: string;
  readonly category: string;
}

const FREE: Readonly<Record<string, About>> = {
  'ogc-features': {
    name: 'OGC API Features',
    description: 'Features with filters, sorting, every CRS, and edits.',
    category: 'data',
  },
  'ogc-tiles': { name: 'OGC API Tiles', description: 'Vector and map tiles.', category: 'maps' },
  'ogc-maps': { name: 'OGC API Maps', description: 'Maps in any CRS.', category: 'maps' },
  'ogc-coverages': { name: 'OGC API Coverages', description: 'Windows of rasters.', category: 'data' },
  stac: { name: 'STAC API', description: 'Search for rasters and footprints.', category: 'data' },
  streaming: { name: 'Feature streams', description: 'Changes as they happen.', category: 'data' },
  import: {
    name: 'Import',
    description: 'Imports files, remote files and remote services as collections.',
    category: 'management',
  },
  'access-policies': {
    name: 'Access policies',
    description: 'Roles, row policies, field masks and rate limits.',
    category: 'management',
  },
};

const LICENSED: Readonly<Record<Entitlement, About>> = {
  'spatial-analytics': {
    name: 'Spatial analytics',
    description: 'Clusters, densities, aggregations and joins.',
    category: 'analytics',
  },
  'raster.temporal-mosaic': {
    name: 'Mosaics in time',
    description: 'Maps of a mosaic at an instant.',
    category: 'analytics',
  },
};

/** Features of this server. */
export const features = group(
  { tag: 'Features', scope: 'features', envelope: 'wrapped', isForTenants: true },
  [
    report('GET /features', 'Get Feature Overview', {
      data: Type.Object({ currentEdition: Type.String(), features: Type.Array(Feature) }),
      answer: (_x, deps) => ({ currentEdition: EDITION, features: overview(deps) }),
    }),
  ],
);

function overview({ config }: Deps): Static<typeof Feature>[] {
  const setting = (path: string) => config.settings.find((one) => one.path === path)?.value;
  const isLicensed = setting('licensing.enabled') === true;
  const entitlements = setting('licensing.entitlements');
  const covers = (key: string) => !isLicensed || (Array.isArray(entitlements) && entitlements.includes(key));
  return [
    ...Object.entries(FREE).map(([key, about]) => feature(key, about, true)),
    ...Object.entries(LICENSED).map(([key, about]) => feature(key, about, covers(key))),
  ];
}

function feature(key: string, { name, description, category }: About, isEnabled: boolean) {
  const upgradeMessage = isEnabled ? null : `The licence does not cover ${key}.`;
  return {
    key,
    displayName: name,
    description,
    category,
    minimumEdition: EDITION,
    isEnabled,
    upgradeMessage,
  };
}
