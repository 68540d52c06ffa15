import { plainFields } from '../../../core/access/field-masks.js';
import { hasFeatures } from '../../../core/catalog/abilities.js';
import type { VectorCollection } from '../../../core/catalog/collection.js';
import { and, type Expression, literalPattern } from '../../../core/cql2/index.js';
import { badParameter } from '../../../core/errors/errors.js';
import type { MapSearch } from '../../../core/features/map-results.js';
import type { Operation } from '../../../core/http/operation.js';
import { pathString } from '../../../core/http/params.js';
import type { Field } from '../../../core/sources/vector-source.js';
import { readNumber } from '../../../core/values/exact-number.js';
import { common, documentFormat, readingOperation } from '../features/feature-server.js';
import { member } from '../features/query-members.js';
import { readFlagMember, readTextMember } from '../members.js';
import { mapChoice } from './map-choice.js';
import { createMapResultsReply, MAX_RESULTS, type MapLayerResults, mapResults } from './map-features.js';
import { listMapLayers, type MapDeps, numberedLayers } from './map-layers.js';

const MAX_TEXT = 200;

const params = {
  searchText: member('searchText', 'Text to find.'),
  contains: member('contains', 'Whether values can contain more than the text. Default: true.'),
  searchFields: member('searchFields', 'Names of fields. Default: all fields with text or numbers.'),
  layers: member('layers', 'Numbers of layers.'),
  layerDefs: member('layerDefs', 'SQL conditions by layer number, such as {"0":"a > 1"}.'),
  sr: member('sr', 'Spatial reference of the response. Default: that of the layer.'),
  returnGeometry: member('returnGeometry', 'Default: true.'),
};

/** Find features by field values. */
export function createFindOperations(deps: MapDeps): Operation[] {
  return readingOperation({
    about: common('MapServer', 'find', 'MapServer'),
    name: 'mapFind',
    params,
    path: '/rest/services/{serviceId}/MapServer/find',
    pathParams: { serviceId: pathString('serviceId', 'Name of a service.') },
    summary: 'Find features by field values',
    async run(x, { serviceId }, members) {
      const all = numberedLayers(listMapLayers(deps, x.principal, serviceId!));
      const text = readTextMember(members, 'searchText', MAX_TEXT);
      if (text === undefined) throw badParameter('searchText', 'is required');
      const search = { text, contains: readFlagMember(members, 'contains', true) };
      const { layers, filters } = mapChoice(all, members, deps.visible(x.principal));
      const query = {
        ...(members['sr'] ? { outSR: members['sr'] } : {}),
        returnGeometry: readFlagMember(members, 'returnGeometry', true),
      };
      const names = readTextMember(members, 'searchFields', 8000)?.split(',');
      const pretty = documentFormat(members) === 'pjson';
      const results: MapLayerResults[] = [];
      let count = 0;
      for (const layer of layers.filter(hasFeatures)) {
        const limit = MAX_RESULTS - count;
        const fields = searched(layer, names);
        const matches = fields.flatMap((field) => matching(field, search) ?? []);
        if (matches.length === 0 || limit <= 0) continue;
        const match: Expression = matches.length === 1 ? matches[0]! : { op: 'or', args: matches };
        const found = await mapResults(x, deps.pools, layer, {
          query,
          limit,
          pretty,
          filter: and(filters.get(layer.id), match),
          search: { ...search, fields: fields.map(({ name }) => name) },
        });
        results.push(found);
        count += found.count;
      }
      return createMapResultsReply(results, pretty);
    },
  });
}

type Search = Pick<MapSearch, 'text' | 'contains'>;

/** Fields that are looked through. Names that a layer does not have are those of another one. */
function searched({ source }: VectorCollection, names: readonly string[] | undefined): Field[] {
  const choice = names && new Set(names.map((name) => name.trim().toLowerCase()));
  return plainFields(source.fields).filter(
    ({ name, type }) =>
      ['string', 'integer', 'number'].includes(type) && (!choice || choice.has(name.toLowerCase())),
  );
}

function matching({ name, type }: Field, { text, contains }: Search): Expression | undefined {
  const property = { property: name };
  if (type !== 'string') {
    const number = readNumber(text.trim());
    return number === undefined ? undefined : { op: '=', args: [property, number] };
  }
  const pattern = literalPattern(text);
  const folded = (operand: string | typeof property) => ({ op: 'casei', args: [operand] });
  return { op: 'like', args: [folded(property), folded(contains ? `%${pattern}%` : pattern)] };
}
