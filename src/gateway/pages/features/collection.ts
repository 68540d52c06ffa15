import { byData, hasCoverage, hasFeatures } from '../../../core/catalog/abilities.js';
import { describeAssumedCrs, explainAssumedCrs, findAssumedCrs } from '../../../core/catalog/assumed-crs.js';
import type {
  ArchiveCollection,
  Collection,
  RasterCollection,
  VectorCollection,
} from '../../../core/catalog/collection.js';
import type { MapData, MapLayerData } from '../../../core/catalog/page-data.js';
import type { Field } from '../../../core/sources/vector-source.js';
import { html, type Markup } from '../../../core/values/html.js';
import { formatBoxSides } from '../../../services/catalog/inspections/crs-notes.js';
import { badgeLine, listBadges } from '../catalog/collections.js';
import { type Crumb, type PageFrame, page, renderSection } from '../layout.js';
import { linkList, type PageLink, representationLine, selectResourceLinks } from '../links.js';
import { bandTable } from '../maps/band-table.js';
import { basemapData } from '../maps/basemap.js';
import { colorSection, type PageColors, withColors } from '../maps/color-form.js';
import { formatCoordinateUnit, renderCrs } from '../maps/crs-text.js';
import { buildItemsUrl, buildViewerUrl, mapLayer } from '../maps/map-data.js';
import { MAP_SCRIPTS, mapFrame, mapHead, mapPicture, planeFigure } from '../maps/map-frame.js';
import { positionSection } from '../maps/position.js';
import { snippetSection } from '../snippets/index.js';
import { liveUrl } from '../streams/live.js';
import { table } from '../table.js';
import { extentText, facts, formatCount } from '../values.js';
import { downloadSection } from './downloads.js';
import type { SampleSizes } from './export-links.js';
import { filterSection, statisticsSection } from './filter-builder.js';

export interface CollectionPage extends PageFrame {
  readonly crumbs: readonly Crumb[];
  readonly collection: Collection;
  readonly links: readonly PageLink[];
  /** Bytes of a feature by format, where they were measured. */
  readonly sizes?: SampleSizes;
  /** Bands and colours of a raster. */
  readonly colors?: PageColors;
  /** The caller can see the names of files, and reasons of warnings. */
  readonly maySeeSources: boolean;
  readonly mayChangeSources: boolean;
}

/** A collection of any kind: map, facts, fields or bands, links to every representation. */
export function renderCollectionPage(input: CollectionPage): string {
  const { baseUrl, collection, links } = input;
  const body = html`<h1><bdi>${collection.title}</bdi></h1>
${badgeLine(listBadges(collection))}
${collection.description && collection.description !== collection.title ? html`<p class="lead"><bdi>${collection.description}</bdi></p>` : undefined}
${crsNote(input)}
${collection.warning === undefined ? undefined : html`<p class="note" role="note">${collection.warning}</p>`}
${representationLine(links)}
${collectionMap(input)}
${browse(input)}
${hasFeatures(collection) ? [filterSection(baseUrl, collection, input.sizes), statisticsSection(baseUrl, collection)] : undefined}
${hasCoverage(collection) ? [colorSection(baseUrl, collection, input.colors ?? DEFAULT_COLORS), positionSection(baseUrl, collection)] : undefined}
${downloadSection(input, input.sizes, input.colors)}
${snippetSection(input)}
${renderSection('Facts', collectionFacts(input))}
${contents(collection)}
${renderSection('All links', linkList([...selectResourceLinks(links), ...onEarthLinks(input)]))}`;
  return page({
    ...input,
    title: collection.title,
    body,
    head: mapHead(baseUrl),
    scripts: [...MAP_SCRIPTS, 'take.js', ...OWN_SCRIPTS[collection.kind]],
    alternates: links,
  });
}

/** Note about the assumed CRS, with the reason only for operators. */
function crsNote({
  baseUrl,
  collection,
  maySeeSources,
  mayChangeSources,
}: CollectionPage): Markup | undefined {
  const assumed = findAssumedCrs(collection);
  if (!assumed) return undefined;
  if (!maySeeSources) return html`<p class="note" role="note">${describeAssumedCrs(assumed)}</p>`;
  const link = mayChangeSources
    ? html` <a href="${`${baseUrl}/sources/${encodeURIComponent(collection.id)}/crs`}">Choose the coordinate reference system</a>`
    : undefined;
  return html`<p class="note" role="note">${explainAssumedCrs(assumed)}${link}</p>`;
}

const DEFAULT_COLORS: PageColors = { query: '', look: undefined };

const OWN_SCRIPTS: Record<Collection['kind'], readonly string[]> = {
  vector: ['filter.js'],
  raster: ['position.js', 'colors.js'],
  archive: [],
};

/** Links that most readers need, at the top of the page. */
function browse({ baseUrl, collection, colors }: CollectionPage): Markup | undefined {
  const pages: Markup[] = [];
  if (hasFeatures(collection))
    pages.push(primary(`${buildItemsUrl(collection, baseUrl)}?f=html`, 'Browse and filter features'));
  if (!collection.storageCrs.isPlane)
    pages.push(viewerButton(buildViewerUrl(baseUrl, collection.id), collection.id, colors));
  return pages.length > 0 ? html`<p class="actions">${pages}</p>` : undefined;
}

