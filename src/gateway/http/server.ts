import { performance } from 'node:perf_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import { type ApiError, ApiError as Failure } from '../../core/errors/errors.js';
import type { Operation, Reply } from '../../core/http/operation.js';
import { LIMITS } from '../../core/kit/limits.js';
import type { CertificateFiles } from '../../services/kit/certificate.js';
import type { LatencyRecorder, LatencySums } from '../../services/observability/latency/latencies.js';
import type { Observer } from '../../services/observability/observer.js';
import { type RequestRecords, SLOW_REQUEST_MS } from '../../services/observability/request-records.js';
import type { Share } from '../../services/telemetry/instruments.js';
import { exception, isUnavailable, type Log, type RequestKind } from '../../services/telemetry/log.js';
import * as metrics from '../../services/telemetry/metrics.js';
import { startRequestSpan } from '../../services/telemetry/spans.js';
import type { Dispatcher } from './dispatch.js';
import { CLIENT_GONE, HttpExchange } from './exchange.js';
import { type BrowserPages, browserProblem, browserReply, wantsErrorPage } from './replies/browser-reply.js';
import { asApiError, problemReply } from './replies/problem.js';
import { sendToHttps } from './replies/redirect.js';
import { sendReply } from './replies/reply.js';
import type { ForwardedHeaders } from './requests/forwarded-headers.js';
import { nameReceived, suggestParameter, valueInRequest } from './requests/received-value.js';
import { acceptSockets, type Upgrade } from './socket.js';
import { errorOperation, spanAttributes } from './span-attributes.js';
import {
  closeListener,
  createApp,
  getSocketPort,
  type HttpRequest,
  type HttpResponse,
  type TemplatedApp,
  type us_listen_socket,
} from './uws.js';

export interface HttpServerOptions {
  dispatcher: Dispatcher;
  forwarding: ForwardedHeaders;
  log: Log;
  /** Host of problem type URIs. */
  vendor: string;
  /** Files of the TLS certificate. Default: plain HTTP. */
  certificate?: CertificateFiles;
  /** Says failures of requests that no operation takes, where that is not by a problem document. */
  strayFailure?(x: HttpExchange, error: ApiError): Reply | undefined;
  /** Records requests that failed. */
  observer?: Pick<Observer, 'noteFailure'>;
  /** Records slow requests, and requests of callers with a key. */
  records?: Pick<RequestRecords, 'keeps' | 'note'>;
  /** Counts the latency of requests. */
  latency?: Pick<LatencyRecorder, 'cell'>;
  /** HTML pages for JSON documents and errors in browsers. Default: JSON. */
  pages?: BrowserPages;
}

/** Milliseconds in which idle connections can still get a response during the stop. */
const LINGER_MS = 200;
const RETRY_SECONDS = '5';

/** Maximum certificates with open connections. */
const MAX_APPS = 3;

function listenOn(app: TemplatedApp, host: string, port: number): Promise<us_listen_socket> {
  return new Promise((resolve, reject) => {
    app.listen(host, port, (socket) => {
      if (socket) resolve(socket);
      else reject(new Error(`cannot listen on ${host}:${port}`));
    });
  });
}

/** The cells one operation's requests are counted in, by status code. */
interface Cells {
  kind: RequestKind;
  duration: ReturnType<typeof metrics.httpRequestDuration.cell>;
  total: ReturnType<typeof metrics.httpRequests.cell>;
  serving: ReturnType<typeof metrics.servingDuration.cell>;
  /** Undefined: the duration is that of a connection. */
  latency: LatencySums | undefined;
  isError: boolean;
}

