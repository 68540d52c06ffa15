import type { Static, TSchema } from 'typebox';
import { ApiError } from '../../core/errors/errors.js';
import type {
  BodySpec,
  Exchange,
  Method,
  Operation,
  Params,
  Reply,
  ResponseDoc,
} from '../../core/http/operation.js';
import { inRequestScope, TaskScope } from '../../core/observability/task-scope.js';
import { BASE_PATH } from './base-path.js';
import { ResourceTurns } from './conditional.js';
import { type AdminDeps, type AdminServiceName, pickServices, type Services } from './deps.js';
import { dataSchema, type Envelope, errorDocs } from './envelope.js';
import { prefixLinks } from './path-prefix.js';
import { createRowRun, isChange, type RunServices, sendsTag } from './row-run.js';

/**
 * The management API has four kinds of rows. A group is a table of rows created by `resource`, `setting`,
 * `action` and `report`. A row without an implementation is routed, documented and protected like any other, and responds with 501.
 * An implementation receives the services that its file names in `createRowBuilders`, and no others.
 */
type Shape = 'resource' | 'action' | 'report' | 'setting';

export { BASE_PATH };

/** `GET /api-keys`: method and path below the base path. */
export type OperationRoute = `${Method} /${string}`;

interface Common<P extends Params, S extends TSchema> {
  readonly description?: string;
  readonly params?: P;
  readonly body?: BodySpec<S>;
  /** Statuses of documented failures. */
  readonly errors?: readonly number[];
  /** When the reply of this one row is unlike its group's. */
  readonly envelope?: Envelope;
  /** The path may become a WebSocket. */
  readonly socket?: boolean;
  /** Callers need no permission: the response depends on the caller, or helps the caller to sign in. */
  readonly open?: boolean;
  /** See `Operation.exports`. */
  readonly exports?: boolean;
  /** See `Operation.takesSessionOfPrograms`. */
  readonly takesSessionOfPrograms?: boolean;
  /** Same as `GroupAbout.isForTenants`, for this row only. */
  readonly isForTenants?: boolean;
  /**
   * Path of the row that shows the resource which this row changes, if it is another path of the group. Its entity
   * tag is used.
   */
  readonly shownBy?: `/${string}`;
  /** See `Operation.entityTag`: If-Match is required. */
  readonly requiresIfMatch?: true;
}

/** Makes a change conditional if no row shows the resource. */
interface Shown<P extends Params, N extends AdminServiceName> {
  /** Returns a view of the resource that the row changes. Throws `not-found`. */
  readonly current?: (x: Exchange<P>, deps: Services<N>) => unknown;
}

/** An implementation that gives data: the kit makes the reply. */
interface DataHandler<P extends Params, S extends TSchema, N extends AdminServiceName>
  extends Common<P, S>,
    Shown<P, N> {
  /** Schema of the result of `answer`. */
  readonly data: TSchema;
  /** Status code on success; 200 if absent. */
  readonly status?: number;
  /** `Location` of the created resource, relative to the base path. */
  location?(data: never): string;
  readonly answer: (x: Exchange<P, Static<S>>, deps: Services<N>) => unknown;
}

/** An implementation that makes its replies itself: other media types, several statuses. */
interface Replies<P extends Params, S extends TSchema, N extends AdminServiceName>
  extends Common<P, S>,
    Shown<P, N> {
  readonly responses: Readonly<Record<number, ResponseDoc>>;
  readonly reply: (x: Exchange<P, Static<S>>, deps: Services<N>) => Reply | Promise<Reply>;
}

type Handler<P extends Params, S extends TSchema, N extends AdminServiceName> =
  | DataHandler<P, S, N>
  | Replies<P, S, N>;

/**
 * Implementation of a row without the types of its parameters and body. It is called with all services, and passes on
 * those it names.
 */
export type Implementation = Handler<Params, TSchema, AdminServiceName> & {
  /** Names of the services that it takes. */
  readonly services: readonly AdminServiceName[];
};

export interface OperationRow {
  readonly shape: Shape;
  readonly method: Method;
  /** Below the base path. */
  readonly path: string;
  readonly summary: string;
  readonly implementation?: Implementation;
}

