import type { HttpRequest, HttpResponse } from 'uWebSockets.js';
import { type Format, JSON_FORMAT } from '../../core/media.js';
import {
  ANONYMOUS,
  type Exchange,
  type Operation,
  type Params,
  type ParamValues,
  type Principal,
} from '../../core/operation.js';
import { loggedPath } from '../telemetry/log.js';
import type { RequestSpan } from '../telemetry/spans.js';
import { RequestBody } from './body.js';
import type { Upgrade } from './socket.js';

const processTag = Math.floor(Math.random() * 36 ** 6)
  .toString(36)
  .padStart(6, '0');
let counter = 0;

/** Until the target is known. Frozen, so that nothing is ever kept for all targets. */
const NO_MEMO: { value?: unknown } = Object.freeze({});

const CORRELATION = /^[\w.:-]{1,128}$/;

/** Names of headers that every request is asked for, as bytes: the library reads those faster than a string. */
const NAME_BYTES: Readonly<Record<string, ArrayBuffer>> = Object.fromEntries(
  ['x-request-id', 'x-api-key', 'authorization', 'accept', 'accept-encoding', 'if-none-match'].map((name) => [
    name,
    new TextEncoder().encode(name).buffer,
  ]),
);

/**
 * One request and its response. While the request handler runs, headers are read straight from the parser;
 * `detach()` copies them before the first wait, because the parser's buffer is gone afterwards.
 */
export class HttpExchange implements Exchange {
  operation!: Operation;
  params!: ParamValues<Params>;
  memo: { value?: unknown } = NO_MEMO;
  body: unknown;
  format: Format = JSON_FORMAT;
  principal: Principal = ANONYMOUS;
  span: RequestSpan | undefined;
  /** The path as the log writes it; made once for a target that is remembered. */
  #loggedPath: string | undefined;
  aborted = false;
  responded = false;
  /** Called when the connection is lost after `detach`. */
  onGone: (() => void) | undefined;
  readonly startedAt = performance.now();
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly correlationId: string;
  readonly hasBody: boolean;
  #req: HttpRequest | undefined;
  #headers: Map<string, string> | undefined;
  #requestBody: RequestBody | undefined;
  #controller: AbortController | undefined;
  #timings = '';

  constructor(
    readonly res: HttpResponse,
    req: HttpRequest,
    method: string,
    readonly baseUrlOf: (header: (name: string) => string | undefined) => string,
    readonly upgrade: Upgrade | undefined = undefined,
  ) {
    this.#req = req;
    this.method = method;
    this.path = req.getUrl();
    this.query = req.getQuery() ?? '';
    this.hasBody = this.method !== 'GET' && this.method !== 'HEAD' && this.method !== 'OPTIONS';
    const asked = this.header('x-request-id');
    this.correlationId = asked && CORRELATION.test(asked) ? asked : `${processTag}-${counter++}`;
  }

  get upgradable(): boolean {
    return this.upgrade !== undefined;
  }

  get baseUrl(): string {
    return this.baseUrlOf((name) => this.header(name));
  }

  get loggedPath(): string {
    this.#loggedPath ??= loggedPath(this.path);
    return this.#loggedPath;
  }

  set loggedPath(text: string) {
    this.#loggedPath = text;
  }

  /** True until `detach`: the response is corked and nothing has waited yet. */
  get attached(): boolean {
    return this.#req !== undefined;
  }

  header(name: string): string | undefined {
    if (this.#req) return this.#req.getHeader(NAME_BYTES[name] ?? name) || undefined;
    return this.#headers?.get(name);
  }

  /** Makes the exchange safe to use after the handler returned. Idempotent; must run in the handler's own turn. */
  detach(): void {
    const req = this.#req;
    if (!req) return;
    const headers = new Map<string, string>();
    req.forEachHeader((name, value) => headers.set(name, value));
    this.#headers = headers;
    this.#req = undefined;
    this.res.onAborted(() => {
      this.aborted = true;
      this.#requestBody?.abort();
      this.#controller?.abort();
      this.onGone?.();
    });
    if (this.hasBody) this.#requestBody = new RequestBody(this.res);
  }

  get upload(): RequestBody {
    if (!this.#requestBody) throw new Error('this request has no body to read');
    return this.#requestBody;
  }

  /** True when part of the request body has not been taken off the wire: the connection cannot be reused. */
  get bodyUnread(): boolean {
    return this.#requestBody !== undefined && !this.#requestBody.complete;
  }

  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.aborted) this.#controller.abort();
    return this.#controller.signal;
  }

  timing(stage: string, milliseconds: number): void {
    this.#timings += `${this.#timings ? ', ' : ''}${stage};dur=${milliseconds.toFixed(2)}`;
  }

  get serverTiming(): string {
    return this.#timings;
  }
}
