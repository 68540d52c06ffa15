import type { CatalogSnapshot } from '../../core/catalog/collection.js';
import { notFound } from '../../core/errors/errors.js';
import type { Exchange, Method, Operation, Principal, Reply } from '../../core/http/operation.js';
import { stringifyExactly } from '../../core/values/json.js';
import { isLayerInScope } from '../../services/access/rules/policy.js';
import { requireNoTenant } from '../../services/access/rules/restrictions.js';
import type { SharedTurns } from '../../services/cluster/turns.js';
import { JobContinues } from '../../services/jobs/job-continues.js';
import { BASE_PATH } from './base-path.js';
import { type ResourceTurns, requireMatch, requireTag, type TagReader } from './conditional.js';
import type { AdminDeps } from './deps.js';
import { entityTag, hashTag, isTagged } from './entity-tags.js';
import { wrap } from './envelope.js';
import type { Implementation, OperationGroup, OperationRow } from './kit.js';

/** Services for every row, independent of its group. */
export interface RunServices {
  /** Turns at resources, where other processes may change them as well. */
  readonly turns?: Pick<SharedTurns, 'run'> | undefined;
  /** The collections that are published. */
  catalog(): CatalogSnapshot;
}

/** A row of a group, and what it acts on. */
interface RowContext {
  readonly group: OperationGroup;
  readonly row: OperationRow;
  readonly implementation: Implementation;
  /** The services of all groups; the implementation passes on those it names. */
  readonly deps: AdminDeps;
  readonly runs: RunServices;
}

/** Methods that change one resource, and therefore check If-Match. */
export const isChange = (method: Method) => method === 'PUT' || method === 'PATCH' || method === 'DELETE';

/**
 * Whether a row shows a resource or a list of resources, with its entity tag. Reports of current activity have no
 * entity tag.
 */
export function sendsTag({ rows }: OperationGroup, { method, path, shape }: OperationRow): boolean {
  if (method !== 'GET') return false;
  return shape !== 'report' || rows.some((one) => isChange(one.method) && shownPath(one) === path);
}

/** Path of the GET operation that shows the resource which a row changes. */
const shownPath = ({ path, implementation }: OperationRow) => implementation?.shownBy ?? path;

/**
 * Returns the function that executes a row. It checks If-Match before a change, and sends the entity tag of the
 * response. Documents of the state are compared and changed in one transaction. Settings of layers and styles are
 * serialised only within one gateway process.
 */
export function createRowRun(context: RowContext, turns: ResourceTurns): Operation['run'] {
  const { group, row, implementation, runs } = context;
  const { isForTenants = group.isForTenants ?? false } = implementation;
  const requireOwn = ({ params, principal }: Exchange) => {
    if (!isForTenants) requireNoTenant(principal);
    requireOwnLayer(params, principal, runs);
  };
  if (!isChange(row.method)) {
    const reply = replyMaker(context, undefined);
    return (x) => {
      requireOwn(x);
      const made = reply(x);
      return made instanceof Promise ? made.catch(replyOfContinuedJob) : made;
    };
  }
  const readTag = tagReader(context);
  const reply = replyMaker(context, readTag);
  const change = async (x: Exchange) => {
    if (implementation.requiresIfMatch) await requireTag(x, readTag);
    else await requireMatch(x, readTag);
    return reply(x);
  };
  const inTurn = (resource: string, work: () => Promise<Reply>) =>
    turns.run(resource, () => runs.turns?.run(resource, work) ?? work());
  return async (x) => {
    requireOwn(x);
    // An interrupted upload must not block the one that continues it.
    const done = implementation.body?.streamed
      ? change(x)
      : inTurn(resourceName(shownPath(row), x), () => change(x));
    return done.catch(replyOfContinuedJob);
  };
}

/** Names the resource of a request: the path that shows it, with its parameters. */
function resourceName(path: string, { params }: Exchange): string {
  return path.replace(/\{(\w+)\}/g, (_, name: string) => String((params as Record<string, unknown>)[name]));
}

/** Returns a reader of the entity tag of the resource that a row changes. Undefined if no operation returns it. */
function tagReader({ group, row, implementation, deps }: RowContext): TagReader | undefined {
  const { current } = implementation;
  if (current) return async (x) => entityTag(await current(x as never, deps));
  const shown = group.rows.find((one) => one.method === 'GET' && one.path === shownPath(row))?.implementation;
  if (!shown) return undefined;
  if ('answer' in shown) return async (x) => entityTag(await shown.answer(x as never, deps));
  return async (x) => replyTag(await shown.reply(x as never, deps));
}