export interface GroupAbout {
  /** OpenAPI tag. */
  readonly tag: string;
  /** Word of the permission labels and operation ids: `admin:{scope}:read`. */
  readonly scope: string;
  readonly envelope: Envelope;
  /** Responses have X-Correlation-Id. */
  readonly correlates?: boolean;
  /** Callers of a tenant can use the rows, which show and change only what exists for the tenant. Other rows refuse them. */
  readonly isForTenants?: boolean;
}

export interface OperationGroup extends GroupAbout {
  readonly rows: readonly OperationRow[];
}

/** An operation of the management API. */
export interface AdminOperation extends Operation {
  readonly shape: Shape;
  /** Scope of its group: the resource type of audit rows. */
  readonly scope: string;
}

export function group(about: GroupAbout, rows: readonly OperationRow[]): OperationGroup {
  return { ...about, rows };
}

/**
 * Returns functions that receive the named services:
 * - `report`: a row that reads or computes something, and changes nothing.
 * - `action`: a row that executes something.
 * - `implement`: an implementation for `resource` and `setting`.
 */
export function createRowBuilders<const N extends AdminServiceName>(names: readonly N[]) {
  const picked = new WeakMap<AdminDeps, Services<N>>();
  const pick = (all: AdminDeps): Services<N> => {
    const services = picked.get(all) ?? pickServices(all, names);
    picked.set(all, services);
    return services;
  };
  const implement = <P extends Params = Record<never, never>, S extends TSchema = TSchema>(
    handler: Handler<P, S, N>,
  ): Implementation => ({ ...bind(handler, pick), services: names }) as Implementation;
  const createBuilder =
    (shape: Shape) =>
    <P extends Params = Record<never, never>, S extends TSchema = TSchema>(
      route: OperationRoute,
      summary: string,
      handler?: Handler<P, S, N>,
    ): OperationRow =>
      row(shape, route, summary, handler && implement(handler));
  return { report: createBuilder('report'), action: createBuilder('action'), implement };
}

/** Returns a handler that is given all services and passes on its own. */
function bind<P extends Params, S extends TSchema, N extends AdminServiceName>(
  handler: Handler<P, S, N>,
  pick: (all: AdminDeps) => Services<N>,
): Handler<P, S, AdminServiceName> {
  const shown = handler.current && {
    current: (x: Exchange<P>, all: AdminDeps) => handler.current?.(x, pick(all)),
  };
  if ('answer' in handler) return { ...handler, ...shown, answer: (x, all) => handler.answer(x, pick(all)) };
  return { ...handler, ...shown, reply: (x, all) => handler.reply(x, pick(all)) };
}

/** Rows without services, such as those that are not built. */
export const { action, report } = createRowBuilders([]);

const RESOURCE_METHODS = {
  list: 'GET',
  create: 'POST',
  get: 'GET',
  update: 'PUT',
  remove: 'DELETE',
} as const;
export type Verb = keyof typeof RESOURCE_METHODS;

/** Things with an id that are listed, made, read, changed and removed; the verbs without a summary do not exist. */
export function resource(
  itemPath: `/${string}`,
  summaries: Readonly<Partial<Record<Verb, string>>>,
  implementations: Readonly<Partial<Record<Verb, Implementation>>> = {},
): OperationRow[] {
  const listPath = itemPath.slice(0, itemPath.lastIndexOf('/'));
  return (Object.keys(summaries) as Verb[]).map((verb) => {
    const path = verb === 'list' || verb === 'create' ? listPath : itemPath;
    return row(
      'resource',
      `${RESOURCE_METHODS[verb]} ${path}` as OperationRoute,
      summaries[verb]!,
      implementations[verb],
    );
  });
}

/** One value that is read and replaced. */
export function setting(
  path: `/${string}`,
  summaries: { get: string; set: string },
  implementations: { get?: Implementation; set?: Implementation } = {},
): OperationRow[] {
  return [
    row('setting', `GET ${path}`, summaries.get, implementations.get),
    row('setting', `PUT ${path}`, summaries.set, implementations.set),
  ];
}

