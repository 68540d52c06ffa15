import type { Config } from '../../core/config.js';
import type { Principal } from '../../core/operation.js';
import type { Pools } from '../../core/tasks.js';
import type { Geocoder } from './geocoder.js';
import { LocalGeocoder } from './local-geocoder.js';
import { Locators } from './locators.js';

export interface GeocodingDeps {
  readonly pools: Pools;
  readonly dataDir: string;
  readonly settings: Config['geocoding'];
}

/** Finding places by their words, and words for a place. */
export class Geocoding {
  readonly locators: Locators;

  constructor(private readonly deps: GeocodingDeps) {
    this.locators = new Locators(deps.pools, deps.dataDir);
  }

  /** Names of the locators that a principal may ask. */
  async names(principal: Principal): Promise<string[]> {
    const { enabled, open } = this.deps.settings;
    if (!enabled || (!open && principal.kind === 'anonymous')) return [];
    return this.locators.names();
  }

  /** The locator of a name, or that which is asked where none is named; undefined when a principal has no such one. */
  async geocoder(principal: Principal, name: string | undefined): Promise<Geocoder | undefined> {
    const names = await this.names(principal);
    const { locator } = this.deps.settings;
    const chosen = name ?? (locator === '' ? names[0] : locator);
    if (chosen === undefined || !names.includes(chosen)) return undefined;
    return new LocalGeocoder(chosen, this.locators.indexOf(chosen), this.deps.pools);
  }
}
