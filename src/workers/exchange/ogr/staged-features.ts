/** Features of GeoJSON that go into a collection: a staging GeoPackage keeps their text, which OGR would read as its own types. */

import { FEATURE_COLUMN, PROPERTY_TABLE } from '../../../core/edits/merges.js';
import { TaskFailure } from '../../../core/errors/failure.js';
import type { StageTask, TranslateResult } from '../../../core/exchange/ogr.js';
import Database from '../../../native/sqlite.js';
import { removePart } from '../../gdal/parts.js';
import { quote } from '../../providers/geopackage/connection.js';
import { addCrs, createCore } from '../../providers/geopackage/schema/create.js';
import { featureTextsIn } from '../geojson/features.js';
import { ReplacedCharacters } from './damaged-text.js';
import { commitOutput, describeTranslationFailure } from './translation.js';

/** Description of the texts. */
export interface FeatureTexts {
  path: string;
  crs: string;
  maxFeatures: number;
  /** Features that OGR counts, by which progress is reported. */
  count: number;
}

/** Writes `part`, then renames it to its final name. Undefined, without a file, for a file of another form. */
export async function writeStagedFeatures(
  { output, table }: Pick<StageTask, 'output' | 'table'>,
  texts: FeatureTexts,
  part: string,
  onProgress: (fraction: number) => void,
): Promise<TranslateResult | undefined> {
  const replaced = new ReplacedCharacters();
  try {
    const features = await writeTexts(part, table, { ...texts, replaced }, onProgress);
    if (features === 0 && texts.count > 0) return undefined;
    await commitOutput(part, output);
    return { features, ...(replaced.notes.length > 0 && { notes: replaced.notes }) };
  } catch (error) {
    throw await describeTranslationFailure(
      part,
      'The file could not be read: it is damaged or incomplete.',
      error,
    );
  } finally {
    await removePart(part);
  }
}

/** Rows between two reports of progress. */
const STEP = 1000;

async function writeTexts(
  part: string,
  table: string,
  { path, crs, maxFeatures, count, replaced }: FeatureTexts & { replaced: ReplacedCharacters },
  onProgress: (fraction: number) => void,
): Promise<number> {
  const db = new Database(part);
  try {
    // The file is removed after any failure, and read by other tasks only when it is complete.
    db.pragma('journal_mode = OFF');
    db.pragma('synchronous = OFF');
    createTables(db, table, crs);
    const insert = db.prepare(`INSERT INTO ${quote(table)} (${FEATURE_COLUMN}) VALUES (?)`);
    const names = new Set<string>();
    let features = 0;
    db.exec('BEGIN');
    for await (const text of featureTextsIn(path)) {
      features++;
      for (const name of propertyNames(text, features)) names.add(name);
      replaced.add(text, features);
      insert.run(text);
      if (features === maxFeatures) break;
      if (features % STEP === 0) onProgress(Math.min(1, features / Math.max(1, count)));
    }
    const keep = db.prepare(`INSERT INTO ${PROPERTY_TABLE} (name) VALUES (?)`);
    for (const name of names) keep.run(name);
    db.exec('COMMIT');
    return features;
  } finally {
    db.close();
  }
}

function createTables(db: Database.Database, table: string, crs: string): void {
  createCore(db);
  const srsId = addCrs(db, crs);
  db.exec(`CREATE TABLE ${quote(table)} (fid INTEGER PRIMARY KEY NOT NULL, geom GEOMETRY, ${FEATURE_COLUMN} TEXT);
    CREATE TABLE ${PROPERTY_TABLE} (n INTEGER PRIMARY KEY, name TEXT NOT NULL)`);
  db.prepare("INSERT INTO gpkg_contents (table_name, data_type, srs_id) VALUES (?, 'features', ?)").run(
    table,
    srsId,
  );
  db.prepare("INSERT INTO gpkg_geometry_columns VALUES (?, 'geom', 'GEOMETRY', ?, 2, 2)").run(table, srsId);
}

/** Fails with `source-unreadable` for text that is not JSON. */
function propertyNames(text: string, feature: number): string[] {
  try {
    const { id, properties } = JSON.parse(text) as { id?: unknown; properties?: unknown };
    const isObject = typeof properties === 'object' && properties !== null && !Array.isArray(properties);
    return [...(isObject ? Object.keys(properties) : []), ...(typeof id === 'string' ? ['id'] : [])];
  } catch {
    throw new TaskFailure('source-unreadable', `Feature ${feature} of the file is not JSON.`);
  }
}
