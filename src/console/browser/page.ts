/** Reads the JSON that the server put into the page. */
export function pageData<T>(id: string): T {
  const element = document.getElementById(id);
  if (!element?.textContent) throw new Error(`the page has no ${id}`);
  return JSON.parse(element.textContent) as T;
}

/**
 * A URL of this site on the origin that the page was loaded from. Links may have another origin or scheme behind a
 * proxy without forwarding headers, but the browser may only fetch from its own origin.
 */
export function onThisOrigin(url: string, baseUrl: string): string {
  if (url !== baseUrl && !url.startsWith(`${baseUrl}/`)) return url;
  const prefix = new URL(baseUrl).pathname.replace(/\/+$/, '');
  return `${location.origin}${prefix}${url.slice(baseUrl.length)}`;
}