/** The entity tag of a complete reply: its `etag`, or the hash of its JSON. */
function replyTag({ status, mediaType, body, etag }: Reply): string | undefined {
  const isJson = status === 200 && /\bjson$/.test(mediaType ?? '');
  return etag ?? (isJson && typeof body === 'string' ? hashTag(body) : undefined);
}

function replyMaker(
  context: RowContext,
  readTag: TagReader | undefined,
): (x: Exchange) => Reply | Promise<Reply> {
  const { implementation, row, deps } = context;
  if ('answer' in implementation) return answerMaker(context, readTag);
  const make = implementation.reply as (x: Exchange, deps: AdminDeps) => Reply | Promise<Reply>;
  if (sendsTag(context.group, row))
    return (x) => {
      const reply = make(x, deps);
      return reply instanceof Promise ? reply.then(withOwnTag) : withOwnTag(reply);
    };
  if (!isChange(row.method)) return (x) => make(x, deps);
  return async (x) => {
    const reply = await make(x, deps);
    return row.method === 'DELETE' || reply.status > 204 ? reply : withTag(reply, await tagAfter(x, readTag));
  };
}

/**
 * The entity tag after a change. The change has succeeded, so an error while reading the tag must not fail the
 * response.
 */
const tagAfter = (x: Exchange, readTag: TagReader | undefined) => readTag?.(x).catch(() => undefined);

const withTag = (reply: Reply, etag: string | undefined): Reply =>
  etag === undefined || reply.etag !== undefined ? reply : { ...reply, etag };
const withOwnTag = (reply: Reply): Reply => withTag(reply, replyTag(reply));

function answerMaker(
  { group, row, implementation, deps }: RowContext,
  readTag: TagReader | undefined,
): (x: Exchange) => Promise<Reply> {
  const { status = 200, answer, location } = implementation as Extract<Implementation, { answer: unknown }>;
  const envelope = implementation.envelope ?? group.envelope;
  const showsItem = sendsTag(group, row) || (row.method !== 'GET' && showsSame(group, row));
  const rereads = row.method === 'PUT' || row.method === 'PATCH';
  return async (x) => {
    const data = await answer(x as never, deps);
    const place = location?.(data as never);
    const headers: Record<string, string> = place === undefined ? {} : { location: BASE_PATH + place };
    const isShown = showsItem || (row.method !== 'GET' && isTagged(data));
    const etag = rereads ? await tagAfter(x, readTag) : isShown ? entityTag(data) : undefined;
    if (status === 204) return withTag({ status, headers }, etag);
    const body = stringifyExactly(wrap(data, envelope));
    return withTag({ status, mediaType: 'application/json', body, headers }, etag);
  };
}

/**
 * Whether the response of a row is the view that a GET of the same resource, of its items or of its parent returns.
 */
function showsSame({ rows }: OperationGroup, { path, implementation }: OperationRow): boolean {
  const shows = (one: OperationRow) =>
    one.path === path ||
    one.path === formatParent(path) ||
    (formatParent(one.path) === path && one.path.endsWith('}'));
  const findDataSchema = (one: Implementation | undefined) => (one && 'answer' in one ? one.data : undefined);
  return rows.some(
    (one) =>
      one.method === 'GET' &&
      shows(one) &&
      one.implementation !== undefined &&
      findDataSchema(one.implementation) === findDataSchema(implementation),
  );
}

const formatParent = (path: string) => path.slice(0, path.lastIndexOf('/'));

/** The reply to a request whose job outlives it: 201 and where the job is. Throws everything else. */
function replyOfContinuedJob(error: unknown): Reply {
  if (!(error instanceof JobContinues)) throw error;
  const { jobId } = error;
  const statusUrl = `${BASE_PATH}/jobs/${jobId}`;
  const message =
    'The server is stopping. The job continues after its next start; no step after it was started.';
  const body = JSON.stringify({ jobId, statusUrl, message });
  return { status: 201, mediaType: 'application/json', headers: { location: statusUrl }, body };
}

/** Throws `not-found` where the path names a layer that does not exist for the caller, as one of another tenant. */
function requireOwnLayer(params: object, principal: Principal, { catalog }: RunServices): void {
  const { layerId } = params as { layerId?: unknown };
  if (principal.layers === undefined || typeof layerId !== 'number') return;
  const collection = catalog().byLayerId(layerId);
  if (collection && !isLayerInScope(principal, collection)) throw notFound('layer', String(layerId));
}
