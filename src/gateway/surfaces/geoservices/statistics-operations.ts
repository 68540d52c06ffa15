import type { FeatureRow } from '../../../core/features.js';
import { type EsriField, esriFieldOf, esriValue } from '../../../core/geoservices-features.js';
import type { Exchange, Reply } from '../../../core/operation.js';
import type { Pools } from '../../../core/tasks.js';
import { runTask } from '../../../services/run-task.js';
import { jsonReply } from './in-band.js';
import { countPbf, groupsPbf } from './pbf-documents.js';
import type { GroupColumn, GroupsRequest } from './statistics-request.js';

/** Answers about groups of features: each group is a feature without a geometry. */

export async function groupsReply(x: Exchange, pools: Pools, request: GroupsRequest): Promise<Reply> {
  const { format, task, columns } = request;
  const text = format === 'pjson' ? 'pjson' : 'json';
  if (request.answer === 'count') {
    const { sort: _, limit: __, offset: ___, ...grouping } = task;
    const count = await runTask(x, pools, 'vector.groupCount', grouping);
    return format === 'pbf' ? countPbf(count) : jsonReply({ count }, text);
  }
  const { rows, more } = await runTask(x, pools, 'vector.groups', task);
  const groups = rows.map((values) => attributesOf(values, columns));
  const limit = more ? { exceededTransferLimit: true } : {};
  if (format === 'geojson')
    return {
      ...jsonReply({
        type: 'FeatureCollection',
        ...(more ? { properties: limit } : {}),
        features: groups.map((properties) => ({ type: 'Feature', geometry: null, properties })),
      }),
      mediaType: 'application/geo+json',
    };
  const fields = columns.map(fieldOf);
  if (format === 'pbf')
    return groupsPbf(
      fields,
      groups.map((attributes) => fields.map(({ name }) => attributes[name])),
      more,
    );
  const features = groups.map((attributes) => ({ attributes }));
  return jsonReply({ displayFieldName: '', fields, ...limit, features }, text);
}

function attributesOf(values: FeatureRow['values'], columns: readonly GroupColumn[]) {
  return Object.fromEntries(
    columns.map(({ field: { name, type }, place }) => [name, numberOr(esriValue(values[place], type))]),
  );
}

/** JSON has no integers of 64 bits: what a double cannot hold loses digits. */
const numberOr = (value: unknown) => (typeof value === 'bigint' ? Number(value) : value);

function fieldOf({ field, isCount }: GroupColumn): Pick<EsriField, 'name' | 'type' | 'alias' | 'length'> {
  const { name, type, alias, length } = esriFieldOf(field);
  return {
    name,
    type: isCount ? 'esriFieldTypeInteger' : type,
    alias,
    ...(length === undefined ? {} : { length }),
  };
}
