import Type, { type Static } from 'typebox';
import { TaskFailure } from '../../../core/errors/failure.js';
import type { RemoteRequest } from '../../../core/exchange/ingest.js';
import type { Exchange, Reply } from '../../../core/http/operation.js';
import { json } from '../../../core/http/reply.js';
import { LIMITS } from '../../../core/kit/limits.js';
import { buildRemoteRequest } from '../../../services/connections/remote-credentials.js';
import { timelyFailure } from '../../../services/connections/remote-failure.js';
import { assessGeoServer } from '../../../services/exchange/migrations/geoserver/assessment.js';
import { buildInventory } from '../../../services/exchange/migrations/geoserver/inventory.js';
import { requestGeoServer, restRequest } from '../../../services/exchange/migrations/geoserver/source.js';
import { scanGeoServices } from '../../../services/exchange/migrations/geoservices.js';
import {
  countLevels,
  failedScan,
  type InventoryKind,
  incompatible,
  overall,
  type Scan,
} from '../../../services/exchange/migrations/inventory.js';
import { parseSourceUrl } from '../../../services/uploads/remote-file.js';
import type { ServicesOf } from '../../admin/deps.js';
import { errorDocs } from '../../admin/envelope.js';
import { createRowBuilders, jsonBody } from '../../admin/kit.js';
import { enumeration } from '../../admin/params.js';
import { INVENTORY_KIND, InventorySchema } from './inventory-schemas.js';

const SERVICES = ['catalog', 'pools'] as const;
type Deps = ServicesOf<typeof SERVICES>;
const { action } = createRowBuilders(SERVICES);

const KINDS = ['geoserver', 'geoserver-rest', 'geoservices', 'arcgis-geoservices-rest'] as const;
const MEMBER = 'sourceUrl';

const Body = Type.Object({
  sourceKind: Type.Enum([...KINDS]),
  sourceUrl: Type.String({ minLength: 1, maxLength: LIMITS.urlBytes }),
  username: Type.Optional(Type.String({ maxLength: 256 })),
  password: Type.Optional(Type.String({ maxLength: 1024 })),
  timeoutSeconds: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 600,
      description: 'Default: 120 for GeoServer, 30 for GeoServices.',
    }),
  ),
  includeStyleContent: Type.Optional(
    Type.Boolean({
      default: false,
      description: 'Whether the scan reads SLD styles and reports their unsupported parts.',
    }),
  ),
});
type ScanBody = Static<typeof Body>;

const params = { export: enumeration('export', ['json'], 'Answers the inventory as an attachment.') };

export const scanSource = action('POST /import/scan', 'Scan Migration Source', {
  description:
    'Lists the resources of a GeoServer, a GeoServices REST service or a catalog of them, and reports which the server can import. If the source rejects the credentials, the scan fails.',
  params,
  body: jsonBody(Body),
  responses: {
    200: { description: 'The inventory.', content: { 'application/json': InventorySchema } },
    ...errorDocs([400, 502, 503, 504]),
  },
  reply,
});

type ScanExchange = Exchange<typeof params, ScanBody>;

async function reply(x: ScanExchange, deps: Deps): Promise<Reply> {
  const { sourceKind } = x.body;
  const isGeoServer = sourceKind === 'geoserver' || sourceKind === 'geoserver-rest';
  const request = isGeoServer ? geoServerRequest(x.body) : geoServicesRequest(x.body);
  const scan = await (isGeoServer ? scanGeoServer : scanServices)(request, x, deps).catch(
    (error: unknown) => {
      if (error instanceof TaskFailure && error.code === 'access-denied')
        return refusedScan(isGeoServer, request, error);
      throw timelyFailure(MEMBER, error);
    },
  );
  const answer = json(buildDocument(x.body, scan));
  if (x.params.export === undefined) return answer;
  const headers = { 'content-disposition': 'attachment; filename="source-inventory.json"' };
  return { ...answer, headers: { ...answer.headers, ...headers } };
}

function geoServerRequest({ sourceUrl: address, username, password, timeoutSeconds = 120 }: ScanBody) {
  return restRequest(MEMBER, address, { username, password, timeoutSeconds });
}

function geoServicesRequest({ sourceUrl: address, username, password, timeoutSeconds = 30 }: ScanBody) {
  const credentials = { mode: 'basic', username, password } as const;
  return buildRemoteRequest(parseSourceUrl(MEMBER, address), credentials, timeoutSeconds * 1000);
}

async function scanGeoServer(request: RemoteRequest, x: ScanExchange, deps: Deps): Promise<Scan> {
  const catalog = await requestGeoServer(request, x.body.includeStyleContent ?? false, deps.pools, x.signal);
  return buildInventory(request.url, catalog, await assessGeoServer(catalog, deps, x.signal));
}

function scanServices(request: RemoteRequest, x: ScanExchange, { pools }: Deps): Promise<Scan> {
  return scanGeoServices(request, pools, x.signal);
}

interface FailedScan extends Scan {
  readonly isFailed: true;
}

function refusedScan(isGeoServer: boolean, { url }: RemoteRequest, { message }: TaskFailure): FailedScan {
  const kind: InventoryKind = isGeoServer ? 'geoserver-rest' : 'arcgis-geoservices-rest';
  return { ...failedScan(kind, url, message), isFailed: true };
}

function buildDocument({ username }: ScanBody, { warnings, missingArtifacts, ...scan }: Scan | FailedScan) {
  const { isFailed = false, ...parts } = scan as Omit<FailedScan, 'warnings' | 'missingArtifacts'>;
  const assessed = [...parts.resources, ...parts.styles];
  return {
    artifactKind: INVENTORY_KIND,
    artifactVersion: '1.0',
    ...parts,
    authPosture: {
      mode: username === undefined ? 'anonymous' : 'basic',
      credentialsSupplied: username !== undefined,
      accessConfirmed: !isFailed,
      notes: isFailed ? [...warnings] : [],
    },
    scanCompleteness: {
      status: isFailed ? 'failed' : missingArtifacts.length > 0 ? 'partial' : 'complete',
      warnings,
      missingArtifacts,
    },
    summary: {
      containerCount: parts.containers.length,
      resourceCount: parts.resources.length,
      styleCount: parts.styles.length,
      externalDependencyCount: parts.externalDependencies.length,
      ...countLevels(assessed),
    },
    overallCompatibility: isFailed ? incompatible('unread', 'The source was not read.') : overall(assessed),
  };
}
