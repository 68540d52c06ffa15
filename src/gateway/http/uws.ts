import { createRequire } from 'node:module';
import type { HttpRequest, HttpResponse, TemplatedApp, us_listen_socket } from '@btc-vision/uwebsockets.js';
import { HTTP_LIMITS } from '../../core/http/limits.js';
import { OLDER_UWS, uwsPackage } from '../../core/kit/runtime.js';

export type {
  HttpRequest,
  HttpResponse,
  TemplatedApp,
  us_listen_socket,
  us_socket_context_t,
  WebSocket,
} from '@btc-vision/uwebsockets.js';

type Newer = typeof import('@btc-vision/uwebsockets.js');
type Older = typeof import('uWebSockets.js');
type OlderRequest = import('uWebSockets.js').HttpRequest;

// Read by the library when it is loaded. Its default is below the maximum URL length, and it would respond 431 itself.
process.env['UWS_HTTP_MAX_HEADERS_SIZE'] ??= String(HTTP_LIMITS.headBytes);
const name = uwsPackage(process.version);
const library: unknown = createRequire(import.meta.url)(name);
/** The older build names three functions in its own way. */
const older = name === OLDER_UWS ? (library as Older) : undefined;
const newer = library as Newer;

export const { SHARED_COMPRESSOR } = newer;

interface Files {
  readonly cert: string;
  readonly key: string;
  readonly clientCa?: string;
}

/**
 * Creates an app; with certificate files it uses TLS 1.2 or newer. With authority files, it requests client
 * certificates and rejects certificates of other authorities; clients without a certificate are accepted.
 */
export function createApp(files?: Files): TemplatedApp {
  if (!files) return newer.App();
  const { cert, key, clientCa } = files;
  const authorities = clientCa === undefined ? {} : { ca_file_name: clientCa };
  return newer.SSLApp({ cert_file_name: cert, key_file_name: key, ...authorities });
}

/** Whether the library provides the client certificate. */
export const KNOWS_CLIENT_CERTIFICATES = !older;

/** Client certificate (PEM) in an app that requests one; empty without one. */
export function clientCertificate(response: HttpResponse): string {
  // The types of the library leave it out.
  return (response as HttpResponse & { getX509Certificate(): string }).getX509Certificate();
}

export function closeListener(socket: us_listen_socket): void {
  if (older) older.closeSocket(socket);
  else newer.us_listen_socket_close(socket);
}

export function getSocketPort(socket: us_listen_socket): number {
  return older ? older.getSocketPort(socket as never) : newer.us_socket_local_port(socket as never);
}

/** Calls back for each header as sent. */
export const eachHeader: (request: HttpRequest, visit: (name: string, value: string) => void) => void = older
  ? (request, visit) => (request as unknown as OlderRequest).forEachHeader(visit)
  : (request, visit) => request.forEach(visit);
