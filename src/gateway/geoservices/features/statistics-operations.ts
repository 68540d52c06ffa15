import type { FeatureRow } from '../../../core/features/features.js';
import {
  createEsriField,
  type EsriField,
  esriValue,
} from '../../../core/geoservices/geoservices-features.js';
import type { Exchange, Reply } from '../../../core/http/operation.js';
import type { FieldType } from '../../../core/sources/vector-source.js';
import type { Pools } from '../../../core/tasks/tasks.js';
import { readNumber } from '../../../core/values/exact-number.js';
import { runTask } from '../../../services/kit/run-task.js';
import { jsonReply } from '../images/in-band.js';
import { countPbf, groupsPbf } from './pbf-documents.js';
import type { QueryFormat } from './query-request.js';
import type { GroupColumn, GroupsRequest } from './statistics-request.js';

/** Responses with groups of features: each group is a feature without a geometry. */

export async function groupsReply(x: Exchange, pools: Pools, request: GroupsRequest): Promise<Reply> {
  const { format, task, columns } = request;
  const text = format === 'pjson' ? 'pjson' : 'json';
  if (request.answer === 'count') {
    const { sort: _, limit: __, offset: ___, ...grouping } = task;
    const count = await runTask(x, pools, 'vector.groupCount', grouping);
    return format === 'pbf' ? countPbf(count) : jsonReply({ count }, text);
  }
  const { rows, more } = await runTask(x, pools, 'vector.groups', task);
  const groups = rows.map((values) => buildAttributes(values, columns));
  return tableReply(format, columns.map(describeColumn), groups, more);
}

/** Rows of values as features without geometries. */
export function tableReply(
  format: QueryFormat,
  fields: readonly TableField[],
  rows: readonly Readonly<Record<string, unknown>>[],
  more: boolean,
): Reply {
  const limit = more ? { exceededTransferLimit: true } : {};
  if (format === 'geojson')
    return {
      ...jsonReply({
        type: 'FeatureCollection',
        ...(more ? { properties: limit } : {}),
        features: rows.map((properties) => ({ type: 'Feature', geometry: null, properties })),
      }),
      mediaType: 'application/geo+json',
    };
  if (format === 'pbf')
    return groupsPbf(
      fields,
      rows.map((attributes) => fields.map(({ name }) => attributes[name])),
      more,
    );
  const features = rows.map((attributes) => ({ attributes }));
  return jsonReply(
    { displayFieldName: '', fields, ...limit, features },
    format === 'pjson' ? 'pjson' : 'json',
  );
}

function buildAttributes(values: FeatureRow['values'], columns: readonly GroupColumn[]) {
  return Object.fromEntries(
    columns.map(({ field: { name, type }, place }) => [name, tableValue(values[place], type)]),
  );
}

/** A value of a group in GeoServices form. Decimals that a double cannot represent are returned as text. */
export function tableValue(value: unknown, type: FieldType): unknown {
  const isText = type === 'number' && typeof value === 'string';
  return esriValue(isText ? (readNumber(value) ?? value) : value, type);
}

export type TableField = Pick<EsriField, 'name' | 'type' | 'alias' | 'length'>;

export function describeColumn({ field, isCount }: Omit<GroupColumn, 'place'>): TableField {
  const { name, type, alias, length } = createEsriField(field);
  return {
    name,
    type: isCount ? 'esriFieldTypeInteger' : type,
    alias,
    ...(length === undefined ? {} : { length }),
  };
}
