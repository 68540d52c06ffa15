import { html, type Markup } from '../../../core/values/html.js';
import { renderSection, sitePath } from '../layout.js';
import { anchor } from '../links.js';
import { shellWord } from '../snippets/snippet.js';
import type { ApiOperation, ApiParameter, ApiSchema } from './documents.js';
import { createExample, renderText } from './schema.js';

/** The form that fills in the parameters of an operation, and the command line of the same request. */

export interface RequestForm {
  readonly baseUrl: string;
  readonly operation: ApiOperation;
  /** Values from the query of the page: `path.NAME` and `query.NAME`. */
  readonly values: URLSearchParams;
  /** Ids of collections that fields suggest. The first one fills required fields. */
  readonly collections: readonly string[];
  /** Whether the reader must send a key. */
  readonly needsKey: boolean;
}

const COLLECTIONS = 'reference-collections';

/** Names of parameters that mean one collection, and any number of collections. */
const COLLECTION_PARAMETERS: ReadonlySet<string> = new Set(['collectionId', 'collections', 'ids']);

export function renderRequest(form: RequestForm): Markup {
  const { baseUrl, operation } = form;
  const target = buildTarget(form);
  const url = `${baseUrl}${target}`;
  const isGet = operation.method === 'GET' && operation.isBuilt;
  return html`${isGet ? renderSection('Try it', renderForm(form, url)) : undefined}
${renderSection(
  'Command line',
  html`<div class="code"><pre tabindex="0" role="region" aria-label="Command"><code data-curl>${formatCommand(form, url)}</code></pre></div>`,
)}`;
}

function renderForm(form: RequestForm, url: string): Markup {
  const { baseUrl, operation, collections } = form;
  const fields = operation.parameters.filter((one) => one.in !== 'header');
  const [needed, others] = [fields.filter((one) => one.required), fields.filter((one) => !one.required)];
  const list = html`<datalist id="${COLLECTIONS}">${collections.map((id) => html`<option value="${id}"></option>`)}</datalist>`;
  const folded = others.length > SHOWN ? others : [];
  const shown = folded.length > 0 ? needed : [...needed, ...others];
  return html`<form class="builder reference-form" method="get" data-request="${`${sitePath(baseUrl)}${operation.path}`}">
${shown.map((one) => renderField(form, one))}
${folded.length > 0 ? html`<details><summary>Optional parameters (${folded.length})</summary><div class="builder-options reference-options">${folded.map((one) => renderField(form, one))}</div></details>` : undefined}
${list}<p class="actions"><button type="submit" class="button primary" data-send hidden>Send request</button> <button type="submit" name="open" value="1">Open the response</button></p>
</form>
<p class="reference-url"><code data-request-text>${url}</code></p>
<div data-response aria-live="polite"></div>`;
}

/** Optional parameters are folded if there are more than this. */
const SHOWN = 3;

function renderField(form: RequestForm, parameter: ApiParameter): Markup {
  const { name, required, schema, description } = parameter;
  const key = `${parameter.in}.${name}`;
  return html`<label><span><code>${name}</code>${required ? '' : html` <span class="muted">(optional)</span>`}</span>
${control(key, readValue(form, parameter), parameter, findWords(schema))}
${description ? html`<span class="muted">${renderText(description)}</span>` : undefined}</label>`;
}

function findWords(schema: ApiSchema): readonly unknown[] | undefined {
  return schema.enum ?? (schema.type === 'boolean' ? [true, false] : undefined);
}

function control(
  key: string,
  value: string,
  { name, required, schema }: ApiParameter,
  words: readonly unknown[] | undefined,
): Markup {
  const needed = required ? html` required` : undefined;
  const usual = schema.default === undefined ? '' : String(schema.default);
  if (words) {
    const empty = usual === '' ? 'not set' : `${usual} (default)`;
    return html`<select name="${key}"${needed}>${required ? undefined : html`<option value="">${empty}</option>`}
${words.map((word) => html`<option${String(word) === value ? html` selected` : ''}>${String(word)}</option>`)}</select>`;
  }
  if (schema.type === 'integer' || schema.type === 'number') {
    const limit = (label: 'min' | 'max', bound: number | undefined) =>
      bound === undefined ? undefined : html` ${label}="${bound}"`;
    return html`<input type="number" name="${key}" value="${value}" placeholder="${usual}" step="${schema.type === 'integer' ? '1' : 'any'}"${limit('min', schema.minimum)}${limit('max', schema.maximum)}${needed}>`;
  }
  const list = COLLECTION_PARAMETERS.has(name) ? html` list="${COLLECTIONS}"` : undefined;
  return html`<input name="${key}" value="${value}" placeholder="${usual}" autocomplete="off" spellcheck="false"${list}${needed}>`;
}

/** The value of a parameter in the query of the page, or a value for a required parameter. */
function readValue(form: RequestInput, { in: place, name, required, schema }: ApiParameter): string {
  const given = form.values.get(`${place}.${name}`);
  if (given !== null || !required) return given ?? '';
  if (name === 'collectionId' && form.collections[0] !== undefined) return form.collections[0];
  const example =
    schema.type === 'string' && !schema.enum && !hasExample(schema) ? '' : createExample(schema);
  return typeof example === 'object' ? '' : String(example);
}

const hasExample = ({ example, examples, default: usual }: ApiSchema) =>
  (example ?? examples?.[0] ?? usual) !== undefined;

type RequestInput = Pick<RequestForm, 'operation' | 'values' | 'collections'>;

/** Path and query of the request. Path parameters without a value keep their braces. */
export function buildTarget(form: RequestInput): string {
  const { operation } = form;
  let { path } = operation;
  const query = new URLSearchParams();
  for (const parameter of operation.parameters) {
    const value = readValue(form, parameter);
    if (value === '') continue;
    if (parameter.in === 'path') path = path.replace(`{${parameter.name}}`, encodeURIComponent(value));
    else if (parameter.in === 'query') query.set(parameter.name, value);
  }
  const text = query.toString();
  return text === '' ? path : `${path}?${text}`;
}

/** The command of curl for the request, with an example body. */
function formatCommand({ operation, needsKey }: RequestForm, url: string): string {
  const { method, body } = operation;
  const parts = [`curl ${method === 'GET' ? '' : `-X ${method} `}${shellWord(url)}`];
  if (needsKey) parts.push("-H 'X-API-Key: KEY'");
  const [content] = Object.entries(body?.content ?? {});
  if (content) {
    const [type, { schema }] = content;
    const isJson = /[/+]json\b/.test(type);
    parts.push(`-H ${shellWord(`Content-Type: ${type}`)}`);
    parts.push(
      isJson ? `-d ${shellWord(JSON.stringify(schema ? createExample(schema) : {}))}` : '--data-binary @FILE',
    );
  }
  return parts.join(' \\\n  ');
}

/** Link to the page that signs the reader in. */
export function signInLink(baseUrl: string, here: string): Markup {
  return anchor(`${baseUrl}/account/sign-in?to=${encodeURIComponent(here)}`, 'Sign in');
}
