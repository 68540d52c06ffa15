import { basename } from 'node:path';
import { explainAssumedCrs } from '../../../core/catalog/assumed-crs.js';
import type { MapData } from '../../../core/catalog/page-data.js';
import type { Box } from '../../../core/geometry/box.js';
import type { CrsEntry } from '../../../core/geometry/crs.js';
import { LOCAL_CRS } from '../../../core/geometry/stated-crs.js';
import { isPath } from '../../../core/sources/sources.js';
import { html, type Markup } from '../../../core/values/html.js';
import type { SourceCrsView } from '../../../services/catalog/crs/source-crs.js';
import { formatBoxSides } from '../../../services/catalog/inspections/crs-notes.js';
import type { SourceState } from '../../../services/catalog/source-states.js';
import { type PageFrame, page, sitePath } from '../layout.js';
import { basemapData } from '../maps/basemap.js';
import { MAP_SCRIPTS, mapFrame, mapHead } from '../maps/map-frame.js';
import { facts, formatCount } from '../values.js';

export interface SourceCrsPage extends PageFrame {
  readonly source: SourceState;
  readonly view: SourceCrsView;
  /** Reason why no CRS can be chosen. */
  readonly problem: string | undefined;
  readonly mayChange: boolean;
  /** Whether the data can have local units. */
  readonly canBeLocal: boolean;
  readonly q: string;
  /** CRS of the request. */
  readonly selected: string | undefined;
  readonly hits: { readonly entries: readonly CrsEntry[]; readonly total: number } | undefined;
  /** Extent in degrees at present. */
  readonly bounds: Box | undefined;
}

const ORIGINS: Record<SourceCrsView['origin'], string> = {
  data: 'declared by the data',
  configuration: 'assigned by the configuration',
  chosen: 'chosen by an operator',
  assumed: 'assumed',
  none: 'the source is not published',
};

/** Page on which operators choose the CRS of a source, with a map of the features in the chosen CRS. */
export function sourceCrsPage(input: SourceCrsPage): string {
  const { baseUrl, reader, source, bounds } = input;
  const name = nameSource(source);
  const path = `${baseUrl}/sources/${source.id}/crs`;
  const data: MapData = {
    baseUrl,
    bounds: bounds ?? null,
    layers: [],
    basemap: basemapData(baseUrl),
    features: null,
  };
  const body = html`<h1>Coordinate reference system of <bdi>${name}</bdi></h1>
${currentCrs(input)}
${
  canChoose(input)
    ? html`<div class="crs" data-crs="${`${sitePath(baseUrl)}/api/v1/admin`}" data-source="${source.id}">
${chooser(input, path)}
<div class="crs-preview">${mapFrame({ data, label: `Map of ${name} in the selected CRS` })}
<p role="status" data-preview-status></p>
${actions(input)}</div>
</div>`
    : undefined
}`;
  return page({
    baseUrl,
    reader,
    title: `CRS of ${name}`,
    crumbs: [
      { title: 'Sources', href: `${baseUrl}/sources` },
      { title: `CRS of ${name}`, href: path },
    ],
    body,
    head: mapHead(baseUrl),
    scripts: canChoose(input) ? [...MAP_SCRIPTS, 'source-crs.js'] : [],
  });
}

const canChoose = ({ problem, mayChange, view }: SourceCrsPage) =>
  problem === undefined && mayChange && view.configuredBy === undefined;

function nameSource({ source, layer }: SourceState): string {
  const file = isPath(source) ? basename(source) : source;
  return layer === undefined ? file : `${file} (${layer})`;
}

