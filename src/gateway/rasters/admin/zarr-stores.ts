import Type, { type Static } from 'typebox';
import type { ZarrStore } from '../../../services/catalog/rasters/zarr.js';
import { PROVIDERS, requireKey, type StorageProvider } from '../../../services/storage/places.js';
import {
  OptionalStringSchema,
  OptionalTimestampSchema,
  optionalTimestamp,
  TimestampSchema,
  timestamp,
} from '../../admin/envelope.js';
import { createRowBuilders, group } from '../../admin/kit.js';
import { defineRegistrations, longId, nullable, REGISTRATION } from './registrations.js';

const SERVICES = ['rasters'] as const;
const { action } = createRowBuilders(SERVICES);

const S = Type.String();
const I = Type.Integer();

const Variable = Type.Object({
  name: S,
  dataType: S,
  shape: Type.Array(I),
  chunks: Type.Array(I),
  dimensionNames: Type.Array(S),
  compressor: OptionalStringSchema,
});

const View = Type.Object({
  id: I,
  layerId: I,
  name: S,
  description: OptionalStringSchema,
  provider: Type.Enum([...PROVIDERS]),
  bucket: S,
  rootPath: S,
  zarrFormat: nullable(I),
  variableCount: nullable(I),
  primaryVariable: OptionalStringSchema,
  srid: nullable(I),
  variables: Type.Union([Type.Array(Variable), Type.Null()]),
  metadataScannedAt: OptionalTimestampSchema,
  createdAt: TimestampSchema,
});

const Register = Type.Object({
  ...REGISTRATION,
  provider: Type.Enum([...PROVIDERS]),
  rootPath: Type.String({ minLength: 1 }),
});

const idParams = { id: longId('id', 'Zarr store') };

/** Zarr stores. */
export const zarrStores = group(
  { tag: 'Zarr stores', scope: 'zarr-stores', envelope: 'raw', isForTenants: true },
  [
    ...defineRegistrations({
      path: '/zarr-stores',
      idParams,
      nouns: { singular: 'Zarr Store', plural: 'Zarr Stores' },
      description: 'The variables of its first grid become bands.',
      view: View,
      body: Register,
      getRegistry: ({ rasters }) => rasters.zarr,
      buildRequest: readRegistration,
      describe: view,
    }),
    action('POST /zarr-stores/{id}/refresh', 'Refresh Zarr Store Metadata', {
      params: idParams,
      data: View,
      errors: [400, 404, 503],
      answer: async ({ params }, { rasters }) => view(await rasters.zarr.refresh(params.id)),
    }),
  ],
);

function readRegistration({ rootPath, createLayer = false, description, ...body }: Static<typeof Register>) {
  requireKey('rootPath', rootPath);
  const provider = body.provider as StorageProvider;
  return { ...body, provider, key: rootPath, createLayer, description: description || null };
}

function view({ registration, grids, ...store }: ZarrStore): Static<typeof View> {
  const { id, layerId, name, description, scannedAt, createdAt } = store;
  return {
    id,
    layerId,
    name,
    description,
    provider: registration.provider,
    bucket: registration.bucket,
    rootPath: registration.key,
    zarrFormat: registration.zarrFormat,
    variableCount: registration.arrays.length > 0 ? registration.arrays.length : null,
    primaryVariable: registration.primary,
    srid: grids[0]?.epsg ?? null,
    variables: registration.arrays.length > 0 ? registration.arrays : null,
    metadataScannedAt: optionalTimestamp(scannedAt),
    createdAt: timestamp(createdAt),
  };
}
