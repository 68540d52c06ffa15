/** The limit for cached tiles: a bare uWebSockets.js handler that answers the same bytes with the same headers. */

import { readFileSync } from 'node:fs';
import { uwsPackage } from '../../dist/core/kit/runtime.js';

const { default: uWS } = await import(uwsPackage(process.version));
const [port, file] = process.argv.slice(2);
/** path -> [gzipped body, header block] */
const answers = new Map(
  JSON.parse(readFileSync(file, 'utf8')).map(({ path, body, headers }) => [
    path,
    { body: Buffer.from(body, 'base64'), headers: Object.entries(headers) },
  ]),
);
uWS
  .App()
  .any('/*', (res, req) => {
    const answer = answers.get(req.getUrl());
    if (!answer) {
      res.end('ready');
      return;
    }
    res.writeStatus('200 OK');
    for (const [name, value] of answer.headers) res.writeHeader(name, value);
    res.end(answer.body);
  })
  .listen('127.0.0.1', Number(port), (socket) => {
    if (!socket) process.exit(1);
  });
