import type { GeocodingTasks, PlaceWindow } from '../../core/geocoding/geocoding.js';
import { metresBetween, windowAround } from '../../core/geocoding/sphere.js';
import { LIMITS } from '../../core/kit/limits.js';
import type { Cancellation } from '../threads/cancellation.js';
import { buildPlaceCondition, type Condition } from './conditions.js';
import { buildPlace, type Db, openPlaceIndex, type PlaceRow, readIndexFact } from './index-file.js';

/** Metres within which is looked first; then twice as far, and so on. */
const FIRST = 250;

type Tasks = GeocodingTasks;

/**
 * Task `vector.reverseGeocode`: returns the nearest place within a distance. Among places at the same point, returns
 * the place of the highest rank.
 */
export function reverseGeocode(
  { index, at, distance, ...filter }: Tasks['vector.reverseGeocode']['input'],
  cancellation?: Cancellation,
): Tasks['vector.reverseGeocode']['output'] {
  const db = openPlaceIndex(index);
  const condition = buildPlaceCondition(filter, Date.now() + LIMITS.requestDeadlineMs);
  for (let reach = Math.min(FIRST, distance); ; reach = Math.min(reach * 2, distance)) {
    cancellation?.check();
    const nearest = nearestIn(db, at, reach, condition);
    if (nearest) return { place: buildPlace(nearest.row, filter.language), metres: nearest.metres };
    if (reach >= distance) return null;
  }
}

function nearestIn(db: Db, at: readonly [number, number], reach: number, condition: Condition) {
  let nearest: { row: PlaceRow; metres: number } | undefined;
  for (const row of rowsIn(db, windowAround(at, reach), condition)) {
    const metres = metresBetween(at, [row.x, row.y]);
    if (metres > reach) continue;
    if (!nearest || metres < nearest.metres) nearest = { row, metres };
  }
  return nearest;
}

/** Yields the rows of places in a window, in the order of their ranks. The tree rounds outwards. */
function* rowsIn(
  db: Db,
  { west, south, east, north }: PlaceWindow,
  { sql, values }: Condition,
): Generator<PlaceRow> {
  const rows = db.prepare(
    `SELECT p.* FROM points t JOIN places p ON p.id = t.id
     WHERE t.x1 >= ? AND t.x0 <= ? AND t.y1 >= ? AND t.y0 <= ?${sql} ORDER BY p.id`,
  );
  const spans =
    west <= east
      ? [[west, east]]
      : [
          [west, 180],
          [-180, east],
        ];
  for (const [from, to] of spans)
    yield* rows.iterate(from, to, south, north, ...values) as IterableIterator<PlaceRow>;
}

/** Task `vector.place`: returns a place by its number in the index with this stamp. */
export function placeById({
  index,
  id,
  stamp,
  language,
}: Tasks['vector.place']['input']): Tasks['vector.place']['output'] {
  const db = openPlaceIndex(index);
  const { stamp: present } = JSON.parse(readIndexFact(db, 'info')!) as { stamp: string };
  const row =
    stamp === present ? (db.prepare('SELECT * FROM places WHERE id = ?').get(id) as PlaceRow) : undefined;
  return row ? buildPlace(row, language) : null;
}
