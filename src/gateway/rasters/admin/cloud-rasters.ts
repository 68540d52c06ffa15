import Type, { type Static } from 'typebox';
import { ApiError } from '../../../core/errors/errors.js';
import { problem, requireSound } from '../../../core/http/body-problems.js';
import type { CloudRaster } from '../../../services/catalog/rasters/cloud.js';
import { getConnectionProvider, type StoredConnection } from '../../../services/connections/connection.js';
import type { Connections } from '../../../services/connections/connections.js';
import { isBucketProvider } from '../../../services/connections/object-store.js';
import { PROVIDERS, requireKey } from '../../../services/storage/places.js';
import type { Services } from '../../admin/deps.js';
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
  connection: OptionalStringSchema,
});

const Register = Type.Object({
  ...REGISTRATION,
  provider: Type.Enum([...PROVIDERS]),
  objectKey: Type.String({ minLength: 1 }),
  connection: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 256,
      description: 'Id or name of the connection that the bucket is read by; else the environment says it.',
    }),
  ),
});

const idParams = { id: longId('id', 'cloud raster') };

/** Rasters in object stores. */
export const cloudRasters = group(
  { tag: 'Cloud rasters', scope: 'cloud-rasters', envelope: 'raw', isForTenants: true },
  [
    ...defineRegistrations({
      path: '/cloud-rasters',
      idParams,
      nouns: { singular: 'Cloud Raster', plural: 'Cloud Rasters' },
      description: 'The object is read by ranges where it is; its host must be in remote.allow.',
      view: View,
      body: Register,
      getRegistry: ({ rasters }) => rasters.cloud,
      buildRequest: loadRegistration,
      describe: view,
    }),
    action('POST /cloud-rasters/{id}/refresh', 'Refresh Cloud Raster Metadata', {
      params: idParams,
      data: View,
      errors: [400, 404, 503],
      answer: async ({ params }, { rasters }) => view(await rasters.cloud.refresh(params.id)),
    }),
  ],
);

async function loadRegistration(body: Static<typeof Register>, { connections }: Services<'connections'>) {
  const { provider, createLayer = false, description, connection, ...rest } = body;
  if (provider === 'Local')
    throw new ApiError(
      'invalid-request',
      'A cloud raster cannot have the provider Local. Import the file, or publish its folder.',
    );
  requireKey('objectKey', rest.objectKey);
  const stored = connection === undefined ? undefined : await bucketConnection(connection, connections);
  requireSound([
    stored === undefined || stored.body.provider === provider
      ? undefined
      : problem('provider', 'must be that of the connection'),
    stored === undefined || stored.body.databaseName === rest.bucket
      ? undefined
      : problem('bucket', `must be ${stored.body.databaseName}, the bucket of the connection`),
  ]);
  return {
    ...rest,
    ...(stored === undefined ? {} : { connectionId: stored.id }),
    provider: provider as 'AwsS3' | 'AzureBlob',
    createLayer,
    description: description || null,
  };
}

/** Throws 400 if the body does not name a bucket connection. */
async function bucketConnection(idOrName: string, connections: Connections): Promise<StoredConnection> {
  const stored = (await connections.list()).find(
    ({ id, body }) => id === idOrName.toLowerCase() || body.name.toLowerCase() === idOrName.toLowerCase(),
  );
  const isBucket =
    stored !== undefined &&
    !connections.isSource(stored) &&
    isBucketProvider(getConnectionProvider(stored.body));
  requireSound([isBucket ? undefined : problem('connection', 'must be a connection to a bucket')]);
  return stored!;
}

function view(raster: CloudRaster): Static<typeof View> {
  const { id, layerId, name, description, registration, grids, scannedAt, createdAt } = raster;
  const [info] = grids;
  return {
    id,
    layerId,
    name,
    description,
    provider: registration.provider,
    bucket: registration.bucket,
    objectKey: registration.objectKey,
    connection: registration.connectionId ?? null,
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
