import { LIMITS } from '../../../core/kit/limits.js';
import { html, type Markup } from '../../../core/values/html.js';
import { parseJsonExactly, stringifyExactly } from '../../../core/values/json.js';
import { anchor } from '../links.js';
import { table } from '../table.js';
import { formatCount, propertyValue } from '../values.js';

/** Responses of GeoServices operations as tables and images, with the JSON folded. */

/** Maximum length of JSON that is parsed, rows of a table, and characters of JSON on a page. */
const MAX_PARSED = 16 * LIMITS.loopBodyBytes;
const MAX_ROWS = 500;
const MAX_JSON = 50_000;

/** Members whose numbers keep their digits. */
const EXACT = ['attributes', 'objectIds'];

type Row = Readonly<Record<string, unknown>>;

interface Answer {
  readonly features?: readonly { readonly attributes?: Row }[];
  readonly fields?: readonly { readonly name: string; readonly alias?: string }[];
  readonly results?: readonly Row[];
  readonly candidates?: readonly Row[];
  readonly suggestions?: readonly Row[];
  readonly relatedRecordGroups?: readonly {
    readonly objectId: unknown;
    readonly relatedRecords?: readonly { readonly attributes?: Row }[];
  }[];
  readonly samples?: readonly Row[];
  readonly count?: unknown;
  readonly objectIds?: readonly unknown[];
}

export function renderAnswer(json: string, href: string): Markup {
  const link = html`<p class="actions">${anchor(href, 'Response as JSON')}</p>`;
  if (json.length > MAX_PARSED)
    return html`<p>The response is large: ${formatCount(json.length / 1024)} kB of JSON.</p>${link}`;
  const document = parseJsonExactly(json, EXACT) as Answer;
  const text = stringifyExactly(document, '  ');
  const shown = text.length > MAX_JSON ? `${text.slice(0, MAX_JSON)}\n…` : text;
  return html`${renderRows(document)}
<details><summary>JSON</summary><div class="code"><pre tabindex="0" role="region" aria-label="JSON of the response"><code>${shown}</code></pre></div></details>${link}`;
}

function renderRows(document: Answer): Markup {
  const rows = findRows(document);
  if (rows) return rowTable(rows, titles(document));
  const entries = Object.entries(document).filter(([, value]) => typeof value !== 'object' || value === null);
  if (document.objectIds)
    return html`<p>${countText(document.objectIds.length, 'id')}: ${document.objectIds.slice(0, MAX_ROWS).join(', ')}</p>`;
  if (entries.length === 0) return html`<p>The response is a document without a table.</p>`;
  return rowTable(
    entries.map(([name, value]) => ({ Member: name, Value: value })),
    {},
  );
}

function findRows(document: Answer): Row[] | undefined {
  const { features, relatedRecordGroups, results, candidates, suggestions, samples } = document;
  if (features) return features.map(({ attributes = {} }) => attributes);
  if (relatedRecordGroups)
    return relatedRecordGroups.flatMap(({ objectId, relatedRecords = [] }) =>
      relatedRecords.map(({ attributes = {} }) => ({ 'Object id': objectId, ...attributes })),
    );
  const list = results ?? candidates ?? suggestions ?? samples;
  return list?.map(flatten);
}

/** Moves attributes to separate columns, and drops geometries. */
function flatten(row: Row): Row {
  const { attributes, geometry: _, extent: _extent, ...rest } = row;
  return { ...rest, ...(typeof attributes === 'object' && attributes !== null ? attributes : {}) };
}

const titles = ({ fields = [] }: Answer) =>
  Object.fromEntries(fields.map(({ name, alias }) => [name, alias || name]));

function rowTable(rows: readonly Row[], names: Readonly<Record<string, string>>): Markup {
  if (rows.length === 0) return html`<p>No results.</p>`;
  const columns = [...new Set(rows.slice(0, MAX_ROWS).flatMap((row) => Object.keys(row)))];
  const lines = rows
    .slice(0, MAX_ROWS)
    .map((row, i) => html`<tr data-row="${i}">${columns.map((name) => cell(row[name]))}</tr>`);
  const rest = rows.length > MAX_ROWS ? ` The table shows the first ${formatCount(MAX_ROWS)}.` : '';
  return html`<p>${countText(rows.length, 'row')}.${rest}</p><div class="items">${table(
    'Results',
    columns.map((name) => names[name] ?? name),
    lines,
  )}</div>`;
}

const cell = (value: unknown) =>
  typeof value === 'number' ? html`<td class="num">${value}</td>` : html`<td>${propertyValue(value)}</td>`;

const countText = (count: number, noun: string) => `${formatCount(count)} ${count === 1 ? noun : `${noun}s`}`;
