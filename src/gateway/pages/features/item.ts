import type { VectorCollection } from '../../../core/catalog/collection.js';
import type { MapData } from '../../../core/catalog/page-data.js';
import type { RowFeature } from '../../../core/features/item-rows.js';
import { html, type Markup } from '../../../core/values/html.js';
import { type Crumb, type PageFrame, page, renderSection } from '../layout.js';
import { linkList, type PageLink, representationLine, selectResourceLinks } from '../links.js';
import { basemapData } from '../maps/basemap.js';
import { MAP_SCRIPTS, mapFrame, mapHead } from '../maps/map-frame.js';
import { getPageStyle } from '../maps/page-style.js';
import { table } from '../table.js';
import { propertyValue } from '../values.js';

export interface ItemPage extends PageFrame {
  readonly crumbs: readonly Crumb[];
  readonly collection: VectorCollection;
  readonly feature: RowFeature;
  readonly links: readonly PageLink[];
  /** This feature as GeoJSON in CRS84. */
  readonly geoJsonHref: string;
}

/** One feature: map and every property. */
export function renderItemPage(input: ItemPage): string {
  const { baseUrl, collection, feature, links } = input;
  const title = `${collection.title} ${feature.id ?? ''}`.trim();
  const body = html`<h1><bdi>${collection.title}</bdi> <span class="muted">${feature.id}</span></h1>
${representationLine(links)}
${itemMap(input)}
${renderSection('Properties', propertyTable(feature))}
${renderSection('Related', linkList(selectResourceLinks(links)))}`;
  return page({ ...input, title, body, head: mapHead(baseUrl), scripts: MAP_SCRIPTS, alternates: links });
}

function itemMap({ baseUrl, collection, geoJsonHref }: ItemPage): Markup | undefined {
  if (collection.storageCrs.isPlane) return undefined;
  const data: MapData = {
    baseUrl,
    bounds: collection.extent84 ?? null,
    layers: [],
    basemap: basemapData(baseUrl),
    features: { href: geoJsonHref, title: collection.title, style: getPageStyle(collection) },
  };
  return mapFrame({ data, label: 'Map of this feature', printed: { baseUrl, collection } });
}

function propertyTable({ properties }: RowFeature): Markup {
  const entries = Object.entries(properties ?? {});
  if (entries.length === 0) return html`<p>This feature has no attributes.</p>`;
  const rows = entries.map(
    ([name, value]) => html`<tr><th scope="row"><bdi>${name}</bdi></th><td>${propertyValue(value)}</td></tr>`,
  );
  return table('Properties', ['Property', 'Value'], rows);
}
