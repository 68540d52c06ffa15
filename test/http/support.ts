import type { Operation } from '../../src/core/http/operation.js';
import { Dispatcher } from '../../src/gateway/http/dispatch.js';
import { ForwardedHeaders } from '../../src/gateway/http/requests/forwarded-headers.js';
import { HttpServer, type HttpServerOptions } from '../../src/gateway/http/server.js';
import type { Log } from '../../src/services/telemetry/log.js';
import { NO_AUDIT } from '../support/no-audit.js';

const nothing = () => {};

/** A server of these public operations alone, which ask neither workers nor who calls. Its log goes nowhere. */
export function serverOf(
  operations: Operation[],
  {
    write = nothing,
    pages,
    latency,
  }: { write?: Log['write'] } & Pick<HttpServerOptions, 'pages' | 'latency'> = {},
): HttpServer {
  const dispatcher = new Dispatcher({
    operations,
    pools: { run: () => Promise.reject(new Error('not asked')) },
    authenticate: () => Promise.reject(new Error('not asked')),
    permits: () => true,
    audit: NO_AUDIT,
    once: (_request, work) => work(),
  });
  const log: Log = {
    process: 'test',
    request: nothing,
    showTo: () => {},
    copyTo: nothing,
    flush: nothing,
    write,
  };
  const forwarding = new ForwardedHeaders({
    publicUrl: undefined,
    trustProxy: [],
    fallbackHost: 'localhost',
  });
  return new HttpServer({
    dispatcher,
    log,
    vendor: 'test',
    forwarding,
    ...(pages && { pages }),
    ...(latency && { latency }),
  });
}
