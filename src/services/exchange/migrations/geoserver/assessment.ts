import type { CatalogSnapshot } from '../../../../core/catalog/collection.js';
import type {
  GeoServerCatalog,
  GeoServerGroup,
  GeoServerLayer,
  GeoServerStore,
  GeoServerStyle,
} from '../../../../core/exchange/geoserver.js';
import { geoServerId } from '../../../../core/exchange/geoserver.js';
import type { Pools } from '../../../../core/tasks/tasks.js';
import { type Compatibility, compatible, incompatible, partial } from '../inventory.js';
import { assessGridsets, type GridsetVerdict } from './gridsets.js';

/** Compatibility of the parts of a GeoServer, by their ids. */
export interface GeoServerAssessment {
  readonly stores: ReadonlyMap<string, Compatibility>;
  readonly layers: ReadonlyMap<string, Compatibility>;
  readonly groups: ReadonlyMap<string, Compatibility>;
  readonly styles: ReadonlyMap<string, Compatibility>;
  readonly gridsets: ReadonlyMap<string, GridsetVerdict>;
}

export interface AssessmentDeps {
  readonly pools: Pick<Pools, 'run'>;
  catalog(): Pick<CatalogSnapshot, 'matrixSets'>;
}

export async function assessGeoServer(
  source: GeoServerCatalog,
  { pools, catalog }: AssessmentDeps,
  signal: AbortSignal,
): Promise<GeoServerAssessment> {
  const stores = new Map(source.stores.map((one) => [formatStoreId(one), assessStore(one)]));
  const layers = new Map(source.layers.map((one) => [one.id, assessLayer(one, stores)]));
  const groups = new Map(source.groups.map((one) => [one.id, assessGroup(one, layers)]));
  const styles = new Map<string, Compatibility>();
  for (const style of source.styles) styles.set(style.id, await assessStyle(style, pools, signal));
  const gridsets = assessGridsets(source.gridsets, catalog().matrixSets);
  return { stores, layers, groups, styles, gridsets };
}

/** Stores of data and of coverages may have one name. */
export function formatStoreId({
  kind,
  workspace,
  name,
}: Pick<GeoServerStore, 'kind' | 'workspace' | 'name'>) {
  return `${kind}:${geoServerId(workspace, name)}`;
}

const COMPLEX = 'A WFS of this store returns nested features, which a table cannot store.';
const CASCADED = 'The data is on another server. Only a copy of its current state is imported.';

/**
 * Types of stores whose data a WFS or WCS does not return unchanged. Other stores are read through the services,
 * whatever their type.
 */
const STORES: Readonly<Record<string, Compatibility>> = {
  'Application Schema DataAccess': incompatible('complex-features', COMPLEX, [
    'Publish the tables behind the application schema themselves.',
  ]),
  'Web Feature Server (NG)': partial('cascaded', CASCADED, {
    manualSteps: ['Import from the server that has the data.'],
  }),
  'Web Feature Server': partial('cascaded', CASCADED, {
    manualSteps: ['Import from the server that has the data.'],
  }),
  'Generalizing data store': partial('generalized', 'The geometries may come simplified.', {
    manualSteps: ['Import from the store that holds the geometries as they are.'],
  }),
  ImageMosaic: partial('mosaic', 'The mosaic comes as one raster of its default granules.'),
  ImagePyramid: partial('pyramid', 'The raster is imported at its full size. Overviews are generated again.'),
  NetCDF: partial('multidimensional', 'One slice of the default time and elevation comes along.'),
  GRIB: partial('multidimensional', 'One slice of the default time and elevation comes along.'),
};

function assessStore({ type, isEnabled, kind }: GeoServerStore): Compatibility {
  if (!isEnabled) return incompatible('disabled', 'The store is disabled: its services give nothing of it.');
  if (type === undefined) return partial('unknown-store', 'GeoServer does not say what the store is.');
  const exception = Object.hasOwn(STORES, type) ? STORES[type] : undefined;
  return exception ?? compatible(`Its data is read through ${kind === 'data' ? 'the WFS' : 'the WCS'}.`);
}

