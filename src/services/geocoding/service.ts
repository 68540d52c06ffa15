import type { Pools } from '../../core/tasks.js';
import { Locators } from './locators.js';

/** Finding places by their words, and words for a place. */
export class Geocoding {
  readonly locators: Locators;

  constructor({ pools, dataDir }: { pools: Pools; dataDir: string }) {
    this.locators = new Locators(pools, dataDir);
  }
}
