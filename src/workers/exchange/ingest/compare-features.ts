import { readFile } from 'node:fs/promises';
import type {
  FeatureComparison,
  FeatureComparisonTask,
  FeatureDifference,
} from '../../../core/exchange/parity.js';
import { geometryDifference } from './compare-geometries.js';
import { object, type RemoteJson } from './json.js';

/**
 * Limits of the comparison: reported differences, samples, and characters of a sample, of a value and of an attribute
 * name.
 */
const DIFFERENCES = 50;
const SAMPLES = 5;
const SAMPLE_CHARACTERS = 20_000;
const DETAIL_CHARACTERS = 200;
const NAME_CHARACTERS = 100;
/** Relative tolerance of numbers, as a part of the greater number. */
const EPSILON = 1e-9;

/** Task `ingest.compareFeatures`. */
export async function compareFeatures({
  path,
  target,
  key,
  tolerance,
}: FeatureComparisonTask): Promise<FeatureComparison> {
  const sources = (await readFile(path, 'utf8'))
    .split('\n')
    .flatMap((line) => (line === '' ? [] : [JSON.parse(line) as RemoteJson]));
  const targets = new Map(
    (JSON.parse(`[${Buffer.from(target).toString('utf8')}]`) as RemoteJson[]).map((feature) => [
      String(object(feature['properties'])[key]),
      feature,
    ]),
  );
  const missing: string[] = [];
  const differences: FeatureDifference[] = [];
  const samples: FeatureComparison['samples'][number][] = [];
  for (const source of sources) {
    const id = readKey(source, key);
    const counterpart = targets.get(id);
    if (samples.length < SAMPLES)
      samples.push({
        id,
        source: chooseSample(source),
        target: counterpart ? chooseSample(counterpart) : null,
      });
    if (counterpart) differences.push(...listDifferences(id, source, counterpart, key, tolerance));
    else missing.push(id);
  }
  return { compared: sources.length, missing, differences: differences.slice(0, DIFFERENCES), samples };
}

function readKey({ id, properties }: RemoteJson, key: string): string {
  return String(object(properties)[key] ?? id);
}

function chooseSample(feature: RemoteJson): string {
  const text = JSON.stringify(feature);
  if (text.length <= SAMPLE_CHARACTERS) return text;
  const attributes = JSON.stringify({ ...feature, geometry: null });
  return attributes.length <= SAMPLE_CHARACTERS ? attributes : '{}';
}

function listDifferences(
  id: string,
  source: RemoteJson,
  target: RemoteJson,
  key: string,
  tolerance: number,
): FeatureDifference[] {
  const attributes = object(source['properties']);
  const copies = object(target['properties']);
  const differences = Object.entries(attributes).flatMap(([member, value]) =>
    member === key || isSame(value, copies[member])
      ? []
      : [
          {
            id,
            member: member.slice(0, NAME_CHARACTERS),
            detail: `${shortText(value)} has become ${shortText(copies[member])}`,
          },
        ],
  );
  const detail = geometryDifference(source['geometry'], target['geometry'], tolerance);
  return detail === undefined ? differences : [{ id, member: 'geometry', detail }, ...differences];
}

const shortText = (value: unknown) => (JSON.stringify(value) ?? 'nothing').slice(0, DETAIL_CHARACTERS);

function isSame(a: unknown, b: unknown): boolean {
  if ((a ?? null) === (b ?? null)) return true;
  if (typeof a === 'number' && typeof b === 'number')
    return Math.abs(a - b) <= EPSILON * Math.max(1, Math.abs(a), Math.abs(b));
  if (typeof a === 'boolean' && typeof b === 'number') return Number(a) === b;
  if (typeof a === 'string' && typeof b === 'string') return isSameInstant(a, b);
  // Objects and lists are texts in a table.
  if (typeof a === 'object' && a !== null)
    return JSON.stringify(a) === (typeof b === 'string' ? normal(b) : JSON.stringify(b));
  return false;
}

function normal(json: string): string {
  try {
    return JSON.stringify(JSON.parse(json));
  } catch {
    return json;
  }
}

/** GeoServer writes days with a zone: `2026-01-02Z`. */
const INSTANT = /^\d{4}-\d\d-\d\d(T[\d:.]+)?(Z|[+-]\d\d:?\d\d)?$/;

function isSameInstant(a: string, b: string): boolean {
  if (!INSTANT.test(a) || !INSTANT.test(b)) return false;
  if (a.length <= 11 && b.length <= 11) return a.slice(0, 10) === b.slice(0, 10);
  return Date.parse(a) === Date.parse(b);
}
