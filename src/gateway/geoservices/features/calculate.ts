import { plainFields } from '../../../core/access/field-masks.js';
import type { VectorCollection } from '../../../core/catalog/collection.js';
import type { Operand } from '../../../core/cql2/index.js';
import { badParameter } from '../../../core/errors/errors.js';
import { defaultCrs } from '../../../core/geometry/crs.js';
import { sentFeature } from '../../../core/geoservices/geoservices-features.js';
import { defineOperation, type Operation } from '../../../core/http/operation.js';
import type { Field, FieldType } from '../../../core/sources/vector-source.js';
import type { JsonText } from '../../../core/values/json-text.js';
import { editError } from '../../../services/edits/edit-error.js';
import { coordinatesIn, type EditDeps } from '../../../services/edits/target.js';
import { parseValueExpression } from '../../../services/geoservices/where.js';
import { esriLayer } from '../../../services/replicas/layer-view.js';
import { auditResource } from '../../../stores/audit/audit-scope.js';
import { jsonReply } from '../images/in-band.js';
import { layerCrs } from '../layer-documents.js';
import { GEOSERVICES_LIMITS } from '../limits.js';
import { type Members, readChoiceMember, readObjectsMember, readTextMember } from '../members.js';
import {
  editForm,
  layerNumberParam,
  layerTarget,
  requireEditLayer,
  requirePlain,
  serviceId,
} from './edit-plan.js';
import { common, documentFormat, mergeParameters, SERVER } from './feature-server.js';
import { parseQueryFilter } from './query-request.js';

const PARAMETER = 'calcExpression';
const MAX_TEXT = 4000;
/** Functions of PostgreSQL take no more arguments. */
const MAX_ASSIGNMENTS = 100;
/** Kinds of values that a field takes. */
const KINDS: Readonly<Partial<Record<FieldType, readonly string[]>>> = {
  integer: ['number'],
  number: ['number'],
  string: ['string'],
  boolean: ['boolean'],
  date: ['date'],
  'date-time': ['timestamp'],
};

/** New values of fields for all features that pass a condition, in one transaction. */
export function calculateOperation(deps: EditDeps): Operation {
  return defineOperation({
    ...common('FeatureServer', 'calculate'),
    method: 'POST',
    audited: true,
    body: editForm,
    params: { serviceId, layerId: layerNumberParam },
    repeatable: true,
    id: 'geoservices.calculate',
    path: `/rest/services/{serviceId}/${SERVER}/{layerId}/calculate`,
    summary: 'Set fields to values that are computed',
    async run(x) {
      const members = mergeParameters(x);
      const format = documentFormat(members);
      requirePlain(members);
      const layer = requireEditLayer(deps, x, x.params.serviceId, x.params.layerId);
      const { collection, task } = layerTarget(x, deps, layer);
      readChoiceMember(members, 'sqlFormat', { values: ['none', 'standard'], fallback: 'standard' });
      const filter = parseQueryFilter(layer, members);
      const { outcomes } = await deps.edits.run(x, collection, {
        ...task,
        ...coordinatesIn(layerCrs(layer), 'x-y'),
        mode: 'atomic',
        operations: [],
        calculation: {
          ...assignments(layer, members),
          filter,
          maxFeatures: GEOSERVICES_LIMITS.calculatedFeatures,
        },
      });
      const failure = outcomes.find((outcome) => !outcome.ok);
      if (failure && !failure.ok) throw editError(failure);
      auditResource(layer.id, { operations: outcomes.length, succeeded: outcomes.length });
      return jsonReply({ success: true, updatedFeatureCount: outcomes.length }, format);
    },
  });
}

/** Throws 400 for values that a field cannot have. */
function assignments(layer: VectorCollection, members: Members) {
  const list = readObjectsMember(members, PARAMETER, MAX_ASSIGNMENTS) ?? [];
  if (list.length === 0) throw badParameter(PARAMETER, 'is required');
  const fields = new Map(layer.source.fields.map((field) => [field.name.toLowerCase(), field]));
  const values: Record<string, JsonText> = {};
  const expressions: Record<string, Operand> = {};
  for (const one of list) {
    const name = readTextMember(one, 'field', MAX_TEXT) ?? '';
    const field = fields.get(name.toLowerCase());
    if (!field || field.generated || field.isMasked)
      throw badParameter(PARAMETER, `'${name.slice(0, 60)}' is not a field that can be changed`);
    if (Object.hasOwn(values, field.name) || Object.hasOwn(expressions, field.name))
      throw badParameter(PARAMETER, `has the field '${field.name}' twice`);
    const sql = readTextMember(one, 'sqlExpression', MAX_TEXT);
    if (sql !== undefined && 'value' in one)
      throw badParameter(PARAMETER, `has both a value and an expression for ${field.name}`);
    if (sql !== undefined) expressions[field.name] = parseOperand(layer, field, sql);
    else if ('value' in one) Object.assign(values, literal(layer, field, one['value']));
    else throw badParameter(PARAMETER, `must have value or sqlExpression for ${field.name}`);
  }
  return { values, expressions };
}

function parseOperand(layer: VectorCollection, { name, type }: Field, sql: string): Operand {
  const { source } = layer;
  const schema = { ...source, fields: plainFields(source.fields), filterCrs: defaultCrs(layer) };
  const { operand, kind } = parseValueExpression(PARAMETER, sql, schema, { now: Date.now() });
  const kinds = KINDS[type] ?? [];
  if (!kinds.includes(kind))
    throw badParameter(PARAMETER, `is a ${kind}, which does not fit the field ${name} of type ${type}`);
  return operand;
}

/** A value as clients of GeoServices write it: instants are milliseconds. */
function literal(
  layer: VectorCollection,
  { name }: Field,
  value: unknown,
): Readonly<Record<string, JsonText>> {
  return sentFeature({ attributes: { [name]: value } }, esriLayer(layer)).values;
}
