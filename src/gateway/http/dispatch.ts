import { ApiError, badParameter } from '../../core/errors/errors.js';
import { shorten } from '../../core/errors/field-errors.js';
import { asksForHtml, type Format, HTML_FORMAT, negotiate } from '../../core/http/media.js';
import { formatActor, type Operation, type Principal, type Reply } from '../../core/http/operation.js';
import { compileOnUse } from '../../core/http/schema-check.js';
import type { Pools } from '../../core/tasks/tasks.js';
import { boundedCache } from '../../core/values/bounded-cache.js';
import type { Hold } from '../../core/values/presence.js';
import type { CountedRequest, LimitHeaders } from '../../services/access/rate-limits.js';
import { loggedPath } from '../../services/telemetry/log.js';
import { inSpan } from '../../services/telemetry/spans.js';
import { describeRequest, type RequestAuditor } from './audited-request.js';
import { ACCEPT, type HttpExchange, IDEMPOTENCY_KEY, X_API_KEY } from './exchange.js';
import { Identification, type IdentificationOptions } from './identification.js';
import { optionsReply } from './options.js';
import { requireContentCoding } from './replies/content-coding.js';
import { requireFraming, requireMetExpectation } from './replies/framing.js';
import type { RepeatableRequest } from './requests/idempotency.js';
import { type ParamPlan, parseQuery, planParams, readParams } from './requests/query.js';
import { readAuthorization } from './requests/request-credentials.js';
import { type Match, Router } from './router.js';
import { type BodyReader, bodyReader } from './validation.js';

export interface DispatchOptions extends IdentificationOptions {
  operations: readonly Operation[];
  /** Pools that parse large bodies. */
  pools: Pick<Pools, 'run'>;
  audit: RequestAuditor;
  /** Why what is written now would be lost; absent or undefined: it is kept. */
  lost?(): string | undefined;
  /** Why a change could not be recorded for want of room; absent or undefined: it can. */
  full?(): string | undefined;
  /** Counts a request; absent: there are no limits. See `RateLimits.count`. */
  count?(request: CountedRequest): LimitHeaders | Promise<LimitHeaders> | undefined;
  /** See `Pauses.current`. Default: no cached values are outdated. */
  current?(): Promise<void> | undefined;
  /** See `Pauses.currentForChanges`. */
  currentForChanges?(): Promise<void> | undefined;
  /** Carries out requests with an Idempotency-Key. */
  once(request: RepeatableRequest, work: (hold?: Hold) => Promise<Reply>): Promise<Reply>;
}

/** An operation with everything that can be prepared at start. */
interface PreparedOperation {
  readonly operation: Operation;
  readonly plan: ParamPlan;
  readonly readBody: BodyReader | undefined;
}

/**
 * Cached target (path and query). Clients often repeat requests, so everything that does not depend on headers is
 * computed once. Parameters are shared, so handlers must not change them.
 */
interface Target {
  readonly prepared: PreparedOperation;
  readonly params: HttpExchange['params'];
  /** Value of the `f` parameter. */
  readonly f: string | undefined;
  /** Accept header of the last request, and the negotiated format. */
  accept: string | undefined;
  format: Format;
  /** The handlers' own: this is `Exchange.memo`. */
  value: unknown;
  readonly plainPath: boolean;
}

/** Maximum cached targets, and maximum length of one. */
const MAX_TARGETS = 8192;
const MAX_TARGET_LENGTH = 512;

/**
 * Processes a request in fixed steps: route, authenticate, authorise, parse parameters, negotiate, read the body,
 * run. It remains synchronous while each step is, as a cached tile requires.
 */
export class Dispatcher {
  readonly #router: Router;
  readonly #prepared = new Map<Operation, PreparedOperation>();
  readonly #targets = boundedCache<string, Target>(MAX_TARGETS);
  readonly #identification: Identification;
  readonly #options: DispatchOptions;

  constructor(options: DispatchOptions) {
    this.#options = options;
    this.#identification = new Identification(options);
    this.#router = new Router(options.operations);
    for (const operation of options.operations) {
      const readBody = findReader(operation, options.pools);
      this.#prepared.set(operation, { operation, plan: planParams(operation), readBody });
    }
  }

