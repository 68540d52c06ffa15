import type { CatalogSnapshot } from '../../core/catalog/collection.js';
import { errorRecovery } from '../telemetry/process-metrics.js';

/** Measures how long sources stay quarantined before they are published. */
export class SourceRecoveries {
  /** When each quarantined source was first seen so. */
  #since = new Map<string, number>();

  /** Follows a reload of the catalog. */
  follow({ collections, quarantined }: CatalogSnapshot): void {
    const now = performance.now();
    const before = this.#since;
    this.#since = new Map(quarantined.map(({ path }) => [path, before.get(path) ?? now]));
    const ended = [...before].filter(([path]) => !this.#since.has(path));
    if (ended.length === 0) return;
    const published = new Set(collections.map(({ file }) => file));
    for (const [path, since] of ended)
      if (published.has(path)) errorRecovery.cell('source').observe(now - since);
  }
}
