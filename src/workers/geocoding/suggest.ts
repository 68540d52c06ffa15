import type { GeocodingTasks } from '../../core/geocoding/geocoding.js';
import { GEOCODING_LIMITS } from '../../core/geocoding/limits.js';
import { metresBetween } from '../../core/geocoding/sphere.js';
import { LIMITS } from '../../core/kit/limits.js';
import { buildPlace, locatorInfo, openPlaceIndex, type PlaceRow } from './index-file.js';
import { Matcher } from './match.js';
import { splitWords } from './words.js';

/** Task `vector.suggest`: returns places whose words start with a text that is being typed. */
export function suggest({
  index,
  text,
  near,
  limit,
  ...filter
}: GeocodingTasks['vector.suggest']['input']): GeocodingTasks['vector.suggest']['output'] {
  const words = splitWords(text).slice(0, GEOCODING_LIMITS.geocodeWords);
  const { stamp } = locatorInfo({ index });
  if (words.length === 0) return { stamp, places: [] };
  const matcher = new Matcher(openPlaceIndex(index), filter, Date.now() + LIMITS.requestDeadlineMs);
  const rows = new Map<number, PlaceRow>();
  const add = (more: readonly PlaceRow[]) => {
    for (const row of more) if (!rows.has(row.id)) rows.set(row.id, row);
  };
  add(matcher.begun(words, 'own'));
  if (rows.size < limit) add(matcher.begun(words));
  if (rows.size === 0) add(matcher.nearlyAll(words));
  const start = words.join(' ');
  const order = (row: PlaceRow) =>
    splitWords(`${row.name} ${row.street}`).join(' ').startsWith(start) ? 0 : 1;
  const distance = (row: PlaceRow) => (near ? metresBetween(near, [row.x, row.y]) : 0);
  const places = [...rows.values()]
    .map((row) => ({ row, order: order(row), distance: distance(row) }))
    .sort(
      (a, b) =>
        a.order - b.order || a.distance - b.distance || b.row.rank - a.row.rank || a.row.id - b.row.id,
    )
    .map(({ row }) => buildPlace(row, filter.language));
  // Places with the same label are shown only once.
  const labels = new Set<string>();
  const distinct = places.filter(({ label }) => !labels.has(label) && labels.add(label));
  return { stamp, places: distinct.slice(0, limit) };
}
