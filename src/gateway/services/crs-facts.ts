import type { CrsFacts } from '../../core/crs.js';
import { describeCrs } from '../../native/index.js';

/** CRS facts from PROJ's database. */
export function crsFacts(epsg: number): CrsFacts | undefined {
  try {
    const { isGeographic, axisSwapped } = describeCrs(`EPSG:${epsg}`);
    return { geographic: isGeographic, northFirst: axisSwapped };
  } catch {
    return undefined;
  }
}
