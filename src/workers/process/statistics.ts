import type { Statistic } from '../../core/analytics.js';
import { fieldOf } from '../../core/features.js';
import type { VectorSource } from '../../core/vector-source.js';
import type { Attribute } from './table.js';

/** The attributes that statistics over fields of a source become. */
export function statisticAttributes(source: VectorSource, statistics: readonly Statistic[]): Attribute[] {
  return statistics.map(({ name, field, type }) => ({
    name,
    type: type === 'count' ? 'integer' : isOrder(type) ? fieldOf(source, field)!.type : 'number',
  }));
}

const isOrder = (type: Statistic['type']) => type === 'min' || type === 'max';
