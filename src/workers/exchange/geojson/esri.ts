/** Esri JSON as GeoJSON: GDAL's driver has no integers of 64 bits and no dates. */

import { readFile, stat, writeFile } from 'node:fs/promises';
import { basename, extname, join } from 'node:path';
import { TaskFailure } from '../../../core/errors/failure.js';
import { noteTextTimes } from '../../../core/features/value-notes.js';
import { GeoServicesGeometryError, parseEsriGeometry } from '../../../core/geometry/geoservices-geometry.js';
import { writeEpochTime } from '../../../core/values/epoch-time.js';
import { formatDecimal, isExactNumber } from '../../../core/values/exact-number.js';
import { parseJsonExactly, stringifyExactly } from '../../../core/values/json.js';
import { xmlEscaped } from '../../../core/values/xml-text.js';
import { readDatasetCrs } from '../../gdal/crs.js';
import { nameDriver, nameFeatures, noteDataset } from '../../gdal/dataset-notes.js';
import { type Dataset, openWith } from '../../gdal/gdal.js';
import { openInScratch } from '../../gdal/scratch.js';
import { readFacts, writeCopy } from './open.js';
import type { ValueReadOptions } from './values.js';

type Json = Readonly<Record<string, unknown>>;

interface EsriField {
  name: string;
  type: string;
}

/** Maximum bytes of the text, which is read into memory. */
const MAX_BYTES = 256 << 20;
const DRIVER = 'ESRIJSON';

/** Opens a feature set as a virtual dataset of its GeoJSON, which has the types that the set declares. */
export async function openEsriJson(path: string, exactness: ValueReadOptions): Promise<Dataset> {
  const { size } = await stat(path);
  if (size > MAX_BYTES)
    throw new TaskFailure(
      'too-large',
      `The Esri JSON file has ${size} bytes; at most ${MAX_BYTES} are read.`,
    );
  const set = featureSetIn(await readFile(path, 'utf8'));
  // GDAL may still read a document that is not a feature set, or report its problem.
  if (!set) return openWith(path, [DRIVER]);
  const fields = readFields(set);
  const name = basename(path, extname(path));
  const notes: string[] = [];
  let plain = '';
  const dataset = await openInScratch('esri', async (folder) => {
    plain = join(folder, 'features.geojson');
    const crs = await readCrs(set, folder);
    await writeFile(plain, formatGeoJson(set, fields), { mode: 0o600 });
    const facts = await readFacts(plain);
    const forms = facts.forms();
    const isText = ({ name, type }: EsriField) =>
      forms.has(name) || (DATE.test(type) && facts.hasOtherText(name));
    const texts = fields.filter(({ name, type }) => DATE.test(type) && facts.hasOtherText(name));
    notes.push(...facts.notes(forms), ...noteTextTimes(texts.map(({ name }) => name)));
    const copy = join(folder, 'copy.geojson');
    if (forms.size > 0) await writeCopy(plain, copy, forms);
    const wrapper = join(folder, 'features.vrt');
    const source = basename(forms.size > 0 ? copy : plain);
    await writeFile(wrapper, virtualDataset({ source, name, crs, fields, isText }));
    return openWith(wrapper, ['OGR_VRT']);
  });
  nameDriver(dataset, DRIVER);
  if (exactness.keepsValues) {
    nameFeatures(dataset, plain);
    return dataset;
  }
  for (const note of notes) noteDataset(dataset, note);
  return dataset;
}

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const objectsIn = (value: unknown): Json[] => (Array.isArray(value) ? value.filter(isObject) : []);

function featureSetIn(text: string): Json | undefined {
  try {
    const set = parseJsonExactly(text.replace(/^\uFEFF/, ''), ['attributes']);
    return isObject(set) && Array.isArray(set['features']) ? set : undefined;
  } catch {
    return undefined;
  }
}

/** The WKT of the CRS of a set: GDAL knows how Esri names them. */
async function readCrs({ spatialReference }: Json, folder: string): Promise<string | undefined> {
  if (!isObject(spatialReference)) return undefined;
  const path = join(folder, 'crs.json');
  const fields = [{ name: 'a', type: 'esriFieldTypeString' }];
  const feature = { attributes: { a: '' }, geometry: { x: 0, y: 0 } };
  const set = { geometryType: 'esriGeometryPoint', spatialReference, fields, features: [feature] };
  await writeFile(path, JSON.stringify(set));
  const dataset = await openWith(path, [DRIVER]);
  try {
    return readDatasetCrs(dataset.layers.get(0))?.srs.toWKT();
  } finally {
    dataset.close();
  }
}

