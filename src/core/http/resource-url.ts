/** The URL of a resource below another one, whose query stays: services may need it. */
export function resourceBelow(base: string, ...names: readonly (string | number)[]): string {
  const url = new URL(base);
  url.pathname = [url.pathname.replace(/\/+$/, ''), ...names.map(encodeURIComponent)].join('/');
  return url.href;
}
