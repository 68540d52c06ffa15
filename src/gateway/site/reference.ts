import Type from 'typebox';
import type { CatalogSnapshot } from '../../core/catalog/collection.js';
import { ApiError, notFound } from '../../core/errors/errors.js';
import { HTML_FORMAT } from '../../core/http/media.js';
import { defineOperation, type Exchange, type Operation, type Principal } from '../../core/http/operation.js';
import { defineTextParam, pathString } from '../../core/http/params.js';
import { permits } from '../../services/access/permissions.js';
import { openApiDocument } from '../http/openapi.js';
import { buildFrame } from '../pages/crumbs.js';
import { createPageReply } from '../pages/page-reply.js';
import type { ApiOperation, ReferenceDocument } from '../pages/reference/documents.js';
import { docsListPage, interfacePage } from '../pages/reference/interface-page.js';
import { type OperationPage, operationPage } from '../pages/reference/operation-page.js';
import { buildTarget } from '../pages/reference/request.js';
import { REFERENCE_DOCUMENTS, type ReferenceEntry } from './documents.js';

export interface ReferenceDeps {
  /** All operations of the server. */
  readonly operations: readonly Operation[];
  visible(principal: Principal): CatalogSnapshot;
}

/** Maximum number of collection ids that a form field suggests. */
const MAX_SUGGESTIONS = 200;

const SITE = {
  method: 'GET',
  surface: 'site',
  protocol: 'Site',
  permission: 'public',
  formats: [HTML_FORMAT],
} as const;
const PAGE = { 'text/html': Type.String() };

const q = defineTextParam(
  'q',
  { description: 'Words in the path, summary, description or parameters of an operation.' },
  { maxLength: 200 },
);
const surfaceParam = pathString(
  'surface',
  `API: ${REFERENCE_DOCUMENTS.map(({ surface }) => surface).join(', ')}.`,
);

/** Pages of the API reference: the APIs, the operations of one API, and one operation. */
export function referenceOperations({ operations, visible }: ReferenceDeps): Operation[] {
  const reference = new Reference(operations);
  return [
    defineOperation({
      ...SITE,
      id: 'site.docs',
      path: '/docs',
      summary: 'API reference',
      params: { q },
      responses: {
        200: {
          description: 'Page that lists the APIs, or the operations with the words of q.',
          content: PAGE,
        },
      },
      run: (x) =>
        createPageReply(
          docsListPage({
            ...buildFrame(x),
            documents: REFERENCE_DOCUMENTS,
            q: x.params.q,
            readable: reference.listReadable(x.principal),
          }),
        ),
    }),
    defineOperation({
      ...SITE,
      id: 'site.docsViewer',
      path: '/docs/{surface}',
      summary: 'API reference of one API',
      params: { surface: surfaceParam, q },
      responses: {
        200: { description: 'Page with the operations.', content: PAGE },
        404: { description: 'The API does not exist.' },
      },
      run: (x) => {
        const document = reference.read(x.params.surface, x.principal);
        return createPageReply(interfacePage({ ...buildFrame(x), document, q: x.params.q }));
      },
    }),
    defineOperation({
      ...SITE,
      id: 'site.docsOperation',
      path: '/docs/{surface}/{operationId}',
      summary: 'API reference of one operation',
      description: 'Parameters such as query.limit and path.collectionId fill in the form of the page.',
      openQuery: true,
      params: {
        surface: surfaceParam,
        operationId: pathString('operationId', 'Id of an operation in the OpenAPI document.'),
      },
      responses: {
        200: { description: 'Page with the operation.', content: PAGE },
        303: { description: 'With open=1: the request that the parameters describe.' },
        404: { description: 'The API or the operation does not exist.' },
      },
      run: (x) => {
        const page = readOperationPage(x, reference, visible(x.principal));
        const target = page.values.has('open') ? buildTarget(page) : undefined;
        // A path parameter without a value remains as {name}: then the page shows the form.
        if (target !== undefined && !target.includes('{'))
          return { status: 303, headers: { location: `${x.baseUrl}${target}` } };
        return createPageReply(operationPage(page));
      },
    }),
  ];
}

