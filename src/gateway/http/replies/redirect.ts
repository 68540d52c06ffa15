import { hostName } from '../requests/forwarded-headers.js';
import type { HttpRequest, HttpResponse } from '../uws.js';

/** Port of HTTPS, which addresses need not name. */
const HTTPS = 443;

/** Redirects an HTTP request to the same URL over HTTPS; 400 for a request without a host. */
export function sendToHttps(res: HttpResponse, req: HttpRequest, port: number): void {
  const host = hostName(req.getHeader('host'))?.replace(/:\d+$/, '');
  if (host === undefined) {
    res.writeStatus('400 Bad Request').end();
    return;
  }
  const query = req.getQuery();
  const target = `${req.getUrl()}${query ? `?${query}` : ''}`.replace(/[\r\n]/g, '');
  const place = port === HTTPS ? host : `${host}:${port}`;
  res.writeStatus('308 Permanent Redirect').writeHeader('Location', `https://${place}${target}`).end();
}
