import type { RasterCollection } from '../../../core/catalog/collection.js';
import { findDefaultLook } from '../../../core/catalog/default-look.js';
import { hasVariables } from '../../../core/catalog/raster-sources.js';
import { legendEntries } from '../../../core/maps/legend/entries.js';
import { describeRaster, type RasterLegend } from '../../../core/maps/legend/raster-entries.js';
import { appendQuery, formatLegendText, pickColors } from '../../../core/rasters/color-query.js';
import { RAMP_NAMES, ramp } from '../../../core/rasters/color-ramps.js';
import type { Colormap, RasterLook } from '../../../core/rasters/raster-look.js';
import type { BandInfo } from '../../../core/rasters/rasters.js';
import { html, type Markup } from '../../../core/values/html.js';
import { renderSection } from '../layout.js';
import { formatCount, formatInstant } from '../values.js';

/** Bands and colours of a raster on a page. */
export interface PageColors {
  /** Parameters of the page that maps, tiles and legends get. */
  readonly query: string;
  /** Their meaning; undefined for the style of the layer. */
  readonly look: RasterLook | undefined;
}

const LEGEND_ZOOM = 10;

/** The colour parameters of a page. Empty fields of its form are absent, and three bands have no colour map. */
export function readColorQuery(query: string, look: RasterLook | undefined): string {
  const colors = pickColors(query);
  if (!look?.colormap) colors.delete('colormap');
  return colors.toString();
}

/** The URL with the colour parameters of the page. */
export function withColors(url: string, colors: PageColors | undefined): string {
  return appendQuery(url, colors?.query ?? '');
}

/** URL of the legend image, without colour parameters. */
export function legendUrl(baseUrl: string, { layerId }: RasterCollection): string {
  return `${baseUrl}/ogc/maps/collections/${layerId}/legend?f=svg`;
}

/** The text of a legend for readers who do not see it. */
export function describeLegend(collection: RasterCollection, look?: RasterLook): string {
  const labels = legendEntries(collection, { look }).map(({ label }) => label);
  return formatLegendText(describeRaster(collection, LEGEND_ZOOM, look), labels);
}

/** The section of a raster's page with its legend and a form for bands, range and colours. It works without a script. */
export function colorSection(
  baseUrl: string,
  collection: RasterCollection,
  colors: PageColors,
): Markup | undefined {
  const { look, query } = colors;
  const legend = legendUrl(baseUrl, collection);
  const expression = new URLSearchParams(query).get('expression');
  const note = expression ? html`<p class="muted">Shown: <code>${expression}</code></p>` : undefined;
  return renderSection(
    'Bands and colours',
    html`${shownTime(collection)}${note}<div class="colors">
${
  hasColorChoice(collection)
    ? html`<form class="filter" method="get" data-colors="${collection.id}"><input type="hidden" name="f" value="html">${colorFields(collection, colors)}<button type="submit">Show</button><button type="button" data-colors-reset hidden>Reset</button></form>
`
    : undefined
}<p class="legend"><img src="${withColors(legend, colors)}" alt="${describeLegend(collection, look)}" data-colored="${legend}"></p>
</div>`,
  );
}

/** Whether a raster can be shown in other bands or colours: a single band with a colour table cannot. */
export function hasColorChoice({ bands }: RasterCollection): boolean {
  const colors = bands.filter(({ colorInterpretation }) => colorInterpretation !== 'Alpha');
  return colors[0]?.colorInterpretation !== 'Palette' || colors.length > 1;
}

/** The sentence that names the time on the map, and that of the statistics of bands. */
function shownTime({ raster: { times = [] } }: RasterCollection): Markup | undefined {
  if (times.length < 2) return undefined;
  return html`<p class="muted">The map and the statistics of the bands are of ${formatInstant(times.at(-1)!)}, the newest of ${formatCount(times.length)} times. The colours have the same range at all times.</p>`;
}

/** Fields for bands, range and colour ramp. Their names are those of the parameters of maps. */
export function colorFields(collection: RasterCollection, { look, query }: PageColors): Markup {
  const parameters = new URLSearchParams(query);
  const shown = look ?? findDefaultLook(collection, LEGEND_ZOOM);
  const { bands } = collection;
  const isIndexed = bands[0]?.colorInterpretation === 'Palette';
  if (isIndexed) return html`${bandField(collection, shown, parameters.has('bands'))}`;
  return html`${bandField(collection, shown, parameters.has('bands'))}
<label>Range <input name="rescale" value="${parameters.get('rescale') ?? ''}" placeholder="${formatRange(describeRaster(collection, LEGEND_ZOOM, look))}" autocomplete="off" maxlength="200" size="14" data-colors-range></label>
${rampField(shown?.colormap, parameters.get('colormap') ?? '', findDefaultLook(collection, LEGEND_ZOOM)?.colormap)}`;
}

