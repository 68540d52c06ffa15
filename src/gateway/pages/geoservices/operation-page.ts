import type { MapData } from '../../../core/catalog/page-data.js';
import { type FieldError, formatFieldError } from '../../../core/errors/field-errors.js';
import type { Param } from '../../../core/http/operation.js';
import { defaultStyle } from '../../../core/styles/default-style.js';
import { html, type Markup } from '../../../core/values/html.js';
import { buildFrame, type HtmlPageRequest } from '../crumbs.js';
import { apiStyles, page, renderSection, sitePath } from '../layout.js';
import { anchor } from '../links.js';
import { basemapData } from '../maps/basemap.js';
import { MAP_SCRIPTS, mapFrame, mapHead } from '../maps/map-frame.js';
import { renderAnswer } from './answer.js';
import { findFormField, findInitial } from './fields.js';
import { directoryCrumbs } from './place.js';

/** The page of an operation of GeoServices: a form with all parameters, and the response. */

export interface OperationForm {
  readonly verb: string;
  readonly summary: string;
  readonly params: readonly Pick<Param, 'name' | 'description'>[];
  /** Values of the request. Empty for a form that was not sent. */
  readonly values: Readonly<Record<string, unknown>>;
}

export type OperationOutcome =
  | { readonly kind: 'none' }
  | { readonly kind: 'json'; readonly json: string }
  | { readonly kind: 'image'; readonly href: string }
  | { readonly kind: 'error'; readonly message: string; readonly errors: readonly FieldError[] };

/** Parameters outside of the fold of a form. */
const MAIN = new Set([
  ...['where', 'outFields', 'geometry', 'geometryType', 'inSR', 'resultRecordCount', 'orderByFields'],
  ...['bbox', 'size', 'layers', 'searchText', 'searchFields', 'sr', 'classificationDef', 'topFilter', 'bin'],
  ...['relationshipId', 'objectIds', 'outStatistics', 'SingleLine', 'text', 'location', 'geometries', 'sql'],
]);
/** Forms with fewer parameters are not folded. */
const FOLDED_FROM = 8;

export function geoServicesPage(x: HtmlPageRequest, form: OperationForm, outcome: OperationOutcome): string {
  const { baseUrl, path } = x;
  const crumbs = directoryCrumbs(baseUrl, path);
  const parent = crumbs.at(-2);
  const title = `${form.verb}: ${form.summary}`;
  const map = outcome.kind === 'json' ? featureMap(x, outcome.json) : undefined;
  const body = html`<h1>${form.summary}</h1>
<p class="operation-line"><code>${form.verb}</code> ${parent ? html`of ${anchor(parent.href, nameResource(parent.title))}` : undefined}</p>
${outcome.kind === 'error' ? errorSection(baseUrl, outcome) : undefined}
<div class="search-place">${renderForm(x, form)}<div>${map}${renderOutcome(x, outcome)}</div></div>`;
  return page({
    ...buildFrame(x),
    title,
    crumbs,
    body,
    head: html`${map ? mapHead(baseUrl) : undefined}${apiStyles(baseUrl)}`,
    scripts: map ? MAP_SCRIPTS : [],
  });
}

/** Layers are named by their numbers. */
function nameResource(title: string): Markup {
  return /^\d+$/.test(title) ? html`layer ${title}` : html`<bdi>${title}</bdi>`;
}

/** Form of an edit. The script sends it by POST and shows the response. */
export function editFormPage(x: HtmlPageRequest, { verb, summary, params }: OperationForm): string {
  const { baseUrl, path } = x;
  const hasFile = params.some(({ name }) => findFormField(name).type === 'file');
  const crumbs = directoryCrumbs(baseUrl, path);
  const target = `${sitePath(baseUrl)}${path}`;
  const body = html`<h1>${summary}</h1>
<p class="operation-line"><code>${verb}</code> of ${anchor(crumbs.at(-2)!.href, nameResource(crumbs.at(-2)!.title))}</p>
<form class="builder reference-form" method="post" action="${target}" data-request="${target}"${hasFile ? html` enctype="multipart/form-data"` : undefined}>
${params.map((one) => renderField(one, ''))}
<input type="hidden" name="f" value="json">
<p class="actions"><button type="submit" class="button primary" data-send>Send</button></p>
</form>
<div data-response aria-live="polite"></div>`;
  return page({
    ...buildFrame(x),
    title: `${verb}: ${summary}`,
    crumbs,
    body,
    head: apiStyles(baseUrl),
    scripts: ['docs.js'],
  });
}

