import { hasFeatures } from '../../../core/catalog/abilities.js';
import { type Collection, type VectorCollection, whole } from '../../../core/catalog/collection.js';
import type { FieldSettings, LayerSettings, Relationship } from '../../../core/catalog/layer-settings.js';
import { Cql2Error } from '../../../core/cql2/index.js';
import { ApiError } from '../../../core/errors/errors.js';
import {
  type DomainCode,
  type Field,
  type FieldType,
  isDecimal,
  type VectorSource,
} from '../../../core/sources/vector-source.js';
import type { TableCheck } from '../../../core/tasks/table-tasks.js';
import { canonicalDigits, toDouble, toInt64, writeDigits } from '../../../core/values/exact-number.js';
import { stringifyExactly } from '../../../core/values/json.js';
import { permanentRows } from './effective-collection.js';

/** Whether the settings of a layer still fit its data. */
export function checkLayer(
  collection: Collection,
  settings: LayerSettings,
  layers: readonly Collection[],
): TableCheck[] {
  if (!hasFeatures(collection))
    return [pass('layer.kind', 'It has no fields and rows that settings could name.')];
  const { source } = whole(collection);
  return [
    ...checkStore(source),
    ...checkFields(settings, source),
    ...checkTime(settings, source),
    ...checkFilter(settings, { ...collection, source }),
    ...(settings.relationships ?? []).map((one) => checkRelationship(one, source, layers)),
  ];
}

function checkStore({ hasIndex, geometryType, fields }: VectorSource): TableCheck[] {
  return [
    hasIndex
      ? pass('layer.index', 'A spatial index covers the geometry.')
      : warning('layer.index', 'No spatial index covers the geometry: tiles and boxes read all rows.'),
    geometryType === 'Geometry'
      ? warning('layer.geometry', 'The geometry column does not declare its geometry type.')
      : pass('layer.geometry', `Geometries are of type ${geometryType}.`),
    fields.length > 0
      ? pass('layer.fields', `It has ${fields.length} fields.`)
      : warning('layer.fields', 'It has no fields besides the id and the geometry.'),
  ];
}

function checkFields({ fields = [] }: LayerSettings, source: VectorSource): TableCheck[] {
  return fields.map(({ name, domain }) => {
    const field = source.fields.find((one) => one.name === name);
    if (!field) return error('field.missing', `The field ${name} no longer exists.`);
    const wrong = domain && domainProblem(field, domain);
    return wrong === undefined
      ? pass('field.settings', `The settings of ${name} fit.`)
      : error('field.domain', `The domain of ${name} does not fit: ${wrong}.`);
  });
}

/** Why values of a domain cannot be values of a field. */
export function domainProblem(
  field: Field,
  domain: NonNullable<FieldSettings['domain']>,
): string | undefined {
  const { type } = field;
  if (domain.type === 'range')
    return type === 'integer' || type === 'number' ? undefined : `a field of type ${type} has no range`;
  const { codedValues } = domain;
  const form = type === 'integer' || type === 'number' ? 'number' : 'string';
  if (form === 'string' && type !== 'string') return `a field of type ${type} has no coded values`;
  const wrong = codedValues.find(
    ({ code }) => !(form === 'string' ? typeof code === form : fits(code, field)),
  );
  if (wrong) return `the code ${stringifyExactly(wrong.code)} is not a value of the column. ${CODES[type]}`;
  const codes = new Set(codedValues.map(({ code }) => canonicalDigits(writeDigits(code))));
  return codes.size < codedValues.length ? 'a code is given twice' : undefined;
}

const CODES: Readonly<Partial<Record<FieldType, string>>> = {
  string: 'Send strings',
  integer: 'Send integers of 64 bits',
  number: 'Send numbers that the column stores exactly: integers, or at most 15 digits',
};

/** Whether a numeric column can store a code with all its digits. */
function fits(code: DomainCode, field: Field): boolean {
  if (typeof code === 'string') return false;
  if (field.type === 'integer') return toInt64(code) !== undefined;
  return isDecimal(field) || canonicalDigits(String(toDouble(code))) === canonicalDigits(writeDigits(code));
}

function checkTime({ timeInfo }: LayerSettings, source: VectorSource): TableCheck[] {
  if (!timeInfo) return [];
  const names = [timeInfo.startTimeField, timeInfo.endTimeField, timeInfo.trackIdField];
  return names
    .filter((name) => name !== null)
    .map((name) =>
      source.fields.some((field) => field.name === name)
        ? pass('time.field', `${name} is there.`)
        : error('time.field', `The field ${name} no longer exists.`),
    );
}

function checkFilter({ filter }: LayerSettings, collection: VectorCollection): TableCheck[] {
  if (!filter) return [];
  try {
    permanentRows(filter, collection);
    return [pass('filter', 'The permanent filter fits.')];
  } catch (problem) {
    if (!(problem instanceof Cql2Error || problem instanceof ApiError)) throw problem;
    return [error('filter', `The permanent filter does not fit, so the layer is empty: ${problem.message}`)];
  }
}

function checkRelationship(
  { name, relatedLayerId, originField, destinationField, role }: Relationship,
  source: VectorSource,
  layers: readonly Collection[],
): TableCheck {
  const related = layers.find(({ layerId }) => layerId === relatedLayerId);
  if (!hasFeatures(related))
    return error('relationship', `${name}: there is no layer ${relatedLayerId} with features.`);
  const [own, other] = role === 'origin' ? [originField, destinationField] : [destinationField, originField];
  if (!hasField(source, own)) return error('relationship', `${name}: the layer has no field ${own}.`);
  if (!hasField(whole(related).source, other))
    return error('relationship', `${name}: ${related.id} has no field ${other}.`);
  return pass('relationship', `${name} fits.`);
}

/** The id counts: relationships often are by it. */
export function hasField({ fields, idColumn }: VectorSource, name: string): boolean {
  return name === idColumn || fields.some((field) => field.name === name);
}

const pass = (code: string, message: string): TableCheck => ({ code, severity: 'pass', message });
const warning = (code: string, message: string): TableCheck => ({ code, severity: 'warning', message });
const error = (code: string, message: string): TableCheck => ({ code, severity: 'error', message });
