import Type, { type Static } from 'typebox';
import type { Discovery, RemoteLayer, RemoteService } from '../../../core/exchange/ingest.js';
import { SOURCE_KINDS, type SourceKind } from '../../../core/exchange/ingest.js';
import type { Exchange, Reply } from '../../../core/http/operation.js';
import { json } from '../../../core/http/reply.js';
import { LIMITS } from '../../../core/kit/limits.js';
import { buildRemoteRequest, CredentialsSchema } from '../../../services/connections/remote-credentials.js';
import { remoteFailure } from '../../../services/connections/remote-failure.js';
import { parseSourceUrl } from '../../../services/uploads/remote-file.js';
import type { ServicesOf } from '../../admin/deps.js';
import { errorDocs, OptionalStringSchema } from '../../admin/envelope.js';
import { createRowBuilders, group, jsonBody } from '../../admin/kit.js';

const SERVICES = ['pools'] as const;
type Deps = ServicesOf<typeof SERVICES>;
const { action } = createRowBuilders(SERVICES);

const S = Type.String();
const OptionalInteger = Type.Union([Type.Integer(), Type.Null()]);
const Kind = Type.Enum([...SOURCE_KINDS]);

const Candidate = Type.Object({
  name: S,
  title: OptionalStringSchema,
  description: OptionalStringSchema,
  externalId: OptionalStringSchema,
  layerId: OptionalInteger,
  layerType: OptionalStringSchema,
  geometryType: OptionalStringSchema,
  serviceName: S,
  serviceUrl: S,
  sourceKind: Kind,
  srid: OptionalInteger,
  featureCount: OptionalInteger,
  extent: Type.Union([
    Type.Object({
      xMin: Type.Number(),
      yMin: Type.Number(),
      xMax: Type.Number(),
      yMax: Type.Number(),
      srid: OptionalInteger,
    }),
    Type.Null(),
  ]),
  fields: Type.Array(
    Type.Object({
      name: S,
      alias: OptionalStringSchema,
      type: OptionalStringSchema,
      length: OptionalInteger,
      nullable: Type.Union([Type.Boolean(), Type.Null()]),
    }),
  ),
});

const Service = Type.Object({
  serviceName: S,
  serviceType: S,
  serviceUrl: S,
  folderPath: OptionalStringSchema,
  sourceKind: Kind,
  srid: OptionalInteger,
  candidates: Type.Array(Candidate),
});

const Discovered = Type.Object({
  sourceUrl: S,
  normalizedUrl: S,
  sourceKind: Kind,
  serviceType: S,
  serviceName: S,
  description: OptionalStringSchema,
  isCatalog: Type.Boolean(),
  srid: OptionalInteger,
  warnings: Type.Array(S),
  services: Type.Array(Service),
  candidates: Type.Array(Candidate),
});

const Body = Type.Object({
  url: Type.Optional(Type.String({ maxLength: LIMITS.urlBytes })),
  serviceUrl: Type.Optional(Type.String({ maxLength: LIMITS.urlBytes })),
  timeoutSeconds: Type.Optional(Type.Integer({ minimum: 1, maximum: 120, default: 30 })),
  credentials: Type.Optional(CredentialsSchema),
});

/** Discovery of services elsewhere. */
export const externalServices = group(
  { tag: 'External services', scope: 'external-services', envelope: 'raw' },
  [
    action('POST /external-services/discover', 'Discover External Service', {
      description:
        'Detects the service at a URL: OGC API Features, Tiles or Maps, WFS, WMS, WMTS, GeoServices REST or STAC. Its host must be in remote.allow.',
      body: jsonBody(Body),
      responses: {
        200: { description: 'The detected service.', content: { 'application/json': Discovered } },
        ...errorDocs([400, 502, 503]),
      },
      reply: discover,
    }),
  ],
);

async function discover(
  x: Exchange<Record<never, never>, Static<typeof Body>>,
  { pools }: Deps,
): Promise<Reply> {
  const { url, serviceUrl, timeoutSeconds = 30, credentials } = x.body;
  const text = url ?? serviceUrl ?? '';
  const source = parseSourceUrl('url', text);
  const request = buildRemoteRequest(source, credentials ?? {}, timeoutSeconds * 1000);
  const discovery = await pools
    .run('ingest.discover', request, { signal: x.signal, caller: x.caller })
    .catch((error: unknown) => {
      throw remoteFailure('url', error);
    });
  return json(buildView(text, discovery) satisfies Static<typeof Discovered>);
}

const TYPES: Readonly<Record<SourceKind, string>> = {
  'ogc-api-features': 'OGC API Features',
  'ogc-api-tiles': 'OGC API Tiles',
  'ogc-api-maps': 'OGC API Maps',
  'ogc-wfs': 'WFS',
  'ogc-wms': 'WMS',
  'ogc-wmts': 'WMTS',
  'arcgis-geoservices-rest': 'GeoServices',
  stac: 'STAC',
};

function chooseType({ kind, url }: RemoteService): string {
  return /\/(\w+Server)$/i.exec(url)?.[1] ?? TYPES[kind];
}

function buildView(
  sourceUrl: string,
  { url, isCatalog, services, warnings }: Discovery,
): Static<typeof Discovered> {
  const [first] = services;
  return {
    sourceUrl,
    normalizedUrl: url,
    sourceKind: first?.kind ?? 'ogc-api-features',
    serviceType: isCatalog && services.length !== 1 ? 'Catalog' : first ? chooseType(first) : 'Unknown',
    serviceName: first?.name ?? new URL(url).host,
    description: first?.description ?? null,
    isCatalog,
    srid: first?.srid ?? null,
    warnings: [...warnings],
    services: services.map(serviceView),
    candidates: services.flatMap((service) => service.layers.map((layer) => candidateView(layer, service))),
  };
}

function serviceView(service: RemoteService): Static<typeof Service> {
  return {
    serviceName: service.name,
    serviceType: chooseType(service),
    serviceUrl: service.url,
    folderPath: service.folder ?? null,
    sourceKind: service.kind,
    srid: service.srid ?? null,
    candidates: service.layers.map((layer) => candidateView(layer, service)),
  };
}

function candidateView(layer: RemoteLayer, service: RemoteService): Static<typeof Candidate> {
  const { name, extent } = layer;
  const [xMin, yMin, xMax, yMax] = extent?.box ?? [0, 0, 0, 0];
  return {
    name,
    title: layer.title ?? null,
    description: layer.description ?? null,
    externalId: layer.layerId === undefined ? name : String(layer.layerId),
    layerId: layer.layerId ?? null,
    layerType: layer.layerType ?? null,
    geometryType: layer.geometryType ?? null,
    serviceName: service.name,
    serviceUrl: service.url,
    sourceKind: layer.kind,
    srid: layer.srid ?? null,
    featureCount: layer.featureCount ?? null,
    extent: extent ? { xMin, yMin, xMax, yMax, srid: extent.srid } : null,
    fields: (layer.fields ?? []).map(({ name, alias, type, length, nullable }) => ({
      name,
      alias: alias ?? null,
      type: type ?? null,
      length: length ?? null,
      nullable: nullable ?? null,
    })),
  };
}
