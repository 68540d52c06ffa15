import { ApiError } from '../../core/errors/errors.js';
import { asksForHtml } from '../../core/http/media.js';
import type { Exchange, Param, Reply } from '../../core/http/operation.js';
import {
  geoServicesPage,
  type OperationForm,
  type OperationOutcome,
} from '../pages/geoservices/operation-page.js';
import { sitePath } from '../pages/layout.js';
import { createPageReply } from '../pages/page-reply.js';
import type { Members } from './members.js';

/** Operations that need no parameters: their page has the form and the response. */
const WITHOUT_PARAMETERS: ReadonlySet<string> = new Set([
  'queryDomains',
  'legend',
  'statistics',
  'keyProperties',
]);

/** Media types of the images that `export` and `exportImage` return for `f=image`. */
const IMAGE = /^image\/(png|jpeg|webp)/;

interface FormSpec {
  readonly path: string;
  readonly summary: string;
  readonly params: Readonly<Record<string, Param<string | undefined>>>;
}

/** Whether a browser requests an operation that has a form. */
export function wantsForm(x: Exchange, { path, params }: FormSpec): boolean {
  if (path.endsWith('}') || Object.keys(params).length === 0) return false;
  const f = new URLSearchParams(x.query).get('f') ?? 'html';
  return (f === 'html' || f === '') && x.method === 'GET' && asksForHtml(x.header('accept'));
}

/** Parameters of a request that are not values of the form. */
const OTHERS: ReadonlySet<string> = new Set(['f', 'token']);

/** The form of an operation, with the response to its parameters. Executes only requests with parameters. */
export async function createFormReply(
  x: Exchange,
  spec: FormSpec,
  members: Members,
  run: (members: Members) => Reply | Promise<Reply>,
): Promise<Reply> {
  const verb = spec.path.slice(spec.path.lastIndexOf('/') + 1);
  const values = Object.fromEntries(
    Object.entries(members).filter(([name, value]) => !OTHERS.has(name) && value !== ''),
  );
  const isSent = Object.keys(values).length > 0 || WITHOUT_PARAMETERS.has(verb);
  const form: OperationForm = { verb, summary: spec.summary, params: Object.values(spec.params), values };
  if (!isSent) return createPageReply(geoServicesPage(x, form, { kind: 'none' }));
  const { f: _, ...rest } = members;
  try {
    const reply = await run('format' in spec.params && /^export/.test(verb) ? { ...rest, f: 'image' } : rest);
    const outcome = await readOutcome(x, reply);
    if (!outcome) return reply;
    return withoutStore(createPageReply(geoServicesPage(x, form, outcome)), 200);
  } catch (error) {
    if (!(error instanceof ApiError) || error.status >= 500 || error.status === 401 || error.status === 403)
      throw error;
    const { message, errors = [], status } = error;
    return withoutStore(
      createPageReply(geoServicesPage(x, form, { kind: 'error', message, errors })),
      status,
    );
  }
}

/** Responses of operations have no entity tag. */
function withoutStore({ etag: _, ...reply }: Reply, status: number): Reply {
  return { ...reply, status, cacheControl: 'no-store' };
}

async function readOutcome(x: Exchange, reply: Reply): Promise<OperationOutcome | undefined> {
  const { body, mediaType = '', encoding, status } = reply;
  if (status !== 200 || encoding !== undefined) return undefined;
  if (IMAGE.test(mediaType)) {
    const query = new URLSearchParams(x.query);
    query.set('f', 'image');
    return { kind: 'image', href: `${sitePath(x.baseUrl)}${x.path}?${query}` };
  }
  if (!/json/.test(mediaType)) return undefined;
  if (typeof body === 'string') return { kind: 'json', json: body };
  return body instanceof Uint8Array ? { kind: 'json', json: Buffer.from(body).toString() } : undefined;
}