function formatRange({ range }: RasterLegend): string {
  return range ? range.join(',') : 'lowest,highest';
}

function bandField(
  collection: RasterCollection,
  shown: RasterLook | undefined,
  isGiven: boolean,
): Markup | undefined {
  const { bands, raster } = collection;
  const colors = bands.filter(({ colorInterpretation }) => colorInterpretation !== 'Alpha');
  if (colors.length < 2) return undefined;
  const current = shown?.bands?.join() ?? '';
  const usual = findDefaultLook(collection, LEGEND_ZOOM)?.bands?.join() ?? '';
  const option = (value: string, text: string) => {
    const range = value === usual ? '' : formatByteRanges(bands, value);
    return html`<option value="${value}" data-range="${range}"${value === current ? html` selected` : undefined}>${text}</option>`;
  };
  const compositions = colors.length < 3 ? [] : listCompositions(colors, current);
  const isUnnamed = current === '' || (!isGiven && shown?.expressions !== undefined);
  return html`<label>${hasVariables(raster.source) ? 'Variable' : 'Bands'} <select name="bands" data-usual="${usual}" data-colors-bands>${
    isUnnamed ? html`<option value="" selected>Default</option>` : undefined
  }${colors.map((band) => option(String(band.band), formatBand(band)))}${
    compositions.length > 0
      ? html`<optgroup label="Red, green, blue">${compositions.map((value) => option(value, value.replaceAll(',', ', ')))}</optgroup>`
      : undefined
  }</select></label>${colors.length < 3 ? undefined : channelFields(colors)}`;
}

/** Ranges that the form sets for bands of bytes, which would be dark from 0 to 255. Other bands have theirs by default. */
function formatByteRanges(bands: readonly BandInfo[], numbers: string): string {
  const ranges = numbers.split(',').flatMap((number) => {
    const band = bands.find((one) => String(one.band) === number);
    return band?.type === 'Byte' && band.usualRange ? band.usualRange : [];
  });
  return ranges.length === 2 * numbers.split(',').length ? ranges.join() : '';
}

/** Colour compositions to choose from: natural, and near infrared as red. */
function listCompositions(bands: readonly BandInfo[], current: string): string[] {
  const first = bands.map(({ band }) => band);
  const [one, two, three, four] = first;
  const usual = [[one, two, three], [three, two, one], ...(four === undefined ? [] : [[four, three, two]])];
  const all = [...(current.includes(',') ? [current] : []), ...usual.map((numbers) => numbers.join())];
  return [...new Set(all)];
}

/** Any three bands; a script shows the fields. */
function channelFields(bands: readonly BandInfo[]): Markup {
  const options = bands.map(
    (band) =>
      html`<option value="${band.band}" data-range="${formatByteRanges(bands, String(band.band))}">${formatBand(band)}</option>`,
  );
  return html`<span class="channels" data-colors-channels hidden>${['Red', 'Green', 'Blue'].map(
    (channel) => html`<label>${channel} <select data-colors-channel>${options}</select></label>`,
  )}</span>`;
}

function formatBand({ band, description, unit }: BandInfo): string {
  const name = description === '' ? `Band ${band}` : `${band}: ${description}`;
  return unit === '' ? name : `${name} (${unit})`;
}

function rampField(colormap: Colormap | undefined, given: string, usual: Colormap | undefined): Markup {
  const current = given || findRampName(colormap) || '';
  const names = [...RAMP_NAMES, ...RAMP_NAMES.map((name) => `${name}_r`)];
  const isOther = !names.includes(current);
  const option = (name: string) =>
    html`<option value="${name}"${name === current ? html` selected` : undefined}>${name.replace(/_r$/, ', reversed')}</option>`;
  return html`<label>Colours <select name="colormap" data-usual="${findRampName(usual) ?? ''}" data-colors-ramp>${
    isOther ? html`<option value="${current}" selected>${current ? 'Custom' : 'Default'}</option>` : undefined
  }${names.map(option)}</select></label>`;
}

function findRampName(colormap: Colormap | undefined): string | undefined {
  if (colormap?.kind !== 'ramp') return undefined;
  const text = JSON.stringify(colormap.colors);
  return RAMP_NAMES.flatMap((name) => [name, `${name}_r`]).find(
    (name) => JSON.stringify(ramp(name)) === text,
  );
}