/** The HTTP server: the only place that knows the socket library. */
export class HttpServer {
  /** The current app, and with TLS the apps with connections under earlier certificates. */
  readonly #apps = new Set<TemplatedApp>();
  readonly #options: HttpServerOptions;
  readonly #cells = new Map<Operation | undefined, Map<number, Cells>>();
  #last: { operation: Operation | undefined; cells: Cells } | undefined;
  readonly #active = metrics.httpActive.cell();
  #listening: { socket: us_listen_socket; host: string; port: number } | undefined;
  #redirect: { app: TemplatedApp; socket: us_listen_socket } | undefined;
  #idle: (() => void) | undefined;
  /** Requests in progress that did not complete in their event-loop iteration. */
  readonly #inFlight = new Set<HttpExchange>();
  #refuses = false;
  /** Made once, not once a request. */
  readonly #sent = (x: HttpExchange, status: number, bytes: number, error?: unknown) => {
    if (error !== undefined) this.#report(x, asApiError(error));
    this.#finish(x, status, bytes);
  };
  readonly #failure = (x: HttpExchange, error: unknown) => this.#fail(x, error);

  constructor(options: HttpServerOptions) {
    this.#options = options;
  }

  /** Resolves with the port. Several processes may share one. */
  async listen(host: string, port: number): Promise<number> {
    const app = this.#newApp();
    const socket = await listenOn(app, host, port);
    const own = getSocketPort(socket);
    this.#listening = { socket, host, port: own };
    return own;
  }

  /**
   * Uses the current certificate files for new connections; open connections keep their certificate. Rejects and
   * keeps the previous certificate on failure.
   */
  async renewCertificate(): Promise<void> {
    const { socket, host, port } = this.#listening!;
    const app = this.#newApp();
    try {
      const next = await listenOn(app, host, port);
      this.#listening = { socket: next, host, port };
    } catch (error) {
      this.#apps.delete(app);
      throw error;
    }
    closeListener(socket);
    const [oldest] = this.#apps;
    if (this.#apps.size > MAX_APPS && oldest) {
      this.#apps.delete(oldest);
      oldest.close();
    }
  }

  /** Sends who comes by plain HTTP to another port over to HTTPS. */
  async redirectFrom(host: string, port: number): Promise<void> {
    const app = createApp();
    app.any('/*', (res, req) => sendToHttps(res, req, this.#listening!.port));
    this.#redirect = { app, socket: await listenOn(app, host, port) };
  }

  #newApp(): TemplatedApp {
    const { dispatcher, log, certificate } = this.#options;
    const app = createApp(certificate);
    this.#apps.add(app);
    for (const path of dispatcher.socketPaths) {
      acceptSockets(app, path, {
        apps: this.#apps,
        serve: (res, req, upgrade) => this.#serve(res, req, 'GET', upgrade),
        fault: (error) => log.write('http.frame.failed', exception(error)),
      });
    }
    // Most requests: their method need not be asked for.
    app.get('/*', (res, req) => this.#serve(res, req, 'GET'));
    app.any('/*', (res, req) => this.#serve(res, req, req.getCaseSensitiveMethod()));
    return app;
  }

  /** Accepts no connection from now on, and answers new requests on those that are open with 503. */
  refuse(): void {
    if (this.#refuses) return;
    this.#refuses = true;
    if (this.#redirect) {
      closeListener(this.#redirect.socket);
      this.#redirect.app.close();
    }
    if (this.#listening) closeListener(this.#listening.socket);
    this.#listening = undefined;
    for (const x of this.#inFlight) x.closeAfterReply = true;
  }

  /** Waits up to `graceMs` for requests in progress, responds to the rest with 503, then closes all connections. */
  async close(graceMs: number): Promise<void> {
    this.refuse();
    if (this.#active.value > 0) {
      await Promise.race([
        new Promise<void>((resolve) => {
          this.#idle = resolve;
        }),
        pause(graceMs, undefined, { ref: false }),
      ]);
    }
    for (const x of this.#inFlight) if (!x.responded) this.#fail(x, unfinishedError(x));
    await pause(LINGER_MS);
    for (const app of this.#apps) app.close();
  }

  #serve(res: HttpResponse, req: HttpRequest, method: string, upgrade?: Upgrade): void {
    const x = new HttpExchange(res, req, method, this.#options.forwarding, upgrade);
    this.#active.value++;
    x.requestSpan = startRequestSpan(x);
    x.span = x.requestSpan;
    if (x.requestSpan) x.trace = x.requestSpan;
    else x.noteTrace();
    try {
      if (this.#refuses) {
        x.closeAfterReply = true;
        // A response in this iteration would keep its connection open.
        x.detach();
        throw stoppingError('The server is stopping. Send the request again.');
      }
      if (x.path.length + x.query.length > LIMITS.urlBytes) {
        throw new Failure(
          'uri-too-long',
          `The request line is too long. The limit is ${LIMITS.urlBytes} bytes. Send long parameters by POST.`,
        );
      }
      const reply = this.#options.dispatcher.dispatch(x);
      if (reply instanceof Promise) {
        x.detach();
        this.#inFlight.add(x);
        reply.then(
          (ready) => {
            this.#inFlight.delete(x);
            if (x.responded) ready.sent?.();
            else this.#answer(x, ready);
          },
          (error: unknown) => {
            this.#inFlight.delete(x);
            if (!x.responded) this.#fail(x, error);
          },
        );
      } else {
        this.#answer(x, reply);
      }
    } catch (error) {
      this.#fail(x, error);
    }
  }

  #answer(x: HttpExchange, reply: Reply): void {
    const { pages } = this.#options;
    this.#send(x, presentReply(x, pages && !x.aborted ? browserReply(x, reply, pages) : reply));
  }

  #send(x: HttpExchange, made: Reply): void {
    const reply = correlatedReply(x, made);
    if (x.unreadBody) void x.unreadBody.drop().then(() => this.#write(x, reply));
    else this.#write(x, reply);
  }

  #write(x: HttpExchange, reply: Reply): void {
    if (x.aborted) return this.#finish(x, CLIENT_GONE, 0);
    x.onSent = reply.sent;
    try {
      sendReply(x, reply, this.#sent, this.#failure);
    } catch (error) {
      this.#options.log.write('http.response.failed', { ...this.#about(x), ...exception(error) });
      if (!x.aborted) x.res.close();
      // The library can still read the body.
      x.onSent = undefined;
      this.#finish(x, 500, 0);
    }
  }

  #fail(x: HttpExchange, thrown: unknown): void {
    // The client disconnected, so a failure of its work is not an error.
    if (x.aborted) return this.#finish(x, CLIENT_GONE, 0);
    x.abandon();
    const { operation } = x as { operation: Operation | undefined };
    const error = suggestParameter(
      nameReceived(asApiError(thrown), (name) => valueInRequest(x, operation, name)),
      operation,
    );
    if (error.status >= 500 && error.code !== 'not-implemented') this.#report(x, error);
    else this.#noteFailure(x, error.status, error.message);
    const inBand = operation ? operation.failure?.(error, x) : this.#options.strayFailure?.(x, error);
    metrics.requestErrors
      .cellIn(
        chooseShare(operation, error.status),
        serviceType(operation),
        errorOperation(operation),
        String(error.status),
        String(inBand !== undefined),
      )
      .inc();
    const { vendor, pages } = this.#options;
    if (inBand) {
      x.hasFailed = isServerError(error.status);
      const isPage = pages && wantsErrorPage(x);
      return this.#send(x, isPage ? browserProblem(x, error, inBand, pages) : presentReply(x, inBand));
    }
    const { path, correlationId, baseUrl } = x;
    const reply = problemReply(error, { surface: operation?.surface, path, correlationId, vendor, baseUrl });
    this.#send(x, pages ? browserProblem(x, error, reply, pages) : reply);
  }

  #report(x: HttpExchange, error: ApiError): void {
    const cause = error.cause instanceof Error ? error.cause : undefined;
    if (error.code === 'internal') {
      metrics.applicationErrors
        .cell(cause?.name ?? 'Error', errorOperation(x.operation), serviceType(x.operation))
        .inc();
    }
    const hidden = (cause as { cause_?: string } | undefined)?.cause_;
    const about = {
      ...this.#about(x),
      Code: error.code,
      StatusCode: error.status,
      // Expected errors do not need a stack, except a stack that a worker added.
      ...(error.code === 'internal' ? exception(error.cause ?? error) : hidden ? { '@x': hidden } : {}),
    };
    const message = cause?.message ?? error.message;
    const event = isUnavailable(error.status) ? 'http.request.unavailable' : 'http.request.failed';
    this.#options.log.write(event, about, message);
    this.#noteFailure(x, error.status, message);
  }

  #noteFailure(
    { path, correlationId, principal, clientAddress }: HttpExchange,
    statusCode: number,
    message: string,
  ) {
    this.#options.observer?.noteFailure({
      ...{ statusCode, path, message, correlationId, actor: principal.id, remoteIp: clientAddress },
    });
  }

  /** Request properties for log lines. */
  #about(x: HttpExchange) {
    const { trace } = x;
    const operation = (x.operation as Operation | undefined)?.id ?? 'unknown';
    return {
      CorrelationId: x.correlationId,
      Operation: operation,
      Path: x.path,
      ...(trace ? { '@tr': trace.traceId, '@sp': trace.spanId } : {}),
    };
  }

  #finish(x: HttpExchange, status: number, bytes: number): void {
    this.#active.value--;
    const { onSent } = x;
    if (onSent) {
      x.onSent = undefined;
      onSent();
    }
    const now = performance.now();
    const durationMs = now - x.startedAt;
    const operation = x.operation as Operation | undefined;
    const cells = this.#cellsOf(operation, x.method, status);
    cells.duration.observe(durationMs);
    cells.total.inc();
    cells.serving.observe(durationMs);
    cells.latency?.record(durationMs, cells.isError || x.hasFailed);
    if (x.requestSpan) {
      const { span } = x.requestSpan;
      span.setAttributes(spanAttributes(x, operation, { status, durationMs }));
      span.end();
    }
    // The duration of a stream is that of its connection.
    if (cells.latency) this.#noteRequest(x, cells.kind, durationMs, bytes);
    this.#options.log.request(cells.kind, x, now, durationMs, bytes);
    if (this.#idle && this.#active.value === 0) this.#idle();
  }

  #noteRequest(x: HttpExchange, kind: RequestKind, durationMs: number, bytes: number): void {
    const { records } = this.#options;
    if (!records) return;
    const isKeyed = (x.hasStages || durationMs >= SLOW_REQUEST_MS) && x.caller.class === 'keyed';
    if (!records.keeps({ durationMs, isKeyed, hasStages: x.hasStages })) return;
    const { correlationId: requestId, trace, path, principal, tasks, stages } = x;
    const { method, operation, protocol, status: statusCode } = kind;
    records.note({
      ...{ requestId, traceId: trace?.traceId, method, path, operation, protocol, statusCode },
      ...{ durationMs, bytes, actor: principal.id, isKeyed, tasks, stages },
    });
  }

  #cellsOf(operation: Operation | undefined, method: string, status: number): Cells {
    // Requests of one kind come in runs.
    const last = this.#last;
    if (last && last.operation === operation && last.cells.kind.status === status) return last.cells;
    const cells = this.#findCells(operation, method, status);
    this.#last = { operation, cells };
    return cells;
  }

  #findCells(operation: Operation | undefined, method: string, status: number): Cells {
    let byStatus = this.#cells.get(operation);
    if (!byStatus) this.#cells.set(operation, (byStatus = new Map()));
    // One operation has one method; HEAD shares GET's cells. Unknown paths are counted together.
    let cells = byStatus.get(status);
    if (!cells) {
      const endpoint = operation?.path ?? 'unmatched';
      const verb = operation?.method ?? (method.length <= 7 ? method : 'OTHER');
      const code = String(status);
      const share = chooseShare(operation, status);
      cells = {
        kind: {
          method: verb,
          status,
          protocol: operation?.protocol ?? 'Unknown',
          operation: operation?.id ?? 'unknown',
          quiet: operation?.quiet ?? false,
        },
        duration: metrics.httpRequestDuration.cellIn(share, verb, endpoint, code),
        total: metrics.httpRequests.cellIn(share, verb, endpoint, code),
        serving: metrics.servingDuration.cellIn(
          share,
          operation?.protocol ?? 'Unknown',
          operation?.id ?? 'unknown',
          `${code[0]}xx`,
        ),
        latency: isStream(operation)
          ? undefined
          : this.#options.latency?.cell(operation?.protocol ?? 'Unknown'),
        isError: isServerError(status),
      };
      byStatus.set(status, cells);
    }
    return cells;
  }
}

