import { plainFields } from '../../../core/access/field-masks.js';
import type { VectorCollection } from '../../../core/catalog/collection.js';
import type { FilterData } from '../../../core/catalog/page-data.js';
import { writeDigits } from '../../../core/values/exact-number.js';
import { html, type Markup, scriptJson } from '../../../core/values/html.js';
import { renderSection } from '../layout.js';
import { buildItemsUrl } from '../maps/map-data.js';

/** The part of a collection's page that a filter is built in. A script fills it; without one the page of features has a field. */
export function filterSection(baseUrl: string, collection: VectorCollection): Markup {
  const { source } = collection;
  const data: FilterData = {
    baseUrl,
    collection: collection.id,
    items: buildItemsUrl(collection, baseUrl),
    geometry: collection.storageCrs.isPlane ? null : source.geometryColumn,
    fields: plainFields(source.fields)
      .filter(({ type }) => type !== 'binary')
      .map(({ name, title, type, enumeration }) => ({
        name,
        title: title ?? name,
        type,
        ...(enumeration ? { values: enumeration.map(writeDigits) } : {}),
      })),
    formats: [
      { f: 'json', title: 'GeoJSON' },
      { f: 'csv', title: 'CSV' },
      { f: 'gml', title: 'GML' },
    ],
  };
  return html`<div data-filter-builder hidden>${renderSection(
    'Filter',
    html`<p>Select features by value and position. You can use the CQL2 filter in other programs.</p>
<script type="application/json" id="filter-data">${scriptJson(data)}</script>
<form class="builder" aria-label="Filter"></form>`,
  )}</div>`;
}

/** A link to the statistics. A script inserts them here on request. */
export function statisticsSection(baseUrl: string, collection: VectorCollection): Markup | undefined {
  if (plainFields(collection.source.fields).every(({ type }) => type === 'binary')) return undefined;
  const path = `${baseUrl}/ogc/features/collections/${encodeURIComponent(collection.id)}/statistics?f=html`;
  return renderSection(
    'Statistics',
    html`<div data-statistics-place><p>Range, mean, frequent values and a histogram of each attribute: <a class="button" href="${path}" data-statistics-link>Show statistics</a></p></div>`,
  );
}