  /** Paths that may become WebSockets. */
  get socketPaths(): string[] {
    return this.#options.operations.filter(({ socket }) => socket).map(({ path }) => path);
  }

  dispatch(x: HttpExchange): Reply | Promise<Reply> {
    const target = x.hasBody ? undefined : this.#targets.get(formatTarget(x));
    if (!target || x.method === 'OPTIONS') return this.#dispatchNew(x);
    x.operation = target.prepared.operation;
    const admitted = this.#enter(x);
    return admitted ? admitted.then(() => this.#resume(x, target)) : this.#resume(x, target);
  }

  #dispatchNew(x: HttpExchange): Reply | Promise<Reply> {
    requireFraming(x);
    if (x.hasBody) requireMetExpectation(x);
    const match = this.#router.find(x.path);
    if (!match) throw this.#unknownPath(x.path);
    if (x.method === 'OPTIONS') return this.#replyWithOptions(x, match);
    const method = x.method === 'HEAD' ? 'GET' : x.method;
    const operation = match.route.methods.get(method as Operation['method']);
    if (!operation) {
      throw new ApiError(
        'method-not-allowed',
        `${x.method}: is not a method of ${shorten(x.path, 200)}. Use ${match.route.allow}.`,
        {
          headers: { allow: match.route.allow },
        },
      );
    }
    x.operation = operation;
    const prepared = this.#prepared.get(operation)!;
    const admitted = this.#enter(x);
    return admitted ? admitted.then(() => this.#admit(x, prepared, match)) : this.#admit(x, prepared, match);
  }

  #unknownPath(path: string): ApiError {
    const near = this.#router.suggestPath(path);
    const advice =
      near === undefined ? 'The document at / links to all APIs.' : `Did you mean '${shorten(near, 200)}'?`;
    return new ApiError('not-found', `The path '${shorten(path, 200)}' does not exist. ${advice}`);
  }

  /** Responds to OPTIONS: without credentials for the path (preflight of a browser), otherwise for the caller. */
  #replyWithOptions(x: HttpExchange, match: Match): Reply | Promise<Reply> {
    if (x.header('access-control-request-method') !== undefined) return optionsReply(match);
    const [first] = match.route.methods.values();
    x.operation = { ...first!, permission: 'public', ownCredentials: false };
    const reply = () =>
      optionsReply(match, (operation) => this.#identification.mayRun(operation, x.principal), x.principal);
    const entered = this.#enter(x);
    return entered ? entered.then(reply) : reply();
  }

  /**
   * Authenticates and authorises the caller and applies rate limits. Returns a promise only if this requires waiting.
   */
  #enter(x: HttpExchange): Promise<void> | undefined {
    // Orchestrators request the liveness probe independent of all other state.
    const isProbe = x.operation.surface === 'operations' && x.operation.permission === 'public';
    const waits = isProbe ? undefined : this.#options.current?.();
    if (!waits) return this.#enterNow(x);
    x.detach();
    return waits.then(() => this.#enterNow(x));
  }

  #enterNow(x: HttpExchange): Promise<void> | undefined {
    const identified = this.#identification.identify(x);
    return identified ? identified.then(() => this.#count(x)) : this.#count(x);
  }