const [UNREADABLE, DATE, INTEGER, REAL] = [
  /^esriFieldType(Geometry|Blob|Raster)$/,
  /^esriFieldTypeDate$/,
  /^esriFieldType(OID|SmallInteger|Integer|BigInteger)$/,
  /^esriFieldType(Single|Double)$/,
];

function readFields({ fields }: Json): EsriField[] {
  return objectsIn(fields).flatMap(({ name, type }) =>
    typeof name === 'string' && typeof type === 'string' && !UNREADABLE.test(type) ? [{ name, type }] : [],
  );
}

function formatGeoJson(set: Json, fields: readonly EsriField[]): string {
  const idField = findIdField(set, fields);
  const types = new Map(fields.map(({ name, type }) => [name, type]));
  const features = objectsIn(set['features']).map((feature) => {
    const attributes = isObject(feature['attributes']) ? feature['attributes'] : {};
    const properties = Object.entries(attributes)
      .filter(([name]) => types.size === 0 || types.has(name))
      .map(([name, value]) => [name, plainValue(value, types.get(name))]);
    const id = idField === undefined ? undefined : attributes[idField];
    return stringifyExactly({
      type: 'Feature',
      ...(typeof id === 'number' && id >= 0 ? { id } : {}),
      geometry: readShape(feature['geometry'], set['hasZ'] === true),
      properties: Object.fromEntries(properties),
    });
  });
  return `{"type":"FeatureCollection","features":[${features.join(',\n')}]}`;
}

function findIdField({ objectIdFieldName }: Json, fields: readonly EsriField[]): string | undefined {
  if (typeof objectIdFieldName === 'string') return objectIdFieldName;
  return fields.find(({ type }) => type === 'esriFieldTypeOID')?.name;
}

function plainValue(value: unknown, type = ''): unknown {
  if (value === undefined || value === null) return null;
  if (DATE.test(type) && (typeof value === 'number' || isExactNumber(value)))
    return writeEpochTime(value) ?? formatDecimal(value);
  if (REAL.test(type) && typeof value === 'string' && /^(NaN|-?Infinity)$/i.test(value)) return null;
  return value;
}

function readShape(geometry: unknown, hasZ: boolean) {
  try {
    return parseEsriGeometry(geometry, hasZ);
  } catch (error) {
    if (!(error instanceof GeoServicesGeometryError)) throw error;
    throw new TaskFailure('source-unreadable', `The Esri JSON file cannot be read: ${error.message}.`);
  }
}

interface EsriLayerSource {
  source: string;
  name: string;
  crs: string | undefined;
  fields: readonly EsriField[];
  /** Whether a field has values of other types than its own. */
  isText(field: EsriField): boolean;
}

function virtualDataset({ source, name, crs, fields, isText }: EsriLayerSource): string {
  const columns = fields.map((field) => {
    const type = isText(field) ? 'String' : chooseOgrType(field.type);
    return `<Field name="${xmlEscaped(field.name)}" src="${xmlEscaped(field.name)}" type="${type}"/>`;
  });
  return `<OGRVRTDataSource><OGRVRTLayer name="${xmlEscaped(name)}">
    <SrcDataSource relativeToVRT="1">${xmlEscaped(source)}</SrcDataSource>
    <OpenOptions><OOI key="DATE_AS_STRING">${fields.length === 0 ? 'NO' : 'YES'}</OOI></OpenOptions>
    <SrcLayer>${xmlEscaped(source.replace(/\.geojson$/, ''))}</SrcLayer>
    <LayerSRS>${crs === undefined ? 'NULL' : xmlEscaped(crs)}</LayerSRS>
    ${columns.join('')}</OGRVRTLayer></OGRVRTDataSource>`;
}

function chooseOgrType(type: string): string {
  if (DATE.test(type)) return 'DateTime';
  if (INTEGER.test(type)) return 'Integer64';
  if (REAL.test(type)) return 'Real';
  return type === 'esriFieldTypeDateOnly' ? 'Date' : 'String';
}
