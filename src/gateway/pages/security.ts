import { basemapOrigins } from './maps/basemap.js';

/**
 * Headers of every HTML page. Scripts, styles, workers, data and images come from this origin only, except parts of a
 * configured base map. Data for scripts is inert JSON.
 */
export function pageHeaders(): Readonly<Record<string, string>> {
  const others = basemapOrigins()
    .map((origin) => ` ${origin}`)
    .join('');
  return {
    'content-security-policy': [
      "default-src 'none'",
      "script-src 'self'",
      "style-src 'self'",
      `img-src 'self' data: blob:${others}`,
      `connect-src 'self'${others}`,
      "worker-src 'self' blob:",
      "font-src 'self'",
      "form-action 'self'",
      "base-uri 'none'",
      "frame-ancestors 'self'",
    ].join('; '),
    'referrer-policy': 'same-origin',
  };
}
