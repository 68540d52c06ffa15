import { performance } from 'node:perf_hooks';
import { type Format, JSON_FORMAT } from '../../core/http/media.js';
import {
  ANONYMOUS,
  type Exchange,
  type Operation,
  type Params,
  type ParamValues,
  type Principal,
  RESPONSE_STAGES,
  type ResponseStage,
} from '../../core/http/operation.js';
import type { Caller } from '../../core/kit/callers.js';
import type { Hold } from '../../core/values/presence.js';
import { requestCaller } from '../../services/access/identity/request-caller.js';
import type { LimitHeaders } from '../../services/access/rate-limits.js';
import type { StageTime, TaskTime } from '../../services/observability/request-records.js';
import type { RequestSpan } from '../../services/telemetry/spans.js';
import { RequestBody } from './requests/body.js';
import { type ForwardedHeaders, peerAddress } from './requests/forwarded-headers.js';
import { countRequest, requestId, requestIdBytes } from './requests/request-id.js';
import type { Upgrade } from './socket.js';
import { clientCertificate, eachHeader, type HttpRequest, type HttpResponse } from './uws.js';

/** Memo until the target is known. Frozen, so that no value is shared by all targets. */
const NO_MEMO: { value?: unknown } = Object.freeze({});

const CORRELATION = /^[\w.:-]{1,128}$/;

/** Header that each request is checked for. The library reads a name given as bytes faster than a string. */
export interface KnownHeader {
  readonly name: string;
  readonly bytes: ArrayBuffer;
}

const header = (name: string): KnownHeader => ({ name, bytes: new TextEncoder().encode(name).buffer });

const X_REQUEST_ID = header('x-request-id');
export const X_API_KEY = header('x-api-key');
export const X_ESRI_AUTHORIZATION = header('x-esri-authorization');
export const AUTHORIZATION = header('authorization');
export const COOKIE = header('cookie');
export const ACCEPT = header('accept');
export const ACCEPT_ENCODING = header('accept-encoding');
export const IF_NONE_MATCH = header('if-none-match');
const CONNECTION_HEADER = header('connection');
const TRACEPARENT = header('traceparent');
const TRACEPARENT_VALUE = /^00-([\da-f]{32})-([\da-f]{16})-[\da-f]{2}$/;

/** The status that metrics and the log have for a request whose client went away before its reply. */
export const CLIENT_GONE = 499;

export const IDEMPOTENCY_KEY = 'idempotency-key';

/** Path of the records of requests in the management API. */
const REQUEST_RECORDS = '/api/v1/admin/observability/requests';

/** Esri's servers have GeoServices below it, and clients of theirs look there. */
const ARCGIS = '/arcgis';
const ARCGIS_PATH = /^\/arcgis\/(?:rest|sharing)(?:\/|$)/;

/**
 * Request with its response. While the request handler runs, headers are read directly from the parser. `detach()`
 * copies them before the first wait, because the buffer of the parser is then invalid.
 */
export class HttpExchange implements Exchange {
  operation!: Operation;
  params!: ParamValues<Params>;
  memo: { value?: unknown } = NO_MEMO;
  body: unknown;
  format: Format = JSON_FORMAT;
  principal: Principal = ANONYMOUS;
  /** The span of the request, and the one that spans of its tasks are children of. */
  requestSpan: RequestSpan | undefined;
  span: unknown;
  /** The span of the request; the span of the caller where the server records none. */
  trace: { readonly traceId: string; readonly spanId: string } | undefined;
  /** Rate limit headers of the response. */
  limits: LimitHeaders | undefined;
  hold: Hold | undefined;
  identify: ((token: string) => Promise<void>) | undefined;
  /** Whether the log can write the path unchanged; known for cached targets. */
  plainPath = false;
  /** Whether the connection remains open after the response. */
  keepAlive = true;
  /** Whether the server closes the connection after the response because it stops. */
  closeAfterReply = false;
  aborted = false;
  /** Whether the server failed, but the response has another status: its body contains the error. */
  hasFailed = false;
  responded = false;
  /** Called when the connection is lost after `detach`. */
  onGone: (() => void) | undefined;
  /** Called when the response is sent. */
  onSent: (() => void) | undefined;
  readonly startedAt = performance.now();
  readonly method: string;
  readonly path: string;
  /** Query string of the request. For a page, without the empty fields of its form. */
  query: string;
  readonly hasBody: boolean;
  #req: HttpRequest | undefined;
  #headers: Map<string, string> | undefined;
  #requestBody: RequestBody | undefined;
  #controller: AbortController | undefined;
  #tasks: Map<string, { ms: number; count: number }> | undefined;
  #stages: Map<ResponseStage, { ms: number; place: string | undefined }> | undefined;
  #peer: string | undefined;
  #caller: Caller | undefined;
  #callerOf: Principal | undefined;
  /** Prefix of the path in links. */
  readonly #prefix: string;
  /** The id that the client gave. */
  readonly #clientId: string | undefined;
  readonly #number: number;

