import { readFileSync } from 'node:fs';
import { type StyleSpecification, validateStyleMin } from '@maplibre/maplibre-gl-style-spec';
import { ConfigError } from '../../core/config/config.js';
import { type BasemapSetting, basemapSetting, parseUrlOrigin } from '../../core/maps/basemap.js';

/** Layer under the data, ready to be drawn. */
type Basemap =
  | Exclude<BasemapSetting, { kind: 'file' }>
  /** A checked style that this server hands out. */
  | { readonly kind: 'file'; readonly style: StyleSpecification };

export interface BasemapInUse {
  readonly basemap: Basemap;
  readonly attribution: string;
  /** Other origins that its parts come from. */
  readonly origins: readonly string[];
}

/** Reads `pages.basemap`. Throws a `ConfigError` that describes the problem of its file. */
export function configuredBasemap(pages: { basemap: string; attribution: string }): BasemapInUse {
  const setting = basemapSetting(pages.basemap);
  if (!setting)
    throw new ConfigError(['pages.basemap: must be none, bundled, or the URL of a style or of tiles.']);
  const basemap: Basemap =
    setting.kind === 'file' ? { kind: 'file', style: parseStyle(setting.path) } : setting;
  const origins = listUrls(basemap).flatMap((url) => parseUrlOrigin(url) ?? []);
  return { basemap, attribution: pages.attribution, origins: [...new Set(origins)] };
}

function parseStyle(path: string): StyleSpecification {
  let style: unknown;
  try {
    style = JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    throw new ConfigError([`pages.basemap: ${path} cannot be read: ${(error as Error).message}.`]);
  }
  const [problem] = validateStyleMin(style as StyleSpecification);
  if (problem) throw new ConfigError([`pages.basemap: ${path} is not a MapLibre style: ${problem.message}`]);
  return style as StyleSpecification;
}

/** URLs that browsers load for a base map. Only the browser knows the parts of an external style. */
function listUrls(basemap: Basemap): string[] {
  switch (basemap.kind) {
    case 'own':
    case 'none':
      return [];
    case 'tiles':
      return [basemap.template];
    case 'style':
      return [basemap.href];
    case 'file':
      return listParts(basemap.style);
  }
}

function listParts({ sprite, glyphs, sources }: StyleSpecification): string[] {
  const sprites = typeof sprite === 'string' ? [sprite] : (sprite ?? []).map(({ url }) => url);
  const data = Object.values(sources).flatMap((source) => {
    const { url, tiles = [], data } = source as { url?: string; tiles?: string[]; data?: unknown };
    return [url, data, ...tiles].filter((part) => typeof part === 'string');
  });
  return [...sprites, ...(glyphs === undefined ? [] : [glyphs]), ...data];
}
