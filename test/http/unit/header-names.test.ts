import { expect, it } from 'vitest';
import { usualName } from '../../../src/gateway/http/requests/header-names.js';

it.each([
  ['location', 'Location'],
  ['content-crs', 'Content-Crs'],
  ['etag', 'ETag'],
  ['www-authenticate', 'WWW-Authenticate'],
  ['OGC-NumberMatched', 'OGC-NumberMatched'],
  ['x-request-id', 'X-Request-Id'],
  ['Cache-Tag', 'Cache-Tag'],
])('%s is written as %s', (name, usual) => {
  expect(usualName(name)).toBe(usual);
});