  constructor(
    readonly res: HttpResponse,
    req: HttpRequest,
    method: string,
    readonly forwarding: ForwardedHeaders,
    readonly upgrade: Upgrade | undefined = undefined,
  ) {
    this.#req = req;
    this.method = method;
    const url = req.getUrl();
    // Esri's clients of servers without /arcgis write it so.
    const path = url.startsWith('//rest/') ? url.slice(1) : url;
    this.#prefix = ARCGIS_PATH.test(path) ? ARCGIS : '';
    this.path = path.slice(this.#prefix.length);
    this.query = req.getQuery() ?? '';
    this.hasBody = this.method !== 'GET' && this.method !== 'HEAD' && this.method !== 'OPTIONS';
    this.#number = countRequest();
    const requestId = this.headerOf(X_REQUEST_ID);
    this.#clientId = requestId && CORRELATION.test(requestId) ? requestId : undefined;
  }

  get upgradable(): boolean {
    return this.upgrade !== undefined;
  }

  get baseUrl(): string {
    const peer = this.forwarding.asksForPeer ? this.#peerAddress : '';
    return this.forwarding.baseUrl((name) => this.header(name), peer) + this.#prefix;
  }

  get clientAddress(): string {
    return this.forwarding.clientAddress((name) => this.header(name), this.#peerAddress);
  }

  /** One object as long as the principal stays the same: a token in a form names it late. */
  get caller(): Caller {
    if (this.#callerOf !== this.principal) {
      this.#callerOf = this.principal;
      this.#caller = requestCaller(this.principal, this.clientAddress);
    }
    return this.#caller!;
  }

  /** Whether the connection is from a trusted proxy. */
  get isForwarded(): boolean {
    return this.forwarding.isProxy(this.#peerAddress);
  }

  /** Client certificate (PEM) of the TLS connection; empty without one. */
  get peerCertificate(): string {
    return clientCertificate(this.res);
  }

  /** Empty after the connection is closed, unless it was read before. */
  get #peerAddress(): string {
    this.#peer ??= this.aborted || this.responded ? '' : peerAddress(this.res.getRemoteAddress());
    return this.#peer;
  }

  get correlationId(): string {
    return this.#clientId ?? requestId(this.#number);
  }

  /** The id as bytes, to be copied immediately; undefined for an id of the client. */
  get correlationBytes(): Uint8Array | undefined {
    return this.#clientId === undefined ? requestIdBytes(this.#number) : undefined;
  }

  /** True until `detach`: the response is corked and no wait has occurred. */
  get attached(): boolean {
    return this.#req !== undefined;
  }

  header(name: string): string | undefined {
    // An empty If-Match is a condition that no tag meets; the library reads headers without a value as absent.
    if (this.#req)
      return this.#req.getHeader(name) || (name === 'if-match' ? this.#emptyHeader(name) : undefined);
    return this.#headers?.get(name);
  }

  #emptyHeader(name: string): string | undefined {
    let value: string | undefined;
    this.eachHeader((sent) => {
      if (sent === name) value = '';
    });
    return value;
  }

  /** Same as `header`. */
  headerOf({ name, bytes }: KnownHeader): string | undefined {
    if (this.#req) return this.#req.getHeader(bytes) || undefined;
    return this.#headers?.get(name);
  }

  /** Calls back for each header as sent; only while attached. */
  eachHeader(visit: (name: string, value: string) => void): void {
    if (this.#req) eachHeader(this.#req, visit);
  }

  /** Makes the exchange safe to use after the handler returned. Idempotent; must run in the handler's own turn. */
  detach(): void {
    const req = this.#req;
    if (!req) return;
    const headers = new Map<string, string>();
    eachHeader(req, (name, value) => headers.set(name, value));
    this.#headers = headers;
    if (this.forwarding.asksForPeer) void this.#peerAddress;
    this.#req = undefined;
    this.res.onAborted(() => {
      this.aborted = true;
      this.#requestBody?.abort();
      this.#controller?.abort();
      this.onGone?.();
    });
    if (this.hasBody) this.#requestBody = new RequestBody(this.res);
    if (headers.has(IDEMPOTENCY_KEY)) this.#requestBody?.startHash(headers.get('content-type'));
  }

  get upload(): RequestBody {
    if (!this.#requestBody) throw new Error('this request has no body to read');
    return this.#requestBody;
  }

  /** False when part of the request body has not been taken off the wire, or where it ends is in doubt. */
  get reusable(): boolean {
    if (this.closeAfterReply || !this.keepAlive) return false;
    return this.#requestBody === undefined || this.#requestBody.complete;
  }

  /** Whether the client requested to close the connection after this response (RFC 9112, 9.6). */
  get asksToClose(): boolean {
    return this.headerOf(CONNECTION_HEADER)?.toLowerCase() === 'close';
  }

  /**
   * Stores the span of the caller (W3C Trace Context) for log lines, which are written when headers are no longer
   * available.
   */
  noteTrace(): void {
    const value = this.headerOf(TRACEPARENT);
    if (value === undefined) return;
    const [, traceId, spanId] = TRACEPARENT_VALUE.exec(value) ?? [];
    if (traceId !== undefined) this.trace = { traceId, spanId: spanId! };
  }

  /** The request body, while the client is still sending it. */
  get unreadBody(): RequestBody | undefined {
    return this.keepAlive && !this.#requestBody?.complete ? this.#requestBody : undefined;
  }

  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.aborted) this.#controller.abort();
    return this.#controller.signal;
  }

  /** Ends what still works for the request: it has failed, and other parts of its response are worth nothing. */
  abandon(): void {
    this.#controller?.abort();
  }

  timing(task: string, milliseconds: number): void {
    this.#tasks ??= new Map();
    const found = this.#tasks.get(task);
    if (!found) return void this.#tasks.set(task, { ms: milliseconds, count: 1 });
    found.ms += milliseconds;
    found.count++;
  }

  stage(stage: ResponseStage, milliseconds: number, place?: string): void {
    this.#stages ??= new Map();
    const { ms = 0, place: former } = this.#stages.get(stage) ?? {};
    this.#stages.set(stage, { ms: ms + milliseconds, place: place ?? former });
  }

  /** Tasks of workers that the request waited for, by name. */
  get tasks(): TaskTime[] {
    if (!this.#tasks) return [];
    // `toFixed` is slow.
    return [...this.#tasks].map(([task, { ms, count }]) => ({ task, ms: Math.round(ms * 100) / 100, count }));
  }

  get hasStages(): boolean {
    return this.#stages !== undefined;
  }

  /** Durations of the stages, in the order of the header. */
  get stages(): StageTime[] {
    const stages = this.#stages;
    if (!stages) return [];
    return RESPONSE_STAGES.flatMap((stage) => {
      const found = stages.get(stage);
      return found ? [{ stage, ms: Math.round(found.ms * 10) / 10, place: found.place }] : [];
    });
  }

  /** Value of the header. Only callers with a key receive the stages, and the path of the record of the request. */
  get serverTiming(): string {
    if (!this.#tasks && !this.#stages) return '';
    const entries = this.tasks.map(({ task, ms }) => `${task};dur=${ms}`);
    if (this.#stages && this.caller.class === 'keyed') {
      for (const { stage, ms, place } of this.stages)
        entries.push(`${stage};dur=${ms}${place === undefined ? '' : `;desc="${place}"`}`);
      entries.push(`request;desc="${REQUEST_RECORDS}/${this.correlationId}"`);
    }
    return entries.join(', ');
  }
}
