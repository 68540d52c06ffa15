import type {
  GeoServerCatalog,
  GeoServerGridset,
  GeoServerLayer,
  GeoServerStore,
} from '../../../../core/exchange/geoserver.js';
import {
  type Compatibility,
  compatible,
  type InventoryContainer,
  type InventoryDependency,
  type InventoryField,
  type InventoryResource,
  type InventoryStyle,
  partial,
  type Scan,
  type SpatialReference,
} from '../inventory.js';
import { findGeometryClass, formatStoreId, type GeoServerAssessment } from './assessment.js';

/** Container of resources without a workspace. */
const GLOBAL = 'global';
const NOT_ASSESSED = partial('not-assessed', 'It was not assessed.');

/** The inventory of a migration, from the contents of a GeoServer. */
export function buildInventory(
  root: string,
  catalog: GeoServerCatalog,
  assessment: GeoServerAssessment,
): Scan {
  const { title } = catalog.settings ?? {};
  return {
    sourceKind: 'geoserver-rest',
    source: {
      baseUrl: root,
      displayName: typeof title === 'string' ? title : new URL(root).host,
      product: 'GeoServer',
      version: catalog.version ?? null,
      build: catalog.gitRevision ?? null,
      serviceType: 'REST',
    },
    containers: listContainers(catalog),
    resources: [
      ...catalog.layers.map((layer) => withGridsets(buildResource(layer, assessment), catalog)),
      ...catalog.groups.map(({ id, workspace, name, title, abstract, members }) => ({
        ...EMPTY_RESOURCE,
        id: `group:${id}`,
        containerId: containerId(workspace),
        kind: 'layerGroup',
        name,
        title: title ?? null,
        description: abstract ?? null,
        capabilities: ['map'],
        styleIds: members.flatMap(({ style }) => style ?? []),
        externalDependencyIds: listGridsets(id, catalog),
        compatibility: assessment.groups.get(id) ?? NOT_ASSESSED,
      })),
    ],
    styles: catalog.styles.map((style) => buildStyle(style, catalog.layers, assessment)),
    externalDependencies: [
      ...catalog.stores.map((store) => buildDependency(store, assessment)),
      ...catalog.gridsets.map((gridset) => buildGridset(gridset, assessment)),
    ],
    warnings: catalog.gaps.map(({ path, reason }) => `${path}: ${reason}`),
    missingArtifacts: catalog.gaps.map(({ path }) => path),
  };
}

const containerId = (workspace: string | undefined) =>
  workspace === undefined ? GLOBAL : `workspace:${workspace}`;

function listContainers({
  workspaces,
  styles,
  groups,
  layers,
  gridsets,
}: GeoServerCatalog): InventoryContainer[] {
  const about = { title: null, description: null };
  const isolated: Compatibility = partial(
    'isolated',
    'The workspace is isolated: only its own services show it.',
  );
  const own = workspaces.map(({ name, isDefault, isIsolated }) => ({
    id: containerId(name),
    kind: 'workspace',
    name,
    ...about,
    isDefault,
    compatibility: isIsolated ? isolated : compatible('Its layers are taken over one by one.'),
  }));
  const isInNone = ({ workspace }: { workspace: string | undefined }) => workspace === undefined;
  if (gridsets.length === 0 && ![...styles, ...groups, ...layers].some(isInNone)) return own;
  const compatibility = compatible('What lies in no workspace.');
  return [...own, { id: GLOBAL, kind: 'global', name: GLOBAL, ...about, isDefault: false, compatibility }];
}

const gridsetId = (name: string) => `gridset:${name}`;

/** Grids that tiles of a layer or a group are cached in. */
const listGridsets = (id: string, { tileLayers }: GeoServerCatalog): string[] =>
  tileLayers.filter((layer) => layer.id === id).flatMap(({ gridsets }) => gridsets.map(gridsetId));

const withGridsets = (resource: InventoryResource, catalog: GeoServerCatalog): InventoryResource => ({
  ...resource,
  externalDependencyIds: [...resource.externalDependencyIds, ...listGridsets(resource.id, catalog)],
});

const EMPTY_RESOURCE = {
  title: null,
  description: null,
  geometryType: null,
  featureCount: null,
  hasAttachments: null,
  fields: [],
  spatialReferences: [],
  externalDependencyIds: [],
};

