import type { RasterCollection } from '../../../core/catalog/collection.js';
import type { MapData } from '../../../core/catalog/page-data.js';
import { formatBandTitle } from '../../../core/maps/legend/raster-entries.js';
import type { ThematicClass } from '../../../core/rasters/rasters.js';
import { type AnyNumber, isExactNumber, toDouble } from '../../../core/values/exact-number.js';
import { html, type Markup } from '../../../core/values/html.js';
import { seriesChart } from '../features/series-chart.js';
import { formatNumber } from '../features/statistics.js';
import { type Crumb, type PageFrame, page, renderSection, sitePath } from '../layout.js';
import { table } from '../table.js';
import { formatCount, formatInstant } from '../values.js';
import { basemapData } from './basemap.js';
import { mapLayer } from './map-data.js';
import { MAP_SCRIPTS, mapFrame, mapHead, mapPicture } from './map-frame.js';

export interface PositionValues {
  readonly place: readonly [number, number];
  readonly steps: readonly {
    readonly time: string | undefined;
    readonly values: readonly (AnyNumber | null)[];
  }[];
  readonly matched: number;
}

export interface PositionPage extends PageFrame {
  readonly crumbs: readonly Crumb[];
  readonly collection: RasterCollection;
  readonly values: PositionValues;
  readonly query: string;
}

/** The section of a raster's page that queries the values at a position. It also works without a script. */
export function positionSection(baseUrl: string, collection: RasterCollection): Markup | undefined {
  if (collection.storageCrs.isPlane) return undefined;
  return renderSection(
    'Values at a position',
    html`<div data-position-place>${positionForm(baseUrl, collection, '')}</div>`,
  );
}

function positionForm(
  baseUrl: string,
  { id, storageCrs }: RasterCollection,
  value: string,
  datetime?: string | null,
): Markup {
  const action = `${sitePath(baseUrl)}/ogc/coverages/collections/${encodeURIComponent(id)}/position`;
  return html`<form class="filter" method="get" action="${action}">
<input type="hidden" name="f" value="html">${datetime ? html`<input type="hidden" name="datetime" value="${datetime}">` : undefined}
<label>Longitude and latitude <input name="coords" value="${value}" placeholder="7.4 46.9" required autocomplete="off" maxlength="200"></label>
<button type="submit">Show values</button>
</form>
${storageCrs.isPlane ? undefined : html`<p class="muted">Or click on the map.</p>`}`;
}

/** A page with the values at a position. Pages of collections take its part `data-position` over. */
export function renderPositionPage(input: PositionPage): string {
  const { baseUrl, collection, values, query } = input;
  const datetime = new URLSearchParams(query).get('datetime');
  const body = html`<h1><bdi>${collection.title}</bdi>: values at a position</h1>
${positionMap(input)}
<div data-position-place>${positionForm(baseUrl, collection, values.place.join(' '), datetime)}
<h2>Values</h2>
<div data-loaded>${positionPart(input)}</div></div>`;
  return page({
    ...input,
    title: `${collection.title}: values at a position`,
    body,
    head: mapHead(baseUrl),
    scripts: collection.storageCrs.isPlane ? [] : [...MAP_SCRIPTS, 'position.js'],
  });
}

/** The map on which readers choose another position. */
function positionMap({ baseUrl, collection }: PositionPage): Markup | undefined {
  if (collection.storageCrs.isPlane) return undefined;
  const data: MapData = {
    baseUrl,
    bounds: collection.extent84 ?? null,
    layers: [mapLayer(collection, baseUrl)],
    basemap: basemapData(baseUrl),
    features: null,
  };
  const picture = mapPicture(baseUrl, collection);
  return mapFrame({ data, label: `Map of ${collection.title}`, ...(picture !== undefined && { picture }) });
}

function positionPart({ baseUrl, collection, values, query }: PositionPage): Markup {
  const { place, steps, matched } = values;
  const csv = new URLSearchParams(query);
  csv.set('f', 'csv');
  const href = `${baseUrl}/ogc/coverages/collections/${encodeURIComponent(collection.id)}/position?${csv}`;
  const cut =
    steps.length < matched
      ? html`<p class="muted">The newest ${formatCount(steps.length)} of ${formatCount(matched)} times.</p>`
      : undefined;
  const isSeries = steps.some(({ time }) => time !== undefined);
  const content = isSeries
    ? [charts(collection, values), seriesTable(collection, values)]
    : bandTable(collection, values);
  return html`<div data-position><p>At ${place[0]} ${place[1]} (longitude, latitude). <a class="button" href="${href}">Values as CSV</a></p>${cut}${content}</div>`;
}

function charts(collection: RasterCollection, { steps }: PositionValues): Markup {
  const parts = listNames(collection).map((name, i) => {
    const points = steps.map(({ time, values }) => ({ time: time!, value: toDoubleOrNull(values[i]) }));
    return html`<section class="stat" aria-label="${name}"><h3><bdi>${name}</bdi></h3>${seriesChart(name, points)}</section>`;
  });
  return html`<div class="stats">${parts}</div>`;
}

function seriesTable(collection: RasterCollection, { steps }: PositionValues): Markup {
  const names = listNames(collection);
  const rows = steps.map(
    ({ time, values }) =>
      html`<tr><th scope="row">${formatInstant(time!)}</th>${names.map((_, i) => valueCell(values[i]))}</tr>`,
  );
  return html`<details><summary>Values by time</summary>${table('Values by time', ['Time', ...names], rows)}</details>`;
}

function bandTable(collection: RasterCollection, { steps }: PositionValues): Markup {
  const rows = listNames(collection).map(
    (name, i) =>
      html`<tr><th scope="row"><bdi>${name}</bdi></th>${valueCell(steps[0]?.values[i], collection.bands[i]?.classes)}</tr>`,
  );
  return table('Values by band', ['Band', 'Value'], rows);
}

const toDoubleOrNull = (value: AnyNumber | null | undefined) => (value == null ? null : toDouble(value));

/** Integers have all their digits. Values of classes have the name of their class. */
function valueCell(value: AnyNumber | null | undefined, classes: readonly ThematicClass[] = []): Markup {
  if (value === null || value === undefined) return html`<td class="none">no data</td>`;
  const text = isExactNumber(value) ? String(value) : formatNumber(value, Number.isInteger(value) ? 17 : 7);
  const name = classes.find((one) => String(one.value) === text && one.name !== text)?.name;
  return html`<td class="num">${name === undefined ? text : `${name} (${text})`}</td>`;
}

function listNames(collection: RasterCollection): string[] {
  return collection.bands.map(
    (band) => `${formatBandTitle(collection, band)}${band.unit ? ` (${band.unit})` : ''}`,
  );
}
