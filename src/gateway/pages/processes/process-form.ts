import { hasCoverage, hasFeatures } from '../../../core/catalog/abilities.js';
import type { Collection } from '../../../core/catalog/collection.js';
import type { MapData, ProcessData, ProcessField } from '../../../core/catalog/page-data.js';
import { html, type Markup, scriptJson } from '../../../core/values/html.js';
import { renderSection, sitePath } from '../layout.js';
import { basemapData } from '../maps/basemap.js';
import { mapFrame } from '../maps/map-frame.js';

/** The form that a process is executed by. A script sends it; without one the page has the command. */

/** The part of a JSON Schema that a form can represent. */
export interface FieldSchema {
  readonly type?: string;
  readonly enum?: readonly unknown[];
  readonly default?: unknown;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly anyOf?: readonly { readonly description?: string; readonly properties?: object }[];
  readonly items?: FieldSchema;
}

export interface FormInput {
  readonly title: string;
  readonly description: string;
  readonly schema: unknown;
  readonly minOccurs?: number;
}

export interface ProcessFormPage {
  readonly baseUrl: string;
  readonly id: string;
  readonly inputs: Readonly<Record<string, FormInput>>;
  /** The output that may become a collection. */
  readonly publishable: string | undefined;
  /** Collections that the reader has access to. */
  readonly collections: readonly Collection[];
  /** Reason why the reader cannot execute processes. */
  readonly obstacle?: 'anonymous' | 'forbidden' | undefined;
}

const OPTIONAL = html` <span class="muted">(optional)</span>`;

/** Collections that a field suggests. */
const SUGGESTIONS = 500;

export function processForm({
  baseUrl,
  id,
  inputs,
  publishable,
  collections,
  obstacle,
}: ProcessFormPage): Markup {
  if (obstacle) return renderSection('Execute', describeObstacle(baseUrl, id, obstacle))!;
  const path = `${sitePath(baseUrl)}/ogc/processes`;
  const entries = Object.entries(inputs);
  const types = Object.fromEntries(
    entries.map(([name, { schema }]) => [name, buildType(schema as FieldSchema)]),
  );
  const { shown, folded } = foldOptions(entries);
  const hasLayers = Object.values(types).some((type) => type === 'layer' || type === 'raster');
  const hasBoxes = Object.values(types).includes('layer');
  const data: ProcessData = {
    execution: `${path}/processes/${encodeURIComponent(id)}/execution`,
    jobs: `${path}/jobs`,
    signIn: `${sitePath(baseUrl)}/account/sign-in`,
    inputs: types,
    output: publishable ?? null,
    geometries: Object.fromEntries(
      collections
        .slice(0, SUGGESTIONS)
        .filter(hasFeatures)
        .map(({ id: name, source }) => [name, source.geometryColumn]),
    ),
  };
  return html`<div data-process hidden>${renderSection(
    'Execute',
    html`<script type="application/json" id="process-data">${scriptJson(data)}</script>
<div class="${hasBoxes ? 'process-place' : ''}">
<form class="builder process-form" aria-label="Execute ${id}">
${shown.map(([name, input]) => formatField(name, input))}
${folded.length === 0 ? undefined : moreOptions(folded)}
${publishable === undefined ? undefined : publishField()}
<p role="alert" data-fault hidden></p>
<p><button type="submit" class="button primary">Execute</button></p>
</form>
${hasBoxes ? boxMap(baseUrl) : undefined}
</div>
${hasLayers ? suggestions(collections) : undefined}`,
  )}</div>`;
}

/** More optional inputs than this are folded away. */
const SHOWN_OPTIONS = 2;

/** Inputs that are always visible, and optional inputs, which most executions leave at their defaults. */
function foldOptions(entries: readonly [string, FormInput][]) {
  // Without its unit, a distance has no meaning.
  const isOptional = ([name, { minOccurs }]: [string, FormInput]) => minOccurs === 0 && name !== 'unit';
  const folded = entries.filter(isOptional);
  if (folded.length <= SHOWN_OPTIONS) return { shown: entries, folded: [] };
  return { shown: entries.filter((entry) => !isOptional(entry)), folded };
}

function moreOptions(entries: readonly [string, FormInput][]): Markup {
  return html`<details data-options><summary>More options (${entries.length})</summary>
<div class="builder-options">${entries.map(([name, input]) => formatField(name, input))}</div></details>`;
}

