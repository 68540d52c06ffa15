import type { GroupsResult, GroupsTask } from '../../core/features/feature-groups.js';
import type { FeatureRow, SortKey } from '../../core/features/features.js';
import { LIMITS } from '../../core/kit/limits.js';
import type { Field } from '../../core/sources/vector-source.js';

/** Returns the order of groups: the requested order, then the order of the grouped values. */
export function groupOrder({ sort, groupBy }: GroupsTask, columns: readonly Field[]): readonly SortKey[] {
  const keys = columns.slice(0, groupBy.length).map(({ name }) => ({ field: name, descending: false }));
  return [...sort, ...keys];
}

/** Returns a page of groups. The page is shorter than the limit if its strings are long. */
export function groupPage(rows: Iterable<FeatureRow['values']>, limit: number): GroupsResult {
  const page: FeatureRow['values'][] = [];
  let characters = 0;
  for (const values of rows) {
    if (page.length === limit || characters > LIMITS.geoServicesBytes) return { rows: page, more: true };
    page.push(values);
    for (const value of values) if (typeof value === 'string') characters += value.length;
  }
  return { rows: page, more: false };
}
