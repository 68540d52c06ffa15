import Type, { type Static } from 'typebox';
import { ApiError } from '../../../core/errors.js';
import type { CloudRaster } from '../../../services/rasters/cloud.js';
import { PROVIDERS, requireKey } from '../../../services/rasters/places.js';
import {
  OptionalStringSchema,
  OptionalTimestampSchema,
  optionalTimestamp,
  TimestampSchema,
  timestamp,
} from '../envelope.js';
import { action, group } from '../kit.js';
import { longId, nullable, REGISTRATION, registrations } from '../registered.js';

const I = Type.Integer();

const View = Type.Object({
  id: I,
  layerId: I,
  name: Type.String(),
  description: OptionalStringSchema,
  provider: Type.Enum([...PROVIDERS]),
  bucket: Type.String(),
  objectKey: Type.String(),
  width: nullable(I),
  height: nullable(I),
  bandCount: nullable(I),
  srid: nullable(I),
  compression: OptionalStringSchema,
  overviewLevelCount: nullable(I),
  metadataScannedAt: OptionalTimestampSchema,
  createdAt: TimestampSchema,
});

const Register = Type.Object({
  ...REGISTRATION,
  provider: Type.Enum([...PROVIDERS]),
  objectKey: Type.String({ minLength: 1 }),
});

const byId = { id: longId('id', 'cloud raster') };

/** Rasters in object stores. */
export const cloudRasters = group({ tag: 'Cloud rasters', scope: 'cloud-rasters', envelope: 'raw' }, [
  ...registrations({
    path: '/cloud-rasters',
    byId,
    titles: ['Cloud Raster', 'Cloud Rasters'],
    description: 'The object is read by ranges where it is; its host must be in remote.allow.',
    view: View,
    body: Register,
    of: ({ rasters }) => rasters.cloud,
    registrationOf,
    describe: view,
  }),
  action('POST /cloud-rasters/{id}/refresh', 'Refresh Cloud Raster Metadata', {
    params: byId,
    data: View,
    errors: [400, 404, 503],
    answer: async ({ params }, { rasters }) => view(await rasters.cloud.refresh(params.id)),
  }),
]);

function registrationOf(body: Static<typeof Register>) {
  const { provider, createLayer = false, description, ...rest } = body;
  if (provider === 'Local')
    throw new ApiError(
      'invalid-request',
      'A cloud raster is not Local: import the file, or publish its folder.',
    );
  requireKey('objectKey', rest.objectKey);
  return {
    ...rest,
    provider: provider as 'AwsS3' | 'AzureBlob',
    createLayer,
    description: description || null,
  };
}

function view(raster: CloudRaster): Static<typeof View> {
  const { id, layerId, name, description, about, parts, scannedAt, createdAt } = raster;
  const [info] = parts;
  return {
    id,
    layerId,
    name,
    description,
    ...about,
    width: info?.width ?? null,
    height: info?.height ?? null,
    bandCount: info?.bands.length ?? null,
    srid: info?.epsg ?? null,
    compression: info?.compression ?? null,
    overviewLevelCount: info?.overviewCount ?? null,
    metadataScannedAt: optionalTimestamp(scannedAt),
    createdAt: timestamp(createdAt),
  };
}
