import type { RasterCollection } from '../../../core/catalog/collection.js';
import { formatBandTitle } from '../../../core/maps/legend/raster-entries.js';
import type { BandInfo } from '../../../core/rasters/rasters.js';
import { html, type Markup } from '../../../core/values/html.js';
import { table } from '../table.js';
import { formatCount, propertyValue } from '../values.js';

/** The bands of a raster with their statistics, by the names of its legend. */
export function bandTable(collection: RasterCollection): Markup | undefined {
  const { bands, raster } = collection;
  if (bands.length === 0) return undefined;
  const newest = (raster.times?.length ?? 0) > 1 ? raster.times!.at(-1)!.slice(0, 10) : undefined;
  const rows = bands.map((band) => {
    const { type, unit, noData } = band;
    return html`<tr><th scope="row" class="num">${band.band}</th><td><bdi>${formatBandTitle(collection, band)}</bdi></td><td>${type}</td><td>${propertyValue(unit)}</td><td class="num">${propertyValue(typeof noData === 'number' ? readable(noData) : noData)}</td>${statisticCells(band)}</tr>`;
  });
  const of = newest === undefined ? '' : ` on ${newest}`;
  const columns = ['Band', 'Name', 'Type', 'Unit', 'No data', `Values${of}`, 'Mean'];
  return table('Bands', columns, rows);
}

/** The mean of classes has no meaning. */
function statisticCells({ classes, statistics: s }: BandInfo): Markup {
  if (classes)
    return html`<td class="num">${formatCount(classes.length)} classes</td><td class="num">${propertyValue(null)}</td>`;
  return html`<td class="num">${s ? `${round(s.min)} to ${round(s.max)}` : propertyValue(null)}</td><td class="num">${s ? round(s.mean) : propertyValue(null)}</td>`;
}

/** Placeholders for missing values are often the largest value of a type, so their digits are meaningless. */
function readable(value: number): string {
  return Math.abs(value) >= 1e15 ? value.toExponential(4) : String(value);
}

function round(value: number): string {
  return String(Number(value.toPrecision(6)));
}
