import { describeWarning } from '../../core/catalog/assumed-crs.js';
import type { CatalogSnapshot } from '../../core/catalog/collection.js';
import { describeRenames } from '../../services/access/rules/findings.js';
import type { RuleSet } from '../../services/access/rules/rules.js';
import type { Notices } from '../../services/notices/notices.js';

/** Notifies operators of each source that became unreadable. */
export function tellQuarantined(before: CatalogSnapshot, after: CatalogSnapshot, notices: Notices): void {
  const earlier = new Set(before.quarantined.map(({ path }) => path));
  for (const { path, reason } of after.quarantined)
    if (!earlier.has(path))
      notices.notify({ kind: 'source-quarantined', severity: 'error', subject: path, message: reason });
}

/** Quarantined sources that the status of the catalog names. */
const MAX_PROBLEMS = 100;

/** The catalog as probes and metrics show it. */
export function catalogStatus(catalog: CatalogSnapshot, rules: RuleSet) {
  const { generation, collections, quarantined } = catalog;
  return {
    generation,
    collections: collections.length,
    quarantined: quarantined.length,
    warnings: [
      ...collections.flatMap((one) => {
        const warning = describeWarning(one);
        return warning === undefined ? [] : [{ collection: one.id, warning }];
      }),
      ...describeRenames(rules, catalog),
    ],
    problems: quarantined.slice(0, MAX_PROBLEMS).map(({ path, layer, reason }) => ({
      source: path,
      ...(layer === undefined ? {} : { layer }),
      reason,
    })),
  };
}
