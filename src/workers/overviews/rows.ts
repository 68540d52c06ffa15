import type { VectorSource } from '../../core/vector-source.js';
import { geopackageRows } from '../providers/geopackage/overview-rows.js';
import { postgisRows } from '../providers/postgis/overview-rows.js';
import type { OverviewRows } from './overview-rows.js';

export function rowsOf(source: VectorSource): OverviewRows {
  return source.kind === 'geopackage' ? geopackageRows(source) : postgisRows(source);
}
