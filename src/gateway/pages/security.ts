/**
 * Headers of every HTML page. Scripts, workers, data and images come from this origin only; data for scripts
 * is inert JSON. Inline styles stay allowed because the map library and the interface viewer set them.
 */
export const PAGE_HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data: blob:",
    "connect-src 'self'",
    "worker-src 'self' blob:",
    "font-src 'self' data:",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'self'",
  ].join('; '),
  'referrer-policy': 'same-origin',
};