function assessLayer(layer: GeoServerLayer, stores: ReadonlyMap<string, Compatibility>): Compatibility {
  const { type, resource } = layer;
  if (type === 'WMS' || type === 'WMTS')
    return incompatible('cascaded', `The layer shows images of a ${type} of another server.`, [
      'Use the other server, or import the data behind it.',
    ]);
  if (resource === undefined)
    return incompatible('unread', 'What the layer shows could not be read.', ['See the missing artifacts.']);
  if (!layer.isEnabled || !resource.isEnabled)
    return incompatible('disabled', 'The layer is disabled: the services give nothing of it.');
  const kind = resource.kind === 'featureType' ? 'data' : 'coverage';
  const store = stores.get(formatStoreId({ kind, workspace: resource.workspace, name: resource.store }));
  if (store?.level === 'incompatible') return incompatible(store.code!, store.reason, store.manualSteps);
  if (resource.kind === 'featureType' && findGeometryClass(layer) === undefined)
    return incompatible('no-geometry', 'The feature type has no geometry: a collection needs one.');
  return store?.level === 'partial' ? store : assessContent(layer);
}

function assessContent({ resource }: GeoServerLayer): Compatibility {
  const { filter, dimensions, kind } = resource!;
  const warnings = [
    ...(filter === undefined
      ? []
      : [`Only features that pass its filter come along: ${filter.slice(0, 200)}`]),
    ...(dimensions.length === 0 ? [] : [`Its dimensions (${dimensions.join(', ')}) are not imported.`]),
  ];
  if (warnings.length > 0) return partial('reduced', 'It comes without some of what it is.', { warnings });
  return compatible(
    kind === 'featureType' ? 'Its features become a collection.' : 'It becomes a raster of a layer.',
  );
}

function assessGroup(
  { members, mode }: GeoServerGroup,
  layers: ReadonlyMap<string, Compatibility>,
): Compatibility {
  const usable = members.filter(
    ({ kind, id }) => kind === 'layerGroup' || (layers.get(id)?.level ?? 'incompatible') !== 'incompatible',
  );
  if (usable.length === 0) return incompatible('no-members', 'None of its layers can be taken over.');
  return partial('group', 'Its layers become a service, and can be drawn together in one map.', {
    warnings:
      usable.length < members.length
        ? [`${members.length - usable.length} of its layers do not come along.`]
        : [],
    manualSteps: [`Ask for its layers together in a map${mode === 'EO' ? ', and for its footprints' : ''}.`],
  });
}

async function assessStyle(
  { format, content }: GeoServerStyle,
  pools: Pick<Pools, 'run'>,
  signal: AbortSignal,
): Promise<Compatibility> {
  if (format !== 'sld')
    return incompatible('style-format', `Styles in ${format} are not read.`, ['Write the style as SLD.']);
  if (content === undefined)
    return partial('style-unread', 'Its content was not read: what of it can be drawn is not known.', {
      manualSteps: ['Ask again with includeStyleContent.'],
    });
  const { layers, diagnostics } = await pools.run(
    'vector.sld',
    { xml: Buffer.from(content), target: {} },
    { signal },
  );
  if (layers.length === 0)
    return incompatible('style-unreadable', diagnostics[0]?.message ?? 'Nothing of the style can be drawn.');
  if (diagnostics.length === 0) return compatible('All of the style can be drawn.');
  return partial('style-reduced', 'The style is drawn with differences.', {
    warnings: diagnostics.slice(0, 20).map(({ construct, message }) => `${construct}: ${message}`),
  });
}

/** Simple name of the geometry class of a feature type: `MultiPolygon`. */
export function findGeometryClass({ resource }: GeoServerLayer): string | undefined {
  for (const { binding = '' } of resource?.attributes ?? []) {
    const [, name] = /(?:^|\.)jts\.geom\.(\w+)$/.exec(binding) ?? [];
    if (name !== undefined) return name;
  }
  return undefined;
}