function errorSection(baseUrl: string, { message, errors }: OperationOutcome & { kind: 'error' }): Markup {
  return html`<div class="notice" role="alert"><p><bdi>${message}</bdi></p>
${errors.length > 1 ? html`<ul>${errors.map((error) => html`<li><bdi>${formatFieldError(error)}</bdi></li>`)}</ul>` : undefined}
<h2>Next steps</h2><p>Change the parameters in the form. ${anchor(`${baseUrl}/manual/reference/apis/geoservices`, 'Manual: GeoServices')}</p></div>`;
}

function renderForm(x: HtmlPageRequest, { verb, params, values }: OperationForm): Markup {
  const isNew = Object.keys(values).length === 0;
  const initial = isNew ? findInitial(verb) : {};
  const read = (name: string) => {
    const value = values[name] ?? initial[name] ?? '';
    return typeof value === 'string' ? value : JSON.stringify(value);
  };
  const isMain = ({ name }: { name: string }) =>
    params.length < FOLDED_FROM || MAIN.has(name) || read(name) !== '';
  const field = (one: OperationForm['params'][number]) => renderField(one, read(one.name));
  const [main, others] = [params.filter(isMain), params.filter((one) => !isMain(one))];
  return html`<form class="builder reference-form" method="get" action="${`${sitePath(x.baseUrl)}${x.path}`}">
${main.map(field)}
${others.length > 0 ? html`<details><summary>More parameters (${others.length})</summary><div class="builder-options">${others.map(field)}</div></details>` : undefined}
<label><span>Format</span><select name="f">${['html', 'json', 'pjson'].map((name) => html`<option>${name}</option>`)}</select></label>
<p class="actions"><button type="submit" class="button primary">Send</button> <a class="button" href="${`${x.baseUrl}${x.path}`}">Reset</a></p>
</form>`;
}

function renderField({ name, description }: Pick<Param, 'name' | 'description'>, value: string): Markup {
  const { words, usual = '', type, placeholder = '' } = findFormField(name);
  const hint = description === '' ? undefined : html`<span class="muted">${description}</span>`;
  return html`<label><span><code>${name}</code></span>${control()}${hint}</label>`;
  function control(): Markup {
    if (words) {
      const all = value === '' || words.includes(value) ? words : [value, ...words];
      return html`<select name="${name}"><option value="">${usual === '' ? 'not set' : `${usual} (default)`}</option>${all.map((word) => html`<option${word === value ? html` selected` : ''}>${word}</option>`)}</select>`;
    }
    if (type === 'json')
      return html`<textarea name="${name}" rows="2" spellcheck="false" placeholder="${placeholder}">${value}</textarea>`;
    if (type === 'file') return html`<input name="${name}" type="file">`;
    const kind = type === 'number' ? html` type="number" step="any"` : undefined;
    return html`<input name="${name}" value="${value}" placeholder="${placeholder || usual}" autocomplete="off" spellcheck="false"${kind}>`;
  }
}

function renderOutcome(x: HtmlPageRequest, outcome: OperationOutcome): Markup | undefined {
  switch (outcome.kind) {
    case 'none':
      return html`<p class="muted">Send the form to see the response here.</p>`;
    case 'error':
      return undefined;
    case 'image':
      return html`<h2>Response</h2><p><img class="response-image" src="${outcome.href}" alt="Image of the response"></p>`;
    case 'json':
      return renderSection('Response', renderAnswer(outcome.json, formatHref(x, 'pjson')));
  }
}

/** URL of the same request in another format. */
function formatHref({ baseUrl, path, query }: HtmlPageRequest, format: string): string {
  const parameters = new URLSearchParams(query);
  for (const [name, value] of [...parameters]) if (value === '') parameters.delete(name);
  parameters.set('f', format);
  return `${baseUrl}${path}?${parameters}`;
}

/** Map of the features of a query, in WGS 84. */
function featureMap(x: HtmlPageRequest, json: string): Markup | undefined {
  if (!/\/(?:Feature|Map)Server\/\d+\/query$/.test(x.path)) return undefined;
  if (!/"geometryType":"esriGeometry/.test(json.slice(0, 400_000)) || !/"geometry":\{/.test(json))
    return undefined;
  const href = new URL(formatHref(x, 'geojson'));
  href.searchParams.delete('outSR');
  const data: MapData = {
    baseUrl: x.baseUrl,
    bounds: null,
    layers: [],
    basemap: basemapData(x.baseUrl),
    features: { href: href.href, title: 'Features', style: defaultStyle('Geometry', 'features').layers },
  };
  return mapFrame({ data, label: 'Map of the features in the response' });
}
