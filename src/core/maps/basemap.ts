/** Base map of the pages, by the setting `pages.basemap`. */
export type BasemapSetting =
  /** The server's own: coasts, borders and names of Natural Earth. */
  | { readonly kind: 'own' }
  | { readonly kind: 'none' }
  /** Image tiles by zoom, column and row. */
  | { readonly kind: 'tiles'; readonly template: string }
  /** A MapLibre style that browsers load from where it is. */
  | { readonly kind: 'style'; readonly href: string }
  /** The file of a MapLibre style that this server hands out. */
  | { readonly kind: 'file'; readonly path: string };

const PLACES = ['{z}', '{x}', '{y}'];

/** Parses the setting; undefined if it is invalid. Existence of a file is checked when it is read. */
export function basemapSetting(text: string): BasemapSetting | undefined {
  if (text === 'own' || text === 'none') return { kind: text };
  if (!/^[a-z][a-z0-9+.-]*:\/\//i.test(text))
    return text.endsWith('.json') ? { kind: 'file', path: text } : undefined;
  if (parseUrlOrigin(text) === undefined) return undefined;
  if (PLACES.every((place) => text.includes(place)))
    // Vector tiles say nothing about their looks: they come with a style.
    return /\.(pbf|mvt)(\?|$)/i.test(text) ? undefined : { kind: 'tiles', template: text };
  return text.includes('{') ? undefined : { kind: 'style', href: text };
}

/** Origin of an http or https URL, as a Content-Security-Policy names it; undefined for all else. */
export function parseUrlOrigin(url: string): string | undefined {
  if (!/^https?:\/\/[^/\s"'<>;,@{}]+(\/|$)/i.test(url) || /[\s"'<>\\]/.test(url)) return undefined;
  try {
    return new URL(url).origin;
  } catch {
    return undefined;
  }
}
