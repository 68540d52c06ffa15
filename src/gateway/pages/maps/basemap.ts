import type { BasemapData } from '../../../core/catalog/page-data.js';
import type { BasemapInUse } from '../../../services/maps/basemap.js';

let inUse: BasemapInUse = { basemap: { kind: 'own' }, attribution: '', origins: [] };

/** Puts a base map under all maps from now on. */
export function useBasemap(basemap: BasemapInUse): void {
  inUse = basemap;
}

/** Other origins that maps load data from. */
export function basemapOrigins(): readonly string[] {
  return inUse.origins;
}

/** The style that this server serves; undefined without one. */
export function basemapStyle(): object | undefined {
  return inUse.basemap.kind === 'file' ? inUse.basemap.style : undefined;
}

/** Largest zoom of Graticule's own tiles. */
export const OWN_ZOOM = 6;

/** Base map data for the script of a map; null if there is no base map. */
export function basemapData(baseUrl: string): BasemapData | null {
  const { basemap, attribution } = inUse;
  switch (basemap.kind) {
    case 'none':
      return null;
    case 'own':
      return { kind: 'own', tiles: `${baseUrl}/basemap/{z}/{x}/{y}`, maxZoom: OWN_ZOOM, attribution };
    case 'tiles':
      return { kind: 'tiles', tiles: basemap.template, attribution };
    case 'style':
      return { kind: 'style', href: basemap.href, attribution };
    case 'file':
      return { kind: 'style', href: `${baseUrl}/basemap/style.json`, attribution };
  }
}