  #count(x: HttpExchange): Promise<void> | undefined {
    const { count } = this.#options;
    // Probes and scrapes are periodic requests of the operator.
    if (!count || x.operation.surface === 'operations') return undefined;
    const limits = count(x);
    if (!(limits instanceof Promise)) {
      x.limits = limits;
      return undefined;
    }
    x.detach();
    return limits.then((headers) => {
      x.limits = headers;
    });
  }

  #resume(x: HttpExchange, target: Target): Reply | Promise<Reply> {
    const { operation } = target.prepared;
    const accept = target.f === undefined ? x.headerOf(ACCEPT) : target.accept;
    if (accept !== target.accept && operation.formats.length > 0) {
      target.format = negotiate(undefined, accept, operation.formats);
      target.accept = accept;
    }
    x.format = target.format;
    x.params = target.params;
    x.memo = target;
    x.plainPath = target.plainPath;
    return this.#run(x, operation);
  }

  #admit(x: HttpExchange, prepared: PreparedOperation, match: Match): Reply | Promise<Reply> {
    const { operation, plan } = prepared;
    const query = parseQuery(x.query, plan.repeatable, plan.open);
    query.delete('embed_key');
    const f = query.get('f');
    if (operation.formats.length > 0) {
      // Operations with formats negotiate by `f` or Accept. A change with one response format ignores Accept, which
      // clients often set by habit.
      const isForced = x.hasBody && operation.formats.length === 1;
      const other = f === undefined ? undefined : operation.describeFormat?.(f, x.path);
      if (other !== undefined) throw badParameter('f', other);
      x.format = negotiate(f, isForced ? undefined : x.headerOf(ACCEPT), operation.formats);
    } else if (f !== undefined && !plan.queryNames.has('f')) {
      // f=json is a habit of clients; it is harmless where there is only one format.
      query.delete('f');
    }
    const hasEmptyFields = asksForPage(x, plan, f) && dropEmptyFields(x, query);
    x.params = readParams(
      plan,
      query,
      (name) => match.values[match.route.names.indexOf(name)],
      (name) => x.header(name),
    ) as HttpExchange['params'];
    // With another Accept header, the same target is not a page, and empty values are errors.
    if (x.hasBody || plan.readsHeaders || hasEmptyFields) x.memo = {};
    else {
      const { params, format, path } = x;
      const accept = f === undefined ? x.headerOf(ACCEPT) : undefined;
      const plainPath = loggedPath(path) === `"${path}"`;
      x.memo = this.#remember(x, { prepared, params, f, accept, format, value: undefined, plainPath });
    }
    if (operation.body?.streamed && operation.takesToken)
      x.identify = async (token) => this.#identifyByToken(x, token);
    if (!prepared.readBody) return this.#run(x, operation);
    x.detach();
    return prepared.readBody(x).then(async (body) => {
      x.body = body;
      await this.#options.current?.();
      const isNamed = operation.takesToken && !operation.ownCredentials;
      const { token } = (isNamed ? (body ?? {}) : {}) as { token?: unknown };
      const identified = this.#identifyByToken(x, token);
      return identified ? identified.then(() => this.#run(x, operation)) : this.#run(x, operation);
    });
  }

  #remember(x: HttpExchange, fresh: Target): Target {
    const target = formatTarget(x);
    if (target.length <= MAX_TARGET_LENGTH) this.#targets.set(target, fresh);
    return fresh;
  }

  /** The caller of a form with a token is known, and counted, only after the form is read. */
  #identifyByToken(x: HttpExchange, token: unknown): Promise<void> | undefined {
    return this.#identification.identifyByToken(x, token)?.then(() => this.#count(x));
  }

  #run(x: HttpExchange, operation: Operation): Reply | Promise<Reply> {
    if (!operation.audited) return this.#runOnce(x, operation);
    // A body that is not being read would be lost with the rejection.
    x.detach();
    const waits = this.#requireRecordable(operation);
    return waits ? waits.then(() => this.#runOnce(x, operation)) : this.#runOnce(x, operation);
  }

  /** Throws or rejects if a change could not be recorded, or if the caller may have lost the permission elsewhere. */
  #requireRecordable({ ownCredentials, exports }: Operation): Promise<void> | undefined {
    // An export changes nothing. Its row is written before its response.
    if (exports) return undefined;
    const lost = this.#options.lost?.();
    if (lost !== undefined) throw new ApiError('unavailable', `The server cannot store changes: ${lost}`);
    // A caller who signs in can be about to free space.
    const full = ownCredentials ? undefined : this.#options.full?.();
    if (full !== undefined)
      throw new ApiError('insufficient-storage', `The server cannot record changes: ${full}.`);
    return this.#options.currentForChanges?.();
  }

  #runOnce(x: HttpExchange, operation: Operation): Reply | Promise<Reply> {
    if (operation.body?.streamed) {
      requireContentCoding(x, ['identity']);
      x.detach();
    }
    const key = operation.repeatable ? x.header(IDEMPOTENCY_KEY) : undefined;
    if (key === undefined) return this.#perform(x, operation);
    const meaning = describeHeaders(x);
    x.detach();
    const request = {
      key,
      principal: formatActor(x.principal),
      // Whoever maps a certificate chooses the id of its principal.
      credential: x.header(X_API_KEY.name) ?? readAuthorization(x) ?? formatCertificate(x.principal),
      target: `${x.method} ${operation.takesToken ? withoutToken(x) : formatTarget(x)}${meaning}`,
      bodyHash: () => x.upload.hash(),
    };
    return this.#options.once(request, async (hold) => {
      x.hold = hold;
      return this.#perform(x, operation);
    });
  }

  #perform(x: HttpExchange, operation: Operation): Reply | Promise<Reply> {
    if (!operation.audited) return this.#runWatched(x, operation);
    const request = describeRequest(x);
    x.detach();
    return this.#options.audit.run(request, async () => runInSpan(x, operation));
  }

  /** Runs an operation that changes nothing, and records its refusal for missing rights. */
  #runWatched(x: HttpExchange, operation: Operation): Reply | Promise<Reply> {
    const fail = (error: unknown): never => {
      if (error instanceof ApiError && (error.status === 401 || error.status === 403))
        this.#options.audit.refused(describeRequest(x), error.status);
      throw error;
    };
    try {
      const reply = runInSpan(x, operation);
      return reply instanceof Promise ? reply.catch(fail) : reply;
    } catch (error) {
      return fail(error);
    }
  }
}

