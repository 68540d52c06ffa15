import Type, { type Static } from 'typebox';
import type { GeoServerCatalog, GeoServerLayer } from '../../../../core/exchange/geoserver.js';
import type { Exchange } from '../../../../core/http/operation.js';
import { LIMITS } from '../../../../core/kit/limits.js';
import { timelyFailure } from '../../../../services/connections/remote-failure.js';
import {
  assessGeoServer,
  findGeometryClass,
  formatStoreId,
  type GeoServerAssessment,
} from '../../../../services/exchange/migrations/geoserver/assessment.js';
import { requestGeoServer, restRequest } from '../../../../services/exchange/migrations/geoserver/source.js';
import {
  type Compatibility,
  countLevels,
  overall,
} from '../../../../services/exchange/migrations/inventory.js';
import type { ServicesOf } from '../../../admin/deps.js';
import { OptionalStringSchema, TimestampSchema, timestamp } from '../../../admin/envelope.js';
import { createRowBuilders, jsonBody } from '../../../admin/kit.js';
import { CompatibilitySchema } from '../inventory-schemas.js';

const SERVICES = ['catalog', 'pools'] as const;
type Deps = ServicesOf<typeof SERVICES>;
const { action } = createRowBuilders(SERVICES);

const S = Type.String();
const B = Type.Boolean();
const Objects = Type.Array(Type.Object({}));
const MEMBER = 'geoServerRestUrl';

const Body = Type.Object({
  geoServerRestUrl: Type.String({ minLength: 1, maxLength: LIMITS.urlBytes }),
  username: Type.Optional(Type.String({ maxLength: 256 })),
  password: Type.Optional(Type.String({ maxLength: 1024 })),
  timeoutSeconds: Type.Optional(Type.Integer({ minimum: 1, maximum: 600, default: 120 })),
  includeStyleContent: Type.Optional(Type.Boolean({ default: false })),
  includeCompatibilityAnalysis: Type.Optional(Type.Boolean({ default: true })),
});

const Items = Type.Array(Type.Object({ id: S, compatibility: CompatibilitySchema }));
const Assessment = Type.Object({
  overall: CompatibilitySchema,
  summary: Type.Object({
    compatibleCount: Type.Integer(),
    partiallyCompatibleCount: Type.Integer(),
    incompatibleCount: Type.Integer(),
  }),
  stores: Items,
  layers: Items,
  layerGroups: Items,
  styles: Items,
  gridsets: Type.Array(
    Type.Object({
      id: S,
      compatibility: CompatibilitySchema,
      tileMatrixSetId: Type.Union([S, Type.Null()], {
        description: 'Tile matrix set of this server with the same tiles.',
      }),
      configuration: Type.Union([S, Type.Null()], {
        description: 'Setting that adds the missing tile matrix set, as YAML.',
      }),
    }),
  ),
});

const Discovered = Type.Object({
  geoServerRestUrl: S,
  version: OptionalStringSchema,
  gitRevision: OptionalStringSchema,
  buildTimestamp: OptionalStringSchema,
  discoveredAt: TimestampSchema,
  workspaces: Type.Array(Type.Object({ name: S, isDefault: B, isIsolated: B })),
  dataStores: Objects,
  coverageStores: Objects,
  layers: Objects,
  layerGroups: Objects,
  styles: Objects,
  gridsets: Objects,
  tileLayers: Objects,
  serviceEndpoints: Type.Array(Type.Object({ service: S, url: S, enabled: B, title: OptionalStringSchema })),
  globalSettings: Type.Union([Type.Object({}), Type.Null()]),
  compatibilityAssessment: Type.Union([Assessment, Type.Null()]),
  warnings: Type.Array(S, { description: 'Unreadable resources with the reasons.' }),
});

export const discoverGeoServer = action('POST /import/platform-b/discover', 'Discover Service (platform-b)', {
  description:
    'Reads a GeoServer over its REST API. The server sends the credentials only to that host, which must be in remote.allow, and follows no links.',
  body: jsonBody(Body),
  data: Discovered,
  errors: [400, 502, 503, 504],
  answer: discover,
});