function describeObstacle(
  baseUrl: string,
  id: string,
  obstacle: NonNullable<ProcessFormPage['obstacle']>,
): Markup {
  const path = `${sitePath(baseUrl)}/ogc/processes/processes/${encodeURIComponent(id)}`;
  const signIn = `${sitePath(baseUrl)}/account/sign-in?to=${encodeURIComponent(`${path}?f=html`)}`;
  if (obstacle === 'anonymous')
    return html`<p><a class="button primary" href="${signIn}">Sign in</a> to execute this process.</p>`;
  return html`<p>You need the permission <code>processes:execute</code> to execute this process. An administrator of this server can grant it.</p>`;
}

function buildType({ type, anyOf = [], enum: words }: FieldSchema): ProcessField {
  if (anyOf.some(({ properties = {} }) => 'filter' in properties)) return 'layer';
  if (anyOf.some(({ properties = {} }) => 'collection' in properties)) return 'raster';
  if (words || type === 'string' || type === 'number' || type === 'integer' || type === 'boolean')
    return 'value';
  return 'json';
}

function formatField(name: string, input: FormInput): Markup {
  const schema = input.schema as FieldSchema;
  const isNeeded = input.minOccurs !== 0;
  const label = html`<span><bdi>${input.title}</bdi>${isNeeded ? '' : OPTIONAL}</span>`;
  const hint = html`<span class="muted">${input.description}</span>`;
  const type = buildType(schema);
  if (type !== 'layer' && type !== 'raster')
    return html`<label>${label}${control(name, schema, isNeeded)}${hint}</label>`;
  const place = html`<label><span>Collection, or URL of results</span><input name="${name}" list="process-collections" ${isNeeded ? 'required' : ''} autocomplete="off" spellcheck="false"></label>`;
  if (type === 'raster') return html`<fieldset><legend>${label}</legend>${place}${hint}</fieldset>`;
  return html`<fieldset><legend>${label}</legend>
${place}
<label><span>Filter (CQL2)${OPTIONAL}</span><input name="${name}:filter" autocomplete="off" spellcheck="false"></label>
<label><span>Box${OPTIONAL}</span><input name="${name}:box" placeholder="west,south,east,north" autocomplete="off"></label>
<button type="button" data-draw-box="${name}:box">Draw the bounding box on the map</button>
${hint}</fieldset>`;
}

function control(name: string, schema: FieldSchema, isNeeded: boolean): Markup {
  const required = isNeeded ? 'required' : '';
  const words = schema.enum ?? (schema.type === 'boolean' ? [true, false] : undefined);
  if (words) {
    const usual = schema.default === undefined ? 'not set' : `${String(schema.default)} (default)`;
    return html`<select name="${name}" ${required}>${isNeeded ? undefined : html`<option value="">${usual}</option>`}
${words.map((word) => html`<option>${String(word)}</option>`)}</select>`;
  }
  const placeholder = schema.default === undefined ? '' : String(schema.default);
  if (schema.type === 'number' || schema.type === 'integer') {
    const step = schema.type === 'integer' ? '1' : 'any';
    return html`<input type="number" name="${name}" step="${step}" min="${schema.minimum ?? ''}" max="${schema.maximum ?? ''}" placeholder="${placeholder}" ${required}>`;
  }
  if (schema.type === 'string')
    return html`<input name="${name}" placeholder="${placeholder}" ${required} autocomplete="off">`;
  return html`<textarea name="${name}" rows="3" placeholder="JSON" ${required} spellcheck="false"></textarea>`;
}

function publishField(): Markup {
  return html`<label><span>New collection${OPTIONAL}</span><input name=":publish" pattern="[a-z_][a-z0-9_]*" maxlength="60" autocomplete="off">
<span class="muted">Publishes the result as a collection with this name.</span></label>`;
}

function suggestions(collections: readonly Collection[]): Markup {
  const options = collections
    .slice(0, SUGGESTIONS)
    .filter((one) => hasFeatures(one) || hasCoverage(one))
    .map(({ id, title }) => html`<option value="${id}">${title}</option>`);
  return html`<datalist id="process-collections">${options}</datalist>`;
}

function boxMap(baseUrl: string): Markup {
  const data: MapData = {
    baseUrl,
    bounds: null,
    layers: [],
    features: null,
    basemap: basemapData(baseUrl),
  };
  return mapFrame({ data, label: 'Map for the bounding box' });
}
