import type { GroupsResult, GroupsTask } from '../../core/features/feature-groups.js';
import type { FeatureRow, SortKey } from '../../core/features/features.js';
import { LIMITS } from '../../core/kit/limits.js';
import type { Field } from '../../core/sources/vector-source.js';

/** The order of groups: that which is asked for, then that of the values grouped by. */
export function groupOrder({ sort, groupBy }: GroupsTask, columns: readonly Field[]): readonly SortKey[] {
  const keys = columns.slice(0, groupBy.length).map(({ name }) => ({ field: name, descending: false }));
  return [...sort, ...keys];
}

/** As many groups as the page has, and fewer where their texts are long. */
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