function currentCrs({ baseUrl, source, view, problem, mayChange }: SourceCrsPage): Markup {
  const { crs, name, origin, chosen, configuredBy, extent } = view;
  const [collection] = source.collections;
  const isUnknown = origin === 'assumed' && source.assumedCrs?.as === 'plane';
  const system = nameSystem(crs, name);
  const since = chosen && `${new Date(chosen.at).toISOString().slice(0, 16).replace('T', ' ')} UTC`;
  return html`${facts([
    ['Source', html`<bdi>${source.source}</bdi>`],
    [
      'Collection',
      collection && source.state !== 'refused'
        ? html`<a href="${`${baseUrl}/ogc/tiles/collections/${collection.layerId}?f=html`}"><bdi>${collection.title}</bdi></a>`
        : undefined,
    ],
    [
      'CRS',
      isUnknown
        ? 'unknown'
        : html`${system === undefined ? undefined : html`<bdi>${system}</bdi>, `}${ORIGINS[origin]}`,
    ],
    ['Chosen', since],
    ['Coordinates', extent && formatBoxSides(extent)],
  ])}
${source.assumedCrs ? html`<p class="note" role="note"><bdi>${explainAssumedCrs(source.assumedCrs)}</bdi></p>` : undefined}
${view.warning === undefined ? undefined : html`<p class="note" role="note"><bdi>${view.warning}</bdi></p>`}
${source.state === 'refused' ? html`<p class="note" role="note"><bdi>${source.reason}</bdi></p>` : undefined}
${configuredBy === undefined ? undefined : html`<p class="note" role="note">The entry <code>${configuredBy}</code> of <code>data.crs</code> (<code>--crs</code>) assigns the CRS. Change it in the configuration.</p>`}
${problem === undefined ? undefined : html`<p class="note" role="note">No CRS can be chosen here: <bdi>${problem}</bdi>.</p>`}
${mayChange ? undefined : html`<p class="note" role="note">Changes require the permission <code>admin:services:write</code>.</p>`}`;
}

function nameSystem(crs: string | undefined, name: string | undefined): string | undefined {
  if (crs === undefined) return undefined;
  if (crs.startsWith('ENGCRS')) return 'local units';
  const isCode = /^\w+:\w+$/.test(crs);
  return isCode ? `${name} (${crs})` : name;
}

function chooser(
  { source, view, q, hits, selected: requested, canBeLocal }: SourceCrsPage,
  path: string,
): Markup {
  const { guesses, chosen, crs, origin } = view;
  const isPlaced = origin !== 'none' && source.assumedCrs?.as !== 'plane';
  const current = chosen?.crs ?? (isPlaced ? crs : undefined);
  // The preview starts with the CRS in use, or else with the best guess. Only Save chooses it.
  const selected = requested || (current ?? guesses[0]?.crs);
  const guessed = guesses.map((guess) =>
    option(guess.crs, guess.name, `because ${guess.reason}`, guess.crs === selected),
  );
  const isListed = guesses.some((guess) => guess.crs === selected);
  const own =
    selected !== undefined && !isListed && /^\w+:\w+$/.test(selected)
      ? [option(selected, view.name ?? selected, 'in use', true)]
      : [];
  const found = hits?.entries.map((one) => option(`EPSG:${one.code}`, one.name, one.areaName, false));
  return html`<form class="crs-form" method="get" action="${path}">
<fieldset data-guesses${own.length + guessed.length === 0 && !canBeLocal ? html` hidden` : undefined}><legend>Suggestions</legend>
<ul class="plain">${own}${guessed}${canBeLocal ? option(LOCAL_CRS, 'Local units, not on Earth', 'maps and tiles do not show the data', selected === LOCAL_CRS) : undefined}</ul></fieldset>
<p class="crs-search"><label for="q">Code, name or area</label> <input id="q" name="q" type="search" value="${q}" maxlength="200" autocomplete="off" placeholder="EPSG:27700, UTM zone 33N, Switzerland"> <button class="button">Search</button></p>
<p role="status" data-search-status>${hits === undefined ? undefined : countHits(hits.total, hits.entries.length)}</p>
<fieldset data-hits${found === undefined || found.length === 0 ? html` hidden` : undefined}><legend>Search results</legend>
<ul class="plain">${found}</ul></fieldset>
<noscript><p>Preview and Save require JavaScript. The API offers the same: <code>PUT /api/v1/admin/sources/${source.id}/crs</code>.</p></noscript>
</form>`;
}

function actions({ view }: SourceCrsPage): Markup {
  const remove =
    view.chosen === undefined
      ? undefined
      : html`<button type="button" class="button" data-remove hidden>Remove the chosen CRS</button>`;
  return html`<p class="actions"><button type="button" class="button" data-save hidden disabled>Save</button>${remove}</p>
<p role="status" data-save-status></p>`;
}

function countHits(total: number, shown: number): string {
  if (total === 0) return 'No coordinate reference system matches.';
  if (total > shown) return `${formatCount(shown)} of ${formatCount(total)} matches`;
  return total === 1 ? '1 match' : `${formatCount(total)} matches`;
}

function option(crs: string, name: string, detail: string, isSelected: boolean): Markup {
  return html`<li><label class="crs-option"><input type="radio" name="crs" value="${crs}"${isSelected ? html` checked` : undefined}> <span><bdi>${name}</bdi> <code>${crs}</code><span class="muted"><bdi>${detail}</bdi></span></span></label></li>`;
}