/** Operations that are not built return 501, which is not a failure. */
const isServerError = (status: number) => status >= 500 && status !== 501;

/** Whether responses last as long as their connections. */
function isStream(operation: Operation | undefined): boolean {
  if (operation === undefined) return false;
  const contents = Object.values(operation.responses).flatMap(({ content }) => Object.keys(content ?? {}));
  return contents.includes('text/event-stream');
}

function stoppingError(detail: string): Failure {
  return new Failure('unavailable', detail, { headers: { 'retry-after': RETRY_SECONDS } });
}

/** The failure of a request that the server could not finish before it stops. */
function unfinishedError({ operation }: HttpExchange): Failure {
  if (!(operation as Operation | undefined)?.audited)
    return stoppingError('The server is stopping, and could not finish the request. Send it again.');
  return stoppingError(
    'The server is stopping, and could not finish the request. Check whether it took effect before you send it again.',
  );
}

const REFUSALS: ReadonlySet<number> = new Set([401, 403, 429]);

/** Label set group of a request, because anonymous requests must not use up the label sets of served requests. */
function chooseShare(operation: Operation | undefined, status: number): Share {
  if (operation === undefined || REFUSALS.has(status)) return 'refused';
  if (operation.surface === 'admin') return 'admin';
  return status >= 400 && status < CLIENT_GONE ? 'wrong' : 'rest';
}

/** Value of the `service_type` label. */
function serviceType(operation: Operation | undefined): string {
  if (!operation) return 'Generic';
  if (operation.surface === 'admin') return 'Admin';
  if (operation.protocol === 'WCS-2.0.1') return 'OGC-Service';
  if (operation.protocol === 'GeometryService') return 'GeometryServer';
  if (operation.surface === 'geoservices') return operation.protocol;
  return operation.protocol.startsWith('OGC') || operation.protocol === 'STAC' ? 'OGC' : 'Generic';
}

/** The reply with the id of its request, where the operation names it. */
function correlatedReply(x: HttpExchange, reply: Reply): Reply {
  const { operation } = x as { operation: Operation | undefined };
  if (!operation?.correlates) return reply;
  return { ...reply, headers: { ...reply.headers, 'x-correlation-id': x.correlationId } };
}

/** Requests with a body cannot be presented as pages, because a URL cannot contain the body. */
function presentReply(x: HttpExchange, reply: Reply): Reply {
  const { operation } = x as { operation: Operation | undefined };
  return operation?.present && !x.hasBody ? operation.present(x, reply) : reply;
}
