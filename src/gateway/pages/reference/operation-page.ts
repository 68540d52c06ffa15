import { html, type Markup } from '../../../core/values/html.js';
import { apiStyles, type Crumb, type PageFrame, page, renderSection } from '../layout.js';
import { table } from '../table.js';
import type { ApiContent, ApiOperation, ApiParameter, ReferenceDocument } from './documents.js';
import { docsCrumb, methodBadge, UNBUILT } from './interface-page.js';
import { renderRequest, signInLink } from './request.js';
import { REQUIRED, renderMembers, renderText, renderType } from './schema.js';

export interface OperationPage extends PageFrame {
  readonly document: ReferenceDocument;
  readonly operation: ApiOperation;
  readonly values: URLSearchParams;
  readonly collections: readonly string[];
  /** Whether the reader has the permission of the operation. */
  readonly mayCall: boolean;
}

/** Parameters, body, responses and permission of one operation, with a form for reads. */
export function operationPage(input: OperationPage): string {
  const { baseUrl, reader, document, operation, values, collections } = input;
  const { method, path, summary, description, isBuilt, parameters, body } = operation;
  const home: Crumb = { title: document.title, href: `${baseUrl}/docs/${document.surface}` };
  const needsKey = operation.permission !== 'public' || (document.surface === 'admin' && !isBuilt);
  const content = html`<h1>${summary}</h1>
<p class="operation-line">${methodBadge(method)} <code>${path}</code></p>
${isBuilt ? undefined : html`<p class="notice">${UNBUILT}: the path is reserved, and the server returns 501.</p>`}
${description && description !== summary ? html`<p class="lead">${renderText(description)}</p>` : undefined}
<p>${describePermission(input)}</p>
${renderSection('Parameters', parameters.length > 0 ? parameterTable(parameters) : undefined)}
${body ? renderSection('Request body', renderBody(body.content, body.required)) : undefined}
${renderRequest({ baseUrl, operation, values, collections, needsKey })}
${renderSection('Responses', responseTable(operation))}
${renderSection('Members of the response', renderResponseMembers(operation))}`;
  return page({
    baseUrl,
    reader,
    title: `${summary} (${document.title})`,
    crumbs: [docsCrumb(baseUrl), home, { title: operation.id, href: `${home.href}/${operation.id}` }],
    body: content,
    scripts: ['docs.js'],
    head: apiStyles(baseUrl),
  });
}

function describePermission({ baseUrl, reader, operation, mayCall }: OperationPage): Markup {
  const { permission } = operation;
  if (permission === 'public')
    return html`Available without signing in. Restricted collections are visible only to callers with access to them.`;
  const signIn =
    reader.name === undefined ? html` ${signInLink(baseUrl, reader.here)} to use it.` : undefined;
  if (permission === 'authenticated')
    return html`Available to every caller with a key or an account.${signIn}`;
  const state = signIn ?? html` You ${mayCall ? html`have` : html`do not have`} this permission.`;
  return html`Requires the permission <code>${permission}</code>.${state}`;
}

function parameterTable(parameters: readonly ApiParameter[]): Markup {
  const rows = parameters.map(
    ({ name, in: place, required, schema, description }) =>
      html`<tr><th scope="row"><code>${name}</code>${required ? REQUIRED : undefined}</th><td>${place}</td>
<td>${renderType(schema)}</td><td>${renderText(description)}</td></tr>`,
  );
  return table('Parameters', ['Name', 'In', 'Values', 'Description'], rows);
}

function renderBody(content: ApiContent, isRequired: boolean): Markup {
  const types = Object.keys(content);
  const schema = Object.values(content)[0]?.schema;
  return html`<p>${isRequired ? 'Required' : 'Optional'}, as ${types.map((type, i) => html`${i > 0 ? ', ' : ''}<code>${type}</code>`)}.${schema ? html` ${renderType(schema)}` : undefined}</p>
${schema && renderMembers(schema)}`;
}

function responseTable({ responses }: ApiOperation): Markup {
  const rows = Object.entries(responses).map(
    ([status, { description, content = {} }]) =>
      html`<tr><th scope="row"><code>${status}</code></th><td>${renderText(description)}</td><td>${Object.keys(content).map((type) => html`<code>${type}</code><br>`)}</td></tr>`,
  );
  return table('Responses', ['Status', 'Meaning', 'Media types'], rows);
}

function renderResponseMembers({ responses }: ApiOperation): Markup | undefined {
  const [success] = Object.entries(responses).filter(([status]) => Number(status) < 300);
  for (const { schema } of Object.values(success?.[1].content ?? {})) {
    const members = schema && renderMembers(schema);
    if (members) return html`<details><summary>Status ${success![0]}</summary>${members}</details>`;
  }
  return undefined;
}
