import Type, { type Static } from 'typebox';
import type { RemoteService } from '../../../../core/exchange/ingest.js';
import type { Exchange } from '../../../../core/http/operation.js';
import { LIMITS } from '../../../../core/kit/limits.js';
import {
  buildRemoteRequest,
  type RemoteCredentials,
} from '../../../../services/connections/remote-credentials.js';
import { remoteFailure } from '../../../../services/connections/remote-failure.js';
import { servicePath } from '../../../../services/geoservices/service-path.js';
import { parseSourceUrl } from '../../../../services/uploads/remote-file.js';
import type { ServicesOf } from '../../../admin/deps.js';
import { OptionalStringSchema } from '../../../admin/envelope.js';
import { createRowBuilders, jsonBody } from '../../../admin/kit.js';
import { createMemberError } from '../../../connections/admin/remote-imports.js';

const SERVICES = ['pools'] as const;
type Deps = ServicesOf<typeof SERVICES>;
const { action } = createRowBuilders(SERVICES);

const S = Type.String();
const OptionalInteger = Type.Union([Type.Integer(), Type.Null()]);

const GeoServicesCredentials = Type.Object({
  mode: Type.Optional(Type.Enum(['none', 'arcgis-token', 'token', 'basic'])),
  username: Type.Optional(Type.String({ maxLength: 256 })),
  password: Type.Optional(Type.String({ maxLength: 1024 })),
  accessToken: Type.Optional(
    Type.String({ maxLength: 8192, description: 'Sent in the query when mode is absent.' }),
  ),
  passwordSecretReference: Type.Optional(Type.String({ description: 'Not read by the discovery.' })),
  accessTokenSecretReference: Type.Optional(Type.String({ description: 'Not read by the discovery.' })),
});

const Body = Type.Object({
  serviceUrl: Type.String({ minLength: 1, maxLength: LIMITS.urlBytes }),
  timeoutSeconds: Type.Optional(Type.Integer({ minimum: 1, maximum: 120, default: 30 })),
  credentials: Type.Optional(GeoServicesCredentials),
});

const Service = Type.Object({
  serviceUrl: S,
  serviceName: S,
  description: OptionalStringSchema,
  maxRecordCount: OptionalInteger,
  spatialReferenceWkid: OptionalInteger,
  layers: Type.Array(
    Type.Object({
      id: Type.Integer(),
      name: S,
      description: OptionalStringSchema,
      geometryType: OptionalStringSchema,
      featureCount: OptionalInteger,
      hasAttachments: Type.Boolean(),
    }),
  ),
});

export const discoverGeoServices = action(
  'POST /import/geoservices/discover',
  'Discover GeoServices Service',
  {
    description:
      'Reads a FeatureServer or MapServer with its layers and tables, and counts their features. Its host must be in remote.allow.',
    body: jsonBody(Body),
    data: Service,
    errors: [400, 502, 503],
    answer: discover,
  },
);

async function discover(
  { body, signal, caller }: Exchange<Record<never, never>, Static<typeof Body>>,
  { pools }: Deps,
): Promise<Static<typeof Service>> {
  const { serviceUrl, timeoutSeconds = 30, credentials = {} } = body;
  const request = buildRemoteRequest(
    parseServiceUrl(serviceUrl),
    readCredentials(credentials),
    timeoutSeconds * 1000,
  );
  const service = await pools
    .run('ingest.geoservices', request, { signal, caller })
    .catch((error: unknown) => {
      throw remoteFailure('serviceUrl', error);
    });
  return buildView(service);
}

/** The URL of the service, also where that of one of its layers was given. */
export function parseServiceUrl(text: string, member = 'serviceUrl'): URL {
  const url = parseSourceUrl(member, text);
  const path = servicePath(url.pathname);
  if (path === undefined)
    throw createMemberError(member, 'must end with FeatureServer or MapServer, or with a layer of one');
  url.pathname = path;
  return url;
}

function readCredentials(given: Static<typeof GeoServicesCredentials>): RemoteCredentials {
  for (const member of ['passwordSecretReference', 'accessTokenSecretReference'] as const)
    if (given[member] !== undefined)
      throw createMemberError(
        `credentials.${member}`,
        'is not supported by the discovery. Send the secret itself',
      );
  const { mode, username, password, accessToken: token } = given;
  if (mode === 'none') return {};
  return token === undefined ? { mode, username, password } : { mode: mode ?? 'arcgis-token', token };
}

function buildView({ url, name, description, maxRecordCount, srid, layers }: RemoteService) {
  return {
    serviceUrl: url,
    serviceName: name,
    description: description ?? null,
    maxRecordCount: maxRecordCount ?? null,
    spatialReferenceWkid: srid ?? null,
    layers: layers.map((layer) => ({
      id: layer.layerId!,
      name: layer.name,
      description: layer.description ?? null,
      geometryType: layer.geometryType ?? null,
      featureCount: layer.featureCount ?? null,
      hasAttachments: layer.hasAttachments ?? false,
    })),
  };
}
