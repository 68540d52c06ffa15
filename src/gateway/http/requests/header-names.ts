/** Names whose usual case is more than capitals at the start of words. */
const SPECIAL: ReadonlyMap<string, string> = new Map([
  ['etag', 'ETag'],
  ['www-authenticate', 'WWW-Authenticate'],
  ['ratelimit', 'RateLimit'],
  ['ratelimit-policy', 'RateLimit-Policy'],
  ['ogc-numbermatched', 'OGC-NumberMatched'],
  ['ogc-numberreturned', 'OGC-NumberReturned'],
]);

const names = new Map<string, string>();
/** Maximum number of cached names. The code of the server sets only some dozens. */
const MAX_NAMES = 500;

/**
 * Header name in its common case: `content-crs` becomes `Content-Crs`. Names are case-insensitive (RFC 9110, 5.1),
 * but some clients expect one case.
 */
export function usualName(name: string): string {
  const known = names.get(name);
  if (known !== undefined) return known;
  const lower = name.toLowerCase();
  const usual = SPECIAL.get(lower) ?? lower.replace(/(^|-)[a-z]/g, (start) => start.toUpperCase());
  if (names.size < MAX_NAMES) names.set(name, usual);
  return usual;
}
