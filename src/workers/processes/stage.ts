import { readFileSync } from 'node:fs';
import { TaskFailure } from '../../core/errors/failure.js';
import { noteRoundedNumbers, noteTextNumbers } from '../../core/features/value-notes.js';
import type { StagedFeatures, StageFeaturesTask } from '../../core/processes/feature-processes.js';
import { PROCESS_LIMITS } from '../../core/processes/limits.js';
import type { FieldType } from '../../core/sources/vector-source.js';
import {
  canonicalDigits,
  type ExactNumber,
  isExactNumber,
  toDouble,
  toInt64,
} from '../../core/values/exact-number.js';
import { parseJsonExactly, stringifyExactly } from '../../core/values/json.js';
import { geojsonToWkb, wkbToGeoPackage } from '../../native/index.js';
import type { Cancellation } from '../threads/cancellation.js';
import { type Attribute, FeatureTable, type TableValue } from './table.js';

interface Feature {
  geometry: unknown;
  properties: Record<string, unknown> | null;
}

const CRS = 'OGC:CRS84';
const LOOK_EVERY = 1000;

/** Task `process.stage`: converts GeoJSON features (RFC 7946) to a table. Nested values become JSON text. */
export function stageFeatures(
  { path, output }: StageFeaturesTask,
  cancellation?: Cancellation,
): StagedFeatures {
  const features = featuresIn(readFileSync(path, 'utf8'));
  const { attributes, notes } = parseAttributes(features);
  const table = FeatureTable.create(output, CRS, attributes);
  try {
    features.forEach(({ geometry, properties }, i) => {
      if (i % LOOK_EVERY === 0) cancellation?.check();
      const values = attributes.map(({ name, type }) => storedValue(properties?.[name], type));
      table.add(parseBlob(geometry, i, table.srsId), values);
    });
    return { features: table.finish({ draft: true }), notes };
  } finally {
    table.abandon();
  }
}

/** A FeatureCollection, a feature, or a geometry. */
function featuresIn(text: string): Feature[] {
  const json = parsed(text) as Record<string, unknown>;
  if (json?.['type'] === 'FeatureCollection' && Array.isArray(json['features']))
    return json['features'].map(asFeature);
  return [json?.['type'] === 'Feature' ? asFeature(json) : { geometry: json, properties: null }];
}

function parsed(text: string): unknown {
  try {
    return parseJsonExactly(text, ['properties']);
  } catch (error) {
    throw new TaskFailure('invalid-input', `The features are not JSON: ${(error as Error).message}`);
  }
}

function asFeature(value: unknown): Feature {
  const { type, geometry, properties } = (value ?? {}) as Record<string, unknown>;
  if (type !== 'Feature')
    throw new TaskFailure('invalid-input', 'The features contain an entry that is not a Feature.');
  const isObject = typeof properties === 'object' && properties !== null && !Array.isArray(properties);
  return {
    geometry: geometry ?? null,
    properties: isObject ? (properties as Record<string, unknown>) : null,
  };
}

function parseBlob(geometry: unknown, index: number, srsId: number): Uint8Array | null {
  if (geometry === null) return null;
  try {
    return wkbToGeoPackage(geojsonToWkb(JSON.stringify(geometry), { from: CRS, to: CRS }), srsId);
  } catch (error) {
    throw new TaskFailure(
      'invalid-input',
      `The geometry of feature ${index} is wrong: ${(error as Error).message}`,
    );
  }
}

/** A column for each property, of the type that all of its values have. */
function parseAttributes(features: readonly Feature[]): { attributes: Attribute[]; notes: string[] } {
  const kinds = new Map<string, Set<Kind>>();
  const cases = new Map<string, string>();
  for (const { properties } of features) {
    for (const [name, value] of Object.entries(properties ?? {})) {
      if (name.includes('\0'))
        throw new TaskFailure('invalid-input', 'The name of a property has a null character.');
      if (!kinds.has(name) && kinds.size >= PROCESS_LIMITS.processProperties)
        throw new TaskFailure(
          'too-large',
          `The features have more than ${PROCESS_LIMITS.processProperties} properties.`,
        );
      const first = cases.get(name.toLowerCase());
      if (first !== undefined && first !== name)
        throw new TaskFailure(
          'invalid-input',
          `The properties ${first} and ${name} differ only in their case. Rename one.`,
        );
      cases.set(name.toLowerCase(), name);
      const own = kinds.get(name) ?? new Set();
      kinds.set(name, own);
      const kind = readKind(value);
      if (kind) own.add(kind);
    }
  }
  return {
    attributes: [...kinds].map(([name, own]) => ({ name, type: buildType(own) })),
    notes: listNotes(kinds),
  };
}

/** Integers beyond 2^53, those beyond 64 bits and numbers beyond all doubles, and decimals that a double rounds. */
type NumberKind = 'integer' | 'big' | 'huge' | 'number' | 'rounded';
type Kind = NumberKind | 'boolean' | 'string' | 'json';

function readKind(value: unknown): Kind | undefined {
  if (value === null || value === undefined) return undefined;
  if (typeof value === 'number') return Number.isSafeInteger(value) ? 'integer' : 'number';
  if (isExactNumber(value)) return exactKind(value);
  if (typeof value === 'boolean') return 'boolean';
  return typeof value === 'string' ? 'string' : 'json';
}

function exactKind(value: ExactNumber): NumberKind {
  if (toInt64(value) !== undefined) return 'big';
  const double = toDouble(value);
  if (canonicalDigits(String(double)) === canonicalDigits(String(value))) return 'number';
  return Number.isFinite(double) && String(value).includes('.') ? 'rounded' : 'huge';
}

const isText = (kinds: ReadonlySet<Kind>) =>
  kinds.has('huge') || (kinds.has('big') && (kinds.has('number') || kinds.has('rounded')));

function buildType(kinds: ReadonlySet<Kind>): FieldType {
  if (kinds.size === 0 || isText(kinds)) return 'string';
  const all = [...kinds];
  if (all.every((kind) => kind === 'integer' || kind === 'big')) return 'integer';
  if (all.every((kind) => kind === 'integer' || kind === 'number' || kind === 'rounded')) return 'number';
  const [kind] = all;
  return all.length === 1 && (kind === 'boolean' || kind === 'json') ? kind : 'string';
}

function listNotes(kinds: ReadonlyMap<string, ReadonlySet<Kind>>): string[] {
  const names = (test: (kinds: ReadonlySet<Kind>) => boolean) =>
    [...kinds].flatMap(([name, own]) => (test(own) ? [name] : []));
  return [
    ...noteTextNumbers(names(isText)),
    ...noteRoundedNumbers(names((own) => own.has('rounded') && buildType(own) === 'number')),
  ];
}

function storedValue(value: unknown, type: FieldType): TableValue {
  if (value === null || value === undefined) return null;
  if (isExactNumber(value)) return type === 'string' ? String(value) : (toInt64(value) ?? toDouble(value));
  if (typeof value === 'object') return stringifyExactly(value);
  return type === 'string' ? String(value) : (value as TableValue);
}
