/** Colours of the map's own parts, taken from the style sheet so that light and dark agree with the page. */
export interface MapColors {
  water: string;
  land: string;
  coast: string;
  border: string;
  region: string;
  name: string;
  grid: string;
  highlight: string;
}

export function mapColors(element: HTMLElement): MapColors {
  const style = getComputedStyle(element);
  const read = (name: string) => style.getPropertyValue(name).trim();
  return {
    water: read('--map-water'),
    land: read('--map-land'),
    coast: read('--map-coast'),
    border: read('--map-border'),
    region: read('--map-region'),
    name: read('--map-name'),
    grid: read('--map-grid'),
    highlight: read('--map-highlight'),
  };
}

export function onThemeChange(listener: () => void): void {
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', listener);
}
