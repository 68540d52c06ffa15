import type { Feature } from 'geojson';
import { type FeatureCandidate, type GeocodingTasks, PLACE_FIELDS } from '../../core/geocoding/geocoding.js';
import { metresBetween } from '../../core/geocoding/sphere.js';
import { getFeatureStore } from '../providers/store.js';
import type { Cancellation } from '../threads/cancellation.js';
import { passes } from './conditions.js';
import { buildPlace, type PlaceRow } from './index-file.js';
import { placePoint } from './place-point.js';
import { byScore, MIN_SCORE, queryWords, Scorer } from './score.js';

type Task = GeocodingTasks['vector.geocodeFeatures'];

interface FeaturePlace {
  readonly key: string;
  readonly row: PlaceRow;
}

/**
 * Task `vector.geocodeFeatures`: returns features of a collection, scored like the places of an index, or by their
 * distances.
 */
export async function geocodeFeatures(
  { items, fields, query, at }: Task['input'],
  cancellation?: Cancellation,
): Promise<Task['output']> {
  const { features, more } = await getFeatureStore(items.source).items(items, cancellation);
  const list = JSON.parse(`[${Buffer.from(features).toString()}]`) as Feature[];
  const places = list
    .flatMap((feature, i) => listPlaces(feature, i, fields))
    .filter(({ row }) => passes(row, query));
  if (at) return { candidates: nearest(places, at), more };
  const scorer = new Scorer(queryWords(query), query.near);
  const candidates = places
    .map(({ key, row }) => ({ key, row, score: scorer.score(row) }))
    .filter(({ score }) => score >= MIN_SCORE)
    .sort(byScore)
    .slice(0, query.limit)
    .map(({ key, row, score }) => ({ key, place: buildPlace(row, undefined), score }));
  return { candidates, more };
}

/** Returns the nearest feature, with a score of 100. Other features are useless here. */
function nearest(places: readonly FeaturePlace[], at: readonly [number, number]): FeatureCandidate[] {
  let best: (FeaturePlace & { metres: number }) | undefined;
  for (const one of places) {
    const metres = metresBetween(at, [one.row.x, one.row.y]);
    if (!best || metres < best.metres) best = { ...one, metres };
  }
  return best
    ? [{ key: best.key, place: buildPlace(best.row, undefined), score: 100, metres: best.metres }]
    : [];
}

function listPlaces(feature: Feature, i: number, fields: Task['input']['fields']): FeaturePlace[] {
  const point = feature.geometry ? placePoint(feature.geometry) : undefined;
  if (!point) return [];
  const read = (field: keyof typeof fields) => {
    const name = fields[field];
    const value: unknown = name === undefined ? undefined : feature.properties?.[name];
    return value === null || value === undefined || typeof value === 'object' ? '' : String(value);
  };
  const text = Object.fromEntries(PLACE_FIELDS.map((field) => [field, read(field)]));
  const rank = Number(read('rank'));
  const row = {
    ...text,
    id: i,
    address: read('address'),
    language: '',
    names: '{}',
    x: point[0],
    y: point[1],
    rank: Number.isFinite(rank) ? rank : 0,
  } as PlaceRow;
  return [{ key: String(feature.id), row }];
}