/** Whether the response is an HTML page: of an operation that has one, or of its JSON document. */
function asksForPage(x: HttpExchange, plan: ParamPlan, f: string | undefined): boolean {
  if (x.hasBody) return false;
  if (x.operation.formats.length > 0) return x.format === HTML_FORMAT;
  if (plan.queryNames.has('f')) return false;
  return f === undefined ? asksForHtml(x.headerOf(ACCEPT)) : f === 'html';
}

/** Removes the parameters that a form sends for fields that were left empty. Returns whether there are any. */
function dropEmptyFields(x: HttpExchange, query: Map<string, string>): boolean {
  const parts = x.query.split('&');
  const filled = parts.filter((part) => part !== '' && !/^[^=]*=?$/.test(part));
  if (filled.length === parts.length || x.query === '') return false;
  for (const [name, value] of [...query]) if (value === '') query.delete(name);
  x.query = filled.join('&');
  return true;
}

/** Runs an operation in a span, the parent of its task spans, if the operation does more than one task. */
function runInSpan(x: HttpExchange, operation: Operation): Reply | Promise<Reply> {
  if (!x.span || operation.span === undefined) return operation.run(x);
  const facts = { name: operation.span, attributes: { 'svc.operation': operation.id } };
  return inSpan(x.span, facts, (inner) => {
    x.span = inner;
    return operation.run(x);
  });
}

function findReader({ body }: Operation, pools: DispatchOptions['pools']): BodyReader | undefined {
  if (!body || body.streamed) return undefined;
  return bodyReader(body, compileOnUse(body.schema), pools);
}

const formatCertificate = ({ kind, claims }: Principal) =>
  kind === 'certificate' ? `certificate ${claims?.['certificate']?.[0]}` : '';

function formatTarget(x: HttpExchange): string {
  return x.query === '' ? x.path : `${x.path}?${x.query}`;
}

/** Headers that change what a body means. */
const MEANINGS = ['content-crs', 'geometry-loss'];

/** Returns the headers of a request that change what its body means; an empty text for most requests. */
function describeHeaders(x: HttpExchange): string {
  return MEANINGS.map((name) => {
    const value = x.header(name);
    return value === undefined ? '' : ` ${name}: ${value}`;
  }).join('');
}

/** Removes secrets from the stored URL of a request. */
function withoutToken(x: HttpExchange): string {
  const query = new URLSearchParams(x.query);
  query.delete('token');
  return `${x.path}?${query}`;
}
