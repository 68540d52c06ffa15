/**
 * Only connection of GDAL to the network: a loopback server that returns ranges of registered files. The server reads
 * them itself, and only from allowed hosts. It is GDAL's proxy for everything, so it refuses any other request that a
 * file makes GDAL send.
 */

import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { RemoteFile } from './file.js';

/** Maximum bytes of the range in one response. */
const MAX_RANGE = 64 << 20;

export class RangeProxy {
  readonly #files = new Map<string, RemoteFile>();
  readonly #paths = new Map<RemoteFile, string>();
  /** Secret of this process, so that no other process on this machine can read through the server. */
  readonly #secret = randomBytes(16).toString('hex');
  #count = 0;

  private constructor(readonly origin: string) {}

  static async start(): Promise<RangeProxy> {
    const server = createServer((request, response) => void proxy.#answer(request, response));
    server.on('connect', (_request, socket) => socket.destroy());
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const proxy = new RangeProxy(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    return proxy;
  }

  add(file: RemoteFile): void {
    this.#count += 1;
    const path = `/${this.#secret}/${this.#count}.remote`;
    this.#files.set(path, file);
    this.#paths.set(file, path);
  }

  remove(file: RemoteFile): void {
    this.#files.delete(this.#paths.get(file) ?? '');
    this.#paths.delete(file);
  }

  /** GDAL's name of a file that was added. */
  nameOf(file: RemoteFile): string {
    return `/vsicurl/${this.origin}${this.#paths.get(file)}`;
  }

  /** The file of a name, unless it was removed. */
  fileOf(name: string): RemoteFile | undefined {
    return this.#files.get(name.slice(`/vsicurl/${this.origin}`.length));
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    // Requests to a proxy contain complete URLs.
    const url = request.url ?? '';
    const file = this.#files.get(url.startsWith(this.origin) ? url.slice(this.origin.length) : url);
    if (file && request.method === 'HEAD') {
      response.writeHead(200, { 'content-length': file.size, 'accept-ranges': 'bytes' }).end();
      return;
    }
    const [, first, last] = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? '') ?? [];
    if (!file || request.method !== 'GET' || first === undefined) {
      response.writeHead(403).end();
      return;
    }
    const offset = Number(first);
    const length = Math.min(Number(last) + 1, file.size) - offset;
    if (length <= 0 || length > MAX_RANGE) {
      response.writeHead(416, { 'content-range': `bytes */${file.size}` }).end();
      return;
    }
    try {
      const data = await file.read({ offset, length });
      const range = `bytes ${offset}-${offset + length - 1}/${file.size}`;
      response.writeHead(206, { 'content-range': range, 'content-length': length }).end(data);
    } catch {
      // The file stores the reason.
      response.writeHead(502).end();
    }
  }
}
