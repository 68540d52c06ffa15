import type { Statistic } from '../../../core/features/analytics.js';
import { findField } from '../../../core/features/features.js';
import type { FieldType, VectorSource } from '../../../core/sources/vector-source.js';
import type { Attribute } from '../table.js';

/** The attributes that statistics over fields of a source become. */
export function statisticAttributes(source: VectorSource, statistics: readonly Statistic[]): Attribute[] {
  return statistics.map((statistic) => ({ name: statistic.name, type: buildType(source, statistic) }));
}

function buildType(source: VectorSource, { field, type }: Statistic): FieldType {
  const { type: fieldType } = findField(source, field)!;
  if (type === 'count') return 'integer';
  if (type === 'min' || type === 'max') return fieldType;
  // Sums of integers keep their digits.
  return type === 'sum' && fieldType === 'integer' ? 'integer' : 'number';
}
