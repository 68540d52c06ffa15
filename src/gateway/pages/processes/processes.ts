import { html, type Markup } from '../../../core/values/html.js';
import { locatePage } from '../crumbs.js';
import type { HtmlPageRequest } from '../index.js';
import { page, renderSection } from '../layout.js';
import {
  anchor,
  findLink,
  linkList,
  type PageLink,
  representationLine,
  selectResourceLinks,
} from '../links.js';
import { mapHead } from '../maps/map-frame.js';
import { table } from '../table.js';
import { type FieldSchema, type FormInput, type ProcessFormPage, processForm } from './process-form.js';

/** Pages of processes, made from the documents that are their JSON representation. */

interface ProcessSummary {
  readonly id: string;
  readonly title: string;
  readonly description: string;
  readonly links: readonly PageLink[];
}

export function processesPage(
  x: HtmlPageRequest,
  { processes, links }: { processes: readonly ProcessSummary[]; links: readonly PageLink[] },
): string {
  const rows = processes.map(
    (one) => html`<tr><td>${anchor(findLink(one.links, 'process')!.href, one.title)}</td>
<td><code>${one.id}</code></td><td>${one.description}</td></tr>`,
  );
  const body = html`<h1>Processes</h1>
<p class="lead">Processes for features and rasters of this server, and for uploaded features.</p>
${representationLine(links)}
${table('Processes', ['Process', 'Id', 'Description'], rows)}`;
  return page({ ...locatePage(x), title: 'Processes', body, alternates: links });
}

export interface ProcessDocument extends ProcessSummary {
  readonly inputs: Readonly<Record<string, FormInput>>;
  readonly outputs: Readonly<Record<string, FormInput>>;
}

export function processPage(
  x: HtmlPageRequest,
  document: ProcessDocument,
  form: Pick<ProcessFormPage, 'collections' | 'publishable' | 'obstacle'>,
): string {
  const { id, title, description, inputs, outputs, links } = document;
  const execute = links.find(({ rel }) => rel.endsWith('/execute'))!.href;
  const command = `curl -X POST ${execute} -H 'Authorization: Bearer KEY' -H 'Content-Type: application/json' \\\n  -d '${JSON.stringify({ inputs: buildSample(inputs) })}'`;
  const body = html`<h1>${title}</h1>
<p class="lead">${description}</p>
${representationLine(links)}
${processForm({ ...document, baseUrl: x.baseUrl, ...form })}
${renderSection('Inputs', table('Inputs', ['Input', 'Description', 'Values'], Object.entries(inputs).map(inputRow)))}
${renderSection('Outputs', table('Outputs', ['Output', 'Description', 'Values'], Object.entries(outputs).map(inputRow)))}
${renderSection('Use from code', html`<div class="code"><pre tabindex="0" role="region" aria-label="Command"><code>${command}</code></pre></div>`)}
${renderSection('Links', linkList(selectResourceLinks(links).filter(({ rel }) => !rel.endsWith('/execute'))))}`;
  const scripts = ['process.js'];
  const head = mapHead(x.baseUrl);
  return page({ ...locatePage(x, { [id]: title }), title, body, head, scripts, alternates: links });
}

function inputRow([name, { title, description, schema, minOccurs }]: [string, FormInput]): Markup {
  const isNeeded = minOccurs !== 0;
  return html`<tr><th scope="row"><code>${name}</code>${isNeeded ? '' : html` <span class="type">optional</span>`}</th>
<td><bdi>${title}</bdi>: ${description}</td><td>${formatValues(schema)}</td></tr>`;
}

/** Text for the values that a schema allows. */
function formatValues(value: unknown): string {
  const schema = value as FieldSchema;
  if (schema.anyOf) return schema.anyOf.map(({ description = '' }) => description).join(' ');
  const parts = [schema.enum ? schema.enum.join(', ') : (schema.type ?? 'any')];
  if (schema.minimum !== undefined) parts.push(`from ${schema.minimum}`);
  if (schema.maximum !== undefined) parts.push(`to ${schema.maximum}`);
  if (schema.default !== undefined) parts.push(`(default: ${String(schema.default)})`);
  return parts.join(' ');
}

/** Values for the inputs that are needed. */
function buildSample(inputs: ProcessDocument['inputs']): Record<string, unknown> {
  const needed = Object.entries(inputs).filter(([, { minOccurs }]) => minOccurs !== 0);
  return Object.fromEntries(needed.map(([name, { schema }]) => [name, sampleValue(schema as FieldSchema)]));
}

function sampleValue({
  anyOf,
  enum: [choice] = [],
  type,
  minimum = 0,
  maximum = 1000,
}: FieldSchema): unknown {
  if (anyOf) return { collection: 'COLLECTION' };
  if (type === 'number' || type === 'integer') return Math.max(minimum, Math.min(maximum, 1000));
  return type === 'array' ? ['VALUE'] : (choice ?? 'VALUE');
}
