/** A STAC API with one search that answers `items.json` of a folder, and the folder's files by ranges. */

import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';

const [port, folder] = process.argv.slice(2);
const files = new Map();

function file(name) {
  const before = files.get(name);
  if (before) return before;
  const bytes = readFileSync(join(folder, name));
  files.set(name, bytes);
  return bytes;
}

function send(response, document) {
  response.writeHead(200, { 'content-type': 'application/geo+json' }).end(JSON.stringify(document));
}

const landing = { type: 'Catalog', stac_version: '1.0.0', links: [{ rel: 'search', href: './search' }] };

createServer((request, response) => {
  const { pathname } = new URL(request.url, 'http://localhost');
  if (pathname === '/') return send(response, landing);
  if (pathname === '/search') return send(response, JSON.parse(file('items.json')));
  if (!/^\/scene-\d\.tif$/.test(pathname)) return response.writeHead(404).end();
  const bytes = file(pathname.slice(1));
  const headers = { etag: `"${bytes.length}"`, 'accept-ranges': 'bytes', 'content-type': 'image/tiff' };
  const [, first, last] = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? '') ?? [];
  if (request.method === 'HEAD')
    return response.writeHead(200, { ...headers, 'content-length': bytes.length }).end();
  if (first === undefined) return response.writeHead(200, headers).end(bytes);
  const part = bytes.subarray(Number(first), Number(last) + 1);
  const range = `bytes ${first}-${Number(first) + part.length - 1}/${bytes.length}`;
  return response.writeHead(206, { ...headers, 'content-range': range }).end(part);
}).listen(Number(port), '127.0.0.1');
