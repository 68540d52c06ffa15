/** Parameters of maps, tiles and pages for the bands and colours of a raster. Pages and their scripts share them. */
export const COLOR_NAMES = ['bands', 'expression', 'rescale', 'colormap', 'nodata'] as const;

/** The colour parameters in a query. Empty ones are absent. */
export function pickColors(query: string): URLSearchParams {
  const parameters = new URLSearchParams(query);
  const colors = new URLSearchParams();
  for (const name of COLOR_NAMES) {
    const value = parameters.get(name);
    if (value) colors.set(name, value);
  }
  return colors;
}

/** The URL with further parameters. */
export function appendQuery(url: string, query: string): string {
  if (query === '') return url;
  return `${url}${url.includes('?') ? '&' : '?'}${query}`;
}

/** The text of a legend for readers who do not see it. */
export function formatLegendText(
  { name, unit }: { readonly name?: string | undefined; readonly unit?: string | undefined },
  labels: readonly string[],
): string {
  const heading = name ? [unit ? `${name} (${unit})` : name] : [];
  return `Legend: ${[...heading, ...labels].join(', ')}`;
}
