import type { BasemapData } from '../../../core/catalog/page-data.js';
import type { BasemapInUse } from '../../../services/maps/basemap.js';

let inUse: BasemapInUse = { basemap: { kind: 'own' }, attribution: '', origins: [] };

/** Puts a base map under all maps from now on. */
export function useBasemap(basemap: BasemapInUse): void {
  inUse = basemap;
}

/** Origins besides this one that maps load from. */
export function basemapOrigins(): readonly string[] {
  return inUse.origins;
}

/** The style that this server hands out; undefined when it has none. */
export function basemapStyle(): object | undefined {
  return inUse.basemap.kind === 'file' ? inUse.basemap.style : undefined;
}

/** Zoom of the most detailed tiles of our own. */
export const OWN_ZOOM = 6;

/** What a map's script is told of the base map; null when there is none. */
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