function readOperationPage(
  x: Exchange<{ surface: typeof surfaceParam; operationId: typeof surfaceParam }>,
  reference: Reference,
  catalog: CatalogSnapshot,
): OperationPage {
  const { params, principal, query } = x;
  const document = reference.read(params.surface, principal);
  const operation = document.operations.find(({ id }) => id === params.operationId);
  if (!operation) throw notFound('operation', params.operationId);
  const { permission } = operation;
  return {
    ...buildFrame(x),
    document,
    operation,
    values: new URLSearchParams(query),
    collections: suggestCollections(catalog, document.surface),
    mayCall: permission === 'public' || permits(principal, permission),
  };
}

/** Ids of the first collections of an API. Maps and tiles have only collections with a position on Earth. */
function suggestCollections({ onEarth, vectors, rasters }: CatalogSnapshot, surface: string): string[] {
  const collections =
    surface === 'features' ? vectors : surface === 'coverages' ? rasters : onEarth.collections;
  return collections.slice(0, MAX_SUGGESTIONS).map(({ id }) => id);
}

/** Documents of the APIs, created when they are first needed. */
class Reference {
  readonly #operations: readonly Operation[];
  readonly #documents = new Map<string, ReferenceDocument>();

  constructor(operations: readonly Operation[]) {
    this.#operations = operations;
  }

  /** The APIs whose operations a caller can see. */
  listReadable(principal: Principal): ReferenceDocument[] {
    return REFERENCE_DOCUMENTS.filter((entry) => this.#isReadable(entry, principal)).map((entry) =>
      this.#document(entry),
    );
  }

  read(surface: string, principal: Principal): ReferenceDocument {
    const entry = REFERENCE_DOCUMENTS.find((one) => one.surface === surface);
    if (!entry)
      throw notFound(
        'OpenAPI document',
        surface,
        REFERENCE_DOCUMENTS.map((one) => one.surface),
      );
    if (!this.#isReadable(entry, principal)) throw refuse(entry, principal);
    return this.#document(entry);
  }

  /** The pages have the permission of the OpenAPI document. */
  #isReadable({ openapi }: ReferenceEntry, principal: Principal): boolean {
    const permission = this.#operations.find(({ path }) => path === openapi)?.permission ?? 'public';
    return permission === 'public' || permits(principal, permission);
  }

  #document(entry: ReferenceEntry): ReferenceDocument {
    const known = this.#documents.get(entry.surface);
    if (known) return known;
    const { surfaces, ...about } = entry;
    const own = this.#operations.filter(({ surface }) => surfaces.includes(surface));
    const document = { ...about, operations: listOperations(own) };
    this.#documents.set(entry.surface, document);
    return document;
  }
}

function refuse({ title }: ReferenceEntry, { kind }: Principal): ApiError {
  return kind === 'anonymous'
    ? new ApiError(
        'unauthenticated',
        `Sign in to see it: the reference of the API '${title}' requires a permission.`,
      )
    : new ApiError('forbidden', `You do not have the permission to see the reference of the API '${title}'.`);
}

/** Operations as their OpenAPI document describes them, with their permissions. */
function listOperations(operations: readonly Operation[]): ApiOperation[] {
  const { paths } = openApiDocument({ title: '', description: '', serverUrl: '/' }, operations);
  return operations.map(({ id, method, path, tag, protocol, summary, description, built, permission }) => {
    const described = paths[path]![method.toLowerCase()] as Pick<ApiOperation, 'parameters' | 'responses'> & {
      readonly requestBody?: NonNullable<ApiOperation['body']>;
    };
    return {
      id,
      method,
      path,
      tag: tag ?? (protocol === 'Admin' ? 'Other' : protocol),
      summary,
      description,
      isBuilt: built,
      permission,
      parameters: described.parameters,
      body: described.requestBody,
      responses: described.responses,
    };
  });
}
