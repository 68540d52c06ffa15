import type { CrsFacts } from '../core/crs.js';
import { describeCrs } from '../native/index.js';

/** What PROJ's database says of an EPSG code; undefined for codes that it does not have. */
export function crsFacts(epsg: number): CrsFacts | undefined {
  try {
    const { isGeographic, axisSwapped } = describeCrs(`EPSG:${epsg}`);
    return { geographic: isGeographic, northFirst: axisSwapped };
  } catch {
    return undefined;
  }
}
