import type { RasterCollection } from '../../core/catalog/collection.js';
import { badParameter } from '../../core/errors/errors.js';

/** The name of a band in parameters and documents. */
export function formatBandName(band: number): string {
  return `band_${band}`;
}

/** A band by its number, or by its title (the variable of a file with axes) where no other band has the same. */
export function findBand({ bands }: RasterCollection, parameter: string, name: string): number {
  const numbered = bands.find(({ band }) => name === formatBandName(band));
  if (numbered) return numbered.band;
  const [titled, ...others] = bands.filter(({ description }) => description === name && name !== '');
  if (!titled) throw badParameter(parameter, `there is no band '${name.slice(0, 40)}'`);
  if (others.length > 0)
    throw badParameter(
      parameter,
      `several bands have the name '${name.slice(0, 40)}'. Use a number, for example band_1`,
    );
  return titled.band;
}