function buildResource(layer: GeoServerLayer, { layers }: GeoServerAssessment): InventoryResource {
  const { id, workspace, name, type, resource, defaultStyle, styles } = layer;
  const base = {
    id,
    containerId: containerId(workspace),
    name,
    styleIds: [defaultStyle, ...styles].flatMap((one) => one ?? []),
  };
  const compatibility = layers.get(id) ?? NOT_ASSESSED;
  if (resource === undefined)
    return {
      ...EMPTY_RESOURCE,
      ...base,
      kind: (type ?? 'layer').toLowerCase(),
      capabilities: [],
      compatibility,
    };
  const isFeatures = resource.kind === 'featureType';
  return {
    ...EMPTY_RESOURCE,
    ...base,
    kind: resource.kind,
    title: resource.title ?? null,
    description: resource.abstract ?? null,
    geometryType: findGeometryClass(layer) ?? null,
    capabilities: isFeatures ? ['features', 'map'] : ['coverage', 'map'],
    fields: listFields(layer),
    spatialReferences: parseReferences(resource.srs),
    externalDependencyIds: [
      formatStoreId({
        kind: isFeatures ? 'data' : 'coverage',
        workspace: resource.workspace,
        name: resource.store,
      }),
    ],
    compatibility,
  };
}

function listFields({ resource }: GeoServerLayer): InventoryField[] {
  return (resource?.attributes ?? []).map(({ name, binding, isNullable }) => ({
    name,
    fieldType: binding?.replace(/^.*\./, '') ?? 'unknown',
    alias: null,
    nullable: isNullable,
    domainType: null,
    domainName: null,
    domainValues: [],
  }));
}

function parseReferences(srs: string | undefined): SpatialReference[] {
  if (srs === undefined) return [];
  const [, code] = /^EPSG:(\d+)$/i.exec(srs) ?? [];
  const srid = code === undefined ? null : Number(code);
  const crsUri = srid === null ? null : `http://www.opengis.net/def/crs/EPSG/0/${srid}`;
  return [{ role: 'declared', sourceValue: srs, srid, crsUri }];
}

function buildStyle(
  { id, workspace, name, format, languageVersion, fileName }: GeoServerCatalog['styles'][number],
  layers: readonly GeoServerLayer[],
  { styles }: GeoServerAssessment,
): InventoryStyle {
  const metadata = {
    ...(languageVersion === undefined ? {} : { languageVersion }),
    ...(fileName === undefined ? {} : { fileName }),
  };
  const resourceIds = layers
    .filter((layer) => layer.defaultStyle === id || layer.styles.includes(id))
    .map((layer) => layer.id);
  return {
    id,
    containerId: containerId(workspace),
    kind: 'style',
    name,
    format,
    metadata,
    resourceIds,
    externalDependencyIds: [],
    compatibility: styles.get(id) ?? NOT_ASSESSED,
  };
}

function buildDependency(store: GeoServerStore, { stores }: GeoServerAssessment): InventoryDependency {
  const { kind, workspace, name, type, parameters } = store;
  const { url, host, port, database } = parameters;
  const server = host === undefined ? null : `${host}${port === undefined ? '' : `:${port}`}`;
  const address = url ?? (server === null || database === undefined ? server : `${server}/${database}`);
  return {
    id: formatStoreId(store),
    containerId: containerId(workspace),
    resourceId: null,
    kind: kind === 'data' ? 'dataStore' : 'coverageStore',
    name,
    dependencyType: type ?? null,
    address,
    metadata: parameters,
    spatialReferences: [],
    compatibility: stores.get(formatStoreId(store)) ?? NOT_ASSESSED,
  };
}

/** Inventory entry of a tile cache gridset. Clients that request tiles depend on it. */
function buildGridset(
  { name, srid, tileWidth, tileHeight, levels }: GeoServerGridset,
  { gridsets }: GeoServerAssessment,
): InventoryDependency {
  const { tileMatrixSet, configuration, ...compatibility } = gridsets.get(name)!;
  return {
    id: gridsetId(name),
    containerId: GLOBAL,
    resourceId: null,
    kind: 'gridset',
    name,
    dependencyType: 'tileMatrixSet',
    address: null,
    metadata: {
      tileWidth: `${tileWidth}`,
      tileHeight: `${tileHeight}`,
      levelCount: `${levels.length}`,
      ...(tileMatrixSet === null ? {} : { tileMatrixSetId: tileMatrixSet }),
      ...(configuration === null ? {} : { configuration }),
    },
    spatialReferences: parseReferences(`EPSG:${srid}`),
    compatibility,
  };
}
