import { html, type Markup } from '../../../core/values/html.js';
import { type Crumb, type PageFrame, page, renderSection } from '../layout.js';
import { anchor, linkList, type PageLink, representationLine } from '../links.js';
import { crsName } from '../values.js';

/** Item of a tilesets list (OGC 20-057, 8.2). */
export interface TileSetEntry {
  readonly title?: string;
  readonly dataType: string;
  readonly crs: string;
  readonly tileMatrixSetURI?: string;
  readonly tileMatrixSetId?: string;
  readonly links: readonly PageLink[];
}

export interface TileSetsPage extends PageFrame {
  readonly crumbs: readonly Crumb[];
  readonly title?: string;
  readonly tilesets: readonly TileSetEntry[];
  readonly links: readonly PageLink[];
}

/** Tile sets of a collection or of the whole dataset. */
export function tileSetsPage(input: TileSetsPage): string {
  const { tilesets, links, title = 'Tile sets' } = input;
  const body = html`<h1>${title}</h1>
<p class="lead">The same data as tiles in different grids and formats.</p>
${representationLine(links)}
${tilesets.map((set) => renderSection(tileSetName(set), tileSetBody(set)))}`;
  return page({ ...input, title, body, alternates: links });
}

function tileSetName(set: TileSetEntry): string {
  const grid = set.tileMatrixSetId ?? set.tileMatrixSetURI?.split('/').pop() ?? crsName(set.crs);
  return set.title ? `${set.title}, ${grid}` : grid;
}

function tileSetBody(set: TileSetEntry): Markup {
  return html`<p class="badges"><span class="badge">${set.dataType}</span> <span class="badge">${crsName(set.crs)}</span></p>${linkList(set.links)}`;
}

/** Item of the list of tile matrix sets. */
export interface TileMatrixSetEntry {
  readonly id: string;
  readonly title?: string;
  readonly uri?: string;
  readonly links: readonly PageLink[];
}

export interface TileMatrixSetsPage extends PageFrame {
  readonly crumbs: readonly Crumb[];
  readonly tileMatrixSets: readonly TileMatrixSetEntry[];
  readonly links: readonly PageLink[];
}

export function tileMatrixSetsPage(input: TileMatrixSetsPage): string {
  const { tileMatrixSets, links } = input;
  const title = 'Tile matrix sets';
  const body = html`<h1>${title}</h1>
<p class="lead">Available tile grids.</p>
${representationLine(links)}
${tileMatrixSets.map((set) => renderSection(set.title ?? set.id, matrixSetBody(set)))}`;
  return page({ ...input, title, body, alternates: links });
}

function matrixSetBody(set: TileMatrixSetEntry): Markup {
  return html`<p><code>${set.id}</code>${set.uri ? html` ${anchor(set.uri, 'Definition')}` : undefined}</p>${linkList(set.links)}`;
}
