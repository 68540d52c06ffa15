/** Sentences on values that a file or table has in another form than their source. */

import { LOSS_KINDS, type Losses, type LossKind } from './features.js';

/** Names in a sentence. */
const MAX_NAMED = 10;

/** A sentence that ends with names of properties; none where there are no names. */
function writeNote(sentence: string, names: readonly string[]): string[] {
  if (names.length === 0) return [];
  const more = names.length > MAX_NAMED ? ` and ${names.length - MAX_NAMED} more` : '';
  return [`${sentence}: ${names.slice(0, MAX_NAMED).join(', ')}${more}.`];
}

const noteAs = (sentence: string) => (names: readonly string[]) => writeNote(sentence, names);

export const noteTextNumbers = noteAs(
  'Numbers that a column of numbers cannot hold: the values of these properties are text',
);
export const noteRoundedNumbers = noteAs(
  'Numbers are rounded to 64-bit floating point, about 17 digits, in these properties',
);
export const noteShortNumbers = noteAs('Numbers are rounded to 15 digits in these properties');
export const noteTruncatedTimes = noteAs('Times are truncated to milliseconds in these properties');
export const noteTextTimes = noteAs(
  'Times that the format does not have: the values of these properties are text',
);
export const noteDatesAsTimes = noteAs(
  'Dates that the format does not have: the values of these properties are times at midnight',
);
export const noteUtcTimes = noteAs('Times are in UTC, without their offset, in these properties');
export const noteTruncatedText = noteAs('Text is truncated to 254 bytes in these properties');
export const noteTruncatedNames = noteAs('Names of these properties are truncated to 10 bytes');
export const noteMisfitText = noteAs(
  'Values that do not have the type of their column: the values of these properties are text',
);
export const noteDecimalIntegers = noteAs('Decimals in columns of integers: these properties are decimals');
export const noteBase64Values = noteAs(
  'Binary values in columns of text: they are base64 text in these properties',
);
/** Message for each kind of geometry loss. */
const GEOMETRY_LOSSES: Readonly<Record<LossKind, string>> = {
  arcs: 'Arcs became lines',
  surfaces: 'Surfaces (TIN, PolyhedralSurface, Triangle) became polygons',
  measures: 'M values are omitted',
  coordinates: 'Geometries with coordinates that are not finite are omitted, in part or completely',
  unreadable: 'Unreadable geometries are null',
};

/** Messages about values and geometries that differ from the stored ones. */
export function noteLosses({ notFinite, geometries }: Losses): string[] {
  const counts = Object.entries(notFinite).map(([name, count]) => `${name} (${count})`);
  const kinds = LOSS_KINDS.filter((kind) => geometries[kind] !== undefined);
  return [
    ...writeNote(
      'Values that are infinite or not a number (NaN) are null in these properties, with the number of values',
      counts,
    ),
    ...kinds.map((kind) => `${GEOMETRY_LOSSES[kind]}. Number of geometries: ${geometries[kind]}.`),
  ];
}

export const noteListText = noteAs(
  'Lists are text with the number of their values, as (2:a,b), in these properties',
);
export const noteImpossibleDates = noteAs('Dates that no calendar has are null in these properties');