async function discover(
  { body, signal }: Exchange<Record<never, never>, Static<typeof Body>>,
  deps: Deps,
): Promise<Static<typeof Discovered>> {
  const { geoServerRestUrl, timeoutSeconds = 120, includeStyleContent = false } = body;
  const request = restRequest(MEMBER, geoServerRestUrl, { ...body, timeoutSeconds });
  const catalog = await requestGeoServer(request, includeStyleContent, deps.pools, signal).catch(
    (error: unknown) => {
      throw timelyFailure(MEMBER, error);
    },
  );
  const assessment =
    body.includeCompatibilityAnalysis === false ? undefined : await assessGeoServer(catalog, deps, signal);
  return {
    geoServerRestUrl: request.url,
    version: catalog.version ?? null,
    gitRevision: catalog.gitRevision ?? null,
    buildTimestamp: catalog.buildTimestamp ?? null,
    discoveredAt: timestamp(Date.now()),
    workspaces: [...catalog.workspaces],
    ...buildViews(catalog),
    serviceEndpoints: catalog.endpoints.map(({ service, url, isEnabled, title }) => ({
      service,
      url,
      enabled: isEnabled,
      title: title ?? null,
    })),
    globalSettings: catalog.settings ?? null,
    compatibilityAssessment: assessment ? assessmentView(assessment) : null,
    warnings: catalog.gaps.map(({ path, reason }) => `${path}: ${reason}`),
  };
}

function buildViews({ stores, layers, groups, styles, gridsets, tileLayers }: GeoServerCatalog) {
  const storeViews = (kind: 'data' | 'coverage') =>
    stores
      .filter((store) => store.kind === kind)
      .map((store) => ({
        id: formatStoreId(store),
        workspaceName: store.workspace,
        name: store.name,
        type: store.type ?? null,
        enabled: store.isEnabled,
        description: store.description ?? null,
        connectionParameters: store.parameters,
      }));
  return {
    dataStores: storeViews('data'),
    coverageStores: storeViews('coverage'),
    layers: layers.map(layerView),
    layerGroups: groups.map(({ id, workspace, name, title, abstract, mode, members }) => ({
      id,
      workspaceName: workspace ?? null,
      name,
      title: title ?? null,
      abstract: abstract ?? null,
      mode: mode ?? null,
      members: members.map(({ kind, id, style }) => ({ kind, id, style: style ?? null })),
    })),
    styles: styles.map(({ id, workspace, name, format, languageVersion, fileName, content }) => ({
      id,
      workspaceName: workspace ?? null,
      name,
      format,
      languageVersion: languageVersion ?? null,
      fileName: fileName ?? null,
      ...(content === undefined ? {} : { content }),
    })),
    gridsets: gridsets.map(({ isNorthFirst, isTopLeft, levels, ...gridset }) => ({
      ...gridset,
      description: gridset.description ?? null,
      yCoordinateFirst: isNorthFirst,
      alignTopLeft: isTopLeft,
      levels: [...levels],
    })),
    tileLayers: tileLayers.map(({ id, isEnabled, formats, gridsets }) => ({
      id,
      enabled: isEnabled,
      formats,
      gridsets,
    })),
  };
}

function layerView(layer: GeoServerLayer) {
  const { id, workspace, name, type, isEnabled, defaultStyle, styles, attribution, resource } = layer;
  return {
    id,
    workspaceName: workspace ?? null,
    name,
    type: type ?? null,
    enabled: isEnabled,
    storeName: resource?.store ?? null,
    nativeName: resource?.nativeName ?? null,
    title: resource?.title ?? null,
    abstract: resource?.abstract ?? null,
    keywords: resource?.keywords ?? [],
    srs: resource?.srs ?? null,
    geometryType: findGeometryClass(layer) ?? null,
    attributes: resource?.attributes ?? [],
    bands: resource?.bands ?? [],
    dimensions: resource?.dimensions ?? [],
    cqlFilter: resource?.filter ?? null,
    latLonBoundingBox: resource?.box84 ?? null,
    defaultStyle: defaultStyle ?? null,
    styles,
    attribution: attribution ?? null,
    attributionUrl: layer.attributionUrl ?? null,
  };
}

function assessmentView({
  stores,
  layers,
  groups,
  styles,
  gridsets,
}: GeoServerAssessment): Static<typeof Assessment> {
  const items = (of: ReadonlyMap<string, Compatibility>) =>
    [...of].map(([id, one]) => ({ id, compatibility: compatibilityView(one) }));
  const parts = { layers: items(layers), layerGroups: items(groups), styles: items(styles) };
  const all = Object.values(parts).flat();
  return {
    overall: compatibilityView(overall(all)),
    summary: countLevels(all),
    stores: items(stores),
    ...parts,
    gridsets: [...gridsets].map(([id, { tileMatrixSet, configuration, ...one }]) => ({
      id,
      compatibility: compatibilityView(one),
      tileMatrixSetId: tileMatrixSet,
      configuration,
    })),
  };
}

function compatibilityView({ warnings, manualSteps, ...one }: Compatibility) {
  return { ...one, warnings: [...warnings], manualSteps: [...manualSteps] };
}