function primary(href: string, text: string): Markup {
  return html`<a class="button" href="${href}">${text}</a> `;
}

/** A link to the viewer, which has the colours of a raster behind the hash of its URL. */
function viewerButton(url: string, id: string, colors: PageColors | undefined): Markup {
  const hash = colors?.query ? `#colors=${encodeURIComponent(id)}:${encodeURIComponent(colors.query)}` : '';
  return html`<a class="button" href="${url}${hash}" data-viewer="${url}">Open in the map viewer</a> `;
}

/** Pages that draw on a map of the Earth. */
function onEarthLinks(input: CollectionPage): PageLink[] {
  return input.collection.storageCrs.isPlane ? [] : [viewerLink(input), ...liveLink(input)];
}

function viewerLink({ baseUrl, collection }: CollectionPage): PageLink {
  return {
    href: buildViewerUrl(baseUrl, collection.id),
    rel: 'related',
    type: 'text/html',
    title: 'Map viewer',
  };
}

function liveLink({ baseUrl, collection }: CollectionPage): PageLink[] {
  if (!hasFeatures(collection)) return [];
  const type = 'text/html';
  return [{ href: liveUrl(baseUrl, collection.id), rel: 'related', type, title: 'Live changes' }];
}

function collectionMap(input: CollectionPage): Markup {
  const { baseUrl, collection, colors } = input;
  if (collection.storageCrs.isPlane) return planeFigure(baseUrl, collection, colors);
  const data: MapData = {
    baseUrl,
    bounds: collection.extent84 ?? null,
    layers: [coloredLayer(mapLayer(collection, baseUrl), colors)],
    basemap: basemapData(baseUrl),
    features: null,
  };
  return mapFrame({
    data,
    label: `Map of ${collection.title}`,
    picture: mapPicture(baseUrl, collection, colors),
    printed: { baseUrl, collection, colors },
  });
}

function coloredLayer(layer: MapLayerData, colors: PageColors | undefined): MapLayerData {
  return { ...layer, tiles: withColors(layer.tiles, colors) };
}

function collectionFacts({ baseUrl, collection }: CollectionPage): Markup {
  return facts([
    ['Identifier', html`<code>${collection.id}</code>`],
    ['Layer number', collection.layerId],
    ['Extent', collection.extent84 && extentText(collection.extent84)],
    ['Extent in the storage CRS', ownExtentText(collection)],
    ['Storage CRS', renderCrs(collection.storageCrs, baseUrl)],
    ['Supported CRS', html`${collection.crs.map((crs) => html`${renderCrs(crs, baseUrl)} `)}`],
    ...ownFacts(collection),
  ]);
}

/** Extent of the stored coordinates, where they are not degrees. */
function ownExtentText(collection: Collection): string | undefined {
  if (collection.storageCrs.geographic || collection.storageCrs.isPlane) return undefined;
  const extent = hasFeatures(collection) ? collection.extent : undefined;
  return extent && formatBoxSides(extent);
}

type Fact = readonly [string, Markup | string | number | undefined];

function ownFacts(collection: Collection): Fact[] {
  return byData(collection, { features: vectorFacts, coverage: rasterFacts, storedTiles: archiveFacts });
}

function vectorFacts({ source, featureCount }: VectorCollection): Fact[] {
  return [
    ['Geometry', source.hasZ ? `${source.geometryType} with heights` : source.geometryType],
    ['Features', featureCount === undefined ? undefined : formatCount(featureCount)],
    ['Spatial index', source.hasIndex ? 'yes' : 'no'],
  ];
}

function rasterFacts({ raster, storageCrs }: RasterCollection): Fact[] {
  const [, pixelWidth, , , , pixelHeight] = raster.geoTransform;
  const [width, height] = [pixelWidth, pixelHeight].map((size) => Number(Math.abs(size).toPrecision(8)));
  return [
    ['Size', `${formatCount(raster.width)} × ${formatCount(raster.height)} pixels`],
    ['Pixel', `${width} × ${height} ${formatCoordinateUnit(storageCrs)}`],
    ['Blocks', `${raster.blockSize[0]} × ${raster.blockSize[1]}`],
    ['Overviews', raster.overviewCount],
    ['File format', raster.driver],
  ];
}

function archiveFacts({ format, minZoom, maxZoom, vectorLayers }: ArchiveCollection): Fact[] {
  return [
    ['Tiles', format.toUpperCase()],
    ['Zoom levels', `${minZoom} to ${maxZoom}`],
    ['Layers in tiles', vectorLayers.length > 0 ? vectorLayers.map(({ id }) => id).join(', ') : undefined],
  ];
}

function contents(collection: Collection): Markup | undefined {
  if (hasFeatures(collection)) return renderSection('Fields', fieldTable(collection.source.fields));
  return hasCoverage(collection) ? renderSection('Bands', bandTable(collection)) : undefined;
}

function fieldTable(fields: readonly Field[]): Markup | undefined {
  if (fields.length === 0) return undefined;
  const rows = fields.map(
    (field) =>
      html`<tr><th scope="row"><bdi>${field.name}</bdi></th><td>${field.type}</td><td>${field.nullable ? 'optional' : 'required'}</td></tr>`,
  );
  return table('Fields', ['Name', 'Type', 'Value'], rows);
}
