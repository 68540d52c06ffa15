import { plainFields } from '../../../core/access/field-masks.js';
import type { VectorCollection } from '../../../core/catalog/collection.js';
import type { FilterData } from '../../../core/catalog/page-data.js';
import { Cql2Error, parseText } from '../../../core/cql2/index.js';
import { type Conditions, readConditions } from '../../../core/features/conditions.js';
import { writeDigits } from '../../../core/values/exact-number.js';
import { html, type Markup, scriptJson } from '../../../core/values/html.js';
import { renderSection } from '../layout.js';
import { buildItemsUrl } from '../maps/map-data.js';
import { listExportFormats, type SampleSizes } from './export-links.js';

/** Filter and other parameters of a page that the filter form continues with. */
export interface FilterState {
  readonly selection: string;
  readonly view: string;
  /** CQL2 text. */
  readonly filter: string | undefined;
}

const NO_STATE: FilterState = { selection: '', view: '', filter: undefined };

/** The part of a collection's page that a filter is built in. A script fills it; without one the page of features has a field. */
export function filterSection(
  baseUrl: string,
  collection: VectorCollection,
  sizes: SampleSizes | undefined,
): Markup {
  return html`<div data-filter-builder hidden>${renderSection(
    'Filter',
    html`<p>Select features by value and position. You can use the CQL2 filter in other programs.</p>
${filterForm(baseUrl, collection, sizes)}`,
  )}</div>`;
}

/** The form and its data. */
export function filterForm(
  baseUrl: string,
  collection: VectorCollection,
  sizes: SampleSizes | undefined,
  { selection, view, filter }: FilterState = NO_STATE,
): Markup {
  const { source } = collection;
  const fields = plainFields(source.fields);
  const geometry = collection.storageCrs.isPlane ? null : source.geometryColumn;
  const conditions = parseConditions(filter, [...fields.map(({ name }) => name), source.geometryColumn]);
  const data: FilterData = {
    baseUrl,
    collection: collection.id,
    items: buildItemsUrl(collection, baseUrl),
    selection,
    view,
    clauses: conditions?.clauses ?? null,
    combination: conditions?.combination ?? 'and',
    geometry,
    fields: fields
      .filter(({ type }) => type !== 'binary')
      .map(({ name, title, type, enumeration }) => ({
        name,
        title: title ?? name,
        type,
        ...(enumeration ? { values: enumeration.map(writeDigits) } : {}),
      })),
    exports: listExportFormats(collection, sizes),
  };
  return html`<script type="application/json" id="filter-data">${scriptJson(data)}</script>
<form class="builder" aria-label="Filter"></form>`;
}

/** Conditions of a filter. Undefined if conditions on these fields cannot express it. */
function parseConditions(filter: string | undefined, fields: readonly string[]): Conditions | undefined {
  if (!filter) return { clauses: [], combination: 'and' };
  try {
    const conditions = readConditions(parseText(filter));
    return conditions?.clauses.every(({ field }) => fields.includes(field)) ? conditions : undefined;
  } catch (error) {
    if (error instanceof Cql2Error) return undefined;
    throw error;
  }
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
