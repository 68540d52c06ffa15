import { basemapOrigins } from './maps/basemap.js';

/**
 * Headers of every HTML page. Scripts, workers, data and images come from this origin only, but for the parts of a
 * configured base map; data for scripts is inert JSON. Inline styles stay allowed because the map library and the
 * interface viewer set them.
 */
export function pageHeaders(): Readonly<Record<string, string>> {
  const others = basemapOrigins()
    .map((origin) => ` ${origin}`)
    .join('');
  return {
    'content-security-policy': [
      "default-src 'none'",
      "script-src 'self'",
      "style-src 'self' 'unsafe-inline'",
      `img-src 'self' data: blob:${others}`,
      `connect-src 'self'${others}`,
      "worker-src 'self' blob:",
      "font-src 'self' data:",
      "form-action 'self'",
      "base-uri 'none'",
      "frame-ancestors 'self'",
    ].join('; '),
    'referrer-policy': 'same-origin',
  };
}