function row(
  shape: Shape,
  route: OperationRoute,
  summary: string,
  implementation: Implementation | undefined,
): OperationRow {
  const [method, path] = route.split(' ') as [Method, string];
  return { shape, method, path, summary, ...(implementation ? { implementation } : {}) };
}

export function jsonBody<S extends TSchema>(schema: S, required = true): BodySpec<S> {
  return { schema, mediaTypes: ['application/json'], required };
}

/** Members whose numbers keep all digits: codes of domains may be integers beyond 2^53. */
const EXACT_MEMBERS = ['code'];

/** The operations of a group, ready for the dispatcher. */
export function createAdminOperations(
  about: OperationGroup,
  deps: AdminDeps,
  runs: RunServices,
): AdminOperation[] {
  const turns = new ResourceTurns();
  return about.rows.map((one) => buildOperation(about, one, deps, runs, turns));
}

function buildOperation(
  about: OperationGroup,
  row: OperationRow,
  deps: AdminDeps,
  runs: RunServices,
  turns: ResourceTurns,
): AdminOperation {
  const { shape, method, path, summary, implementation } = row;
  const reads = shape === 'report' || method === 'GET';
  const common = {
    id: `admin.${camel(about.scope)}.${camel(summary)}`,
    method,
    path: BASE_PATH + path,
    surface: 'admin',
    protocol: 'Admin',
    summary,
    tag: about.tag,
    formats: [],
    permission: `admin:${about.scope}:${reads ? 'read' : 'write'}`,
    audited: !reads,
    repeatable: !reads && method === 'POST',
    shape,
    scope: about.scope,
    ...(about.correlates ? { correlates: true } : {}),
  } as const;
  if (!implementation) return { ...common, ...reserved(method, path, summary) };
  const { description, params, body, errors, socket = false, open = false } = implementation;
  const { takesSessionOfPrograms = false, exports = false } = implementation;
  const envelope = implementation.envelope ?? about.envelope;
  return {
    ...common,
    // A stored response is not repeated for an anonymous request (sign-in), because each caller must get a new session.
    ...(open ? { permission: 'public', repeatable: false } : {}),
    description,
    params: params ?? {},
    body: body && { exactMembers: EXACT_MEMBERS, ...body, bindsAnyCase: true, refusesRounding: true },
    responses: { ...collectResponses(implementation, envelope), ...errorDocs(errors ?? []) },
    built: true,
    ...(exports ? { exports, audited: true } : {}),
    socket,
    takesSessionOfPrograms,
    ...(isChange(method)
      ? { entityTag: implementation.requiresIfMatch ? 'required' : 'checked' }
      : sendsTag(about, row)
        ? { entityTag: 'sent' }
        : {}),
    run: inScope(
      prefixLinks(createRowRun({ group: about, row, implementation, deps, runs }, turns)),
      row.path,
    ),
  };
}

/** Statements of the operation carry the correlation id of its request. */
function inScope(run: Operation['run'], name: string): Operation['run'] {
  return (x) => inRequestScope(new TaskScope(name, x.correlationId), () => run(x));
}

/** A path of the contract that this version does not serve. */
function reserved(method: Method, path: string, summary: string) {
  return {
    params: {},
    responses: errorDocs([501]),
    built: false,
    openQuery: true,
    run(): never {
      throw new ApiError(
        'not-implemented',
        `${summary} (${method} ${BASE_PATH}${path}) is not built. GET /api/v1/admin/capabilities lists the operations that are.`,
      );
    },
  };
}

function collectResponses(
  implementation: Implementation,
  envelope: Envelope,
): Readonly<Record<number, ResponseDoc>> {
  if ('responses' in implementation) return implementation.responses;
  const { data, status = 200 } = implementation;
  if (status === 204) return { 204: { description: 'Done.' } };
  return {
    [status]: { description: 'Success.', content: { 'application/json': dataSchema(data, envelope) } },
  };
}

/** `List Admin API Keys` -> `listAdminApiKeys`. */
function camel(words: string): string {
  return words
    .split(/[^A-Za-z0-9]+/)
    .filter((word) => word !== '')
    .map((word, i) => (i === 0 ? word.toLowerCase() : word[0]!.toUpperCase() + word.slice(1).toLowerCase()))
    .join('');
}
