import type { MapSettings } from '../../../core/catalog/layer-settings.js';
import { LIMITS } from '../../../core/kit/limits.js';
import { CATALOG_LIMITS } from '../limits.js';

const DEFAULTS: MapSettings = {
  maxImageWidth: LIMITS.mapSide,
  maxImageHeight: LIMITS.mapSide,
  defaultImageWidth: CATALOG_LIMITS.mapSideDefault,
  defaultImageHeight: CATALOG_LIMITS.mapSideDefault,
  defaultDpi: 96,
  defaultFormat: 'png',
  defaultTransparent: true,
  maxFeaturesPerLayer: 0,
};

/** Map settings with defaults for missing members. */
export function mapSettings(settings: Partial<MapSettings>): MapSettings {
  return { ...DEFAULTS, ...settings };
}
