import { ApiError } from '../../../core/errors/errors.js';
import type { Operation } from '../../../core/http/operation.js';
import {
  listServiceLayers,
  requireLayer,
  requireVisibleService,
} from '../../../services/replicas/layer-view.js';
import { jsonReply } from '../images/in-band.js';
import { layerDocument } from '../layer-documents.js';
import { readChoiceMember, readIntegersMember, readTextMember, wholeNumber } from '../members.js';
import { common, documentFormat, readingOperation, SERVER } from './feature-server.js';
import { member } from './query-members.js';
import { layerParams, type QueryDeps } from './query-operations.js';
import { readFeatureQuery } from './query-request.js';

const SERVICE = `/rest/services/{serviceId}/${SERVER}`;
const { serviceId } = layerParams;
/** Maximum length of a condition. */
const MAX_SQL = 100_000;
const MAX_LAYERS = 1000;

const about = (verb: string) => common(SERVER, verb);

/** Operations for parts of documents, and for validating a condition. */
export function metadataOperations(deps: QueryDeps): Operation[] {
  return [
    ...readingOperation({
      about: about('queryDomains'),
      name: 'queryDomains',
      path: `${SERVICE}/queryDomains`,
      pathParams: { serviceId },
      params: { layers: member('layers', 'Numbers of layers. Default: all.') },
      summary: 'Domains of the fields of layers',
      run(x, path, members) {
        const name = path['serviceId']!;
        requireVisibleService(deps, x.principal, name);
        const ids = readIntegersMember(members, 'layers', MAX_LAYERS);
        const layers = ids
          ? ids.map((layerId) =>
              requireLayer(deps, x.principal, { service: name, layerId, parameter: 'layers' }),
            )
          : listServiceLayers(deps, x.principal, name);
        const domains = layers.flatMap((layer) =>
          layerDocument(layer, deps.visible(x.principal), false).fields.flatMap(({ domain }) => domain ?? []),
        );
        // Fields of several layers may have the same.
        const distinct = new Map(domains.map((domain) => [JSON.stringify(domain), domain]));
        return jsonReply({ domains: [...distinct.values()] }, documentFormat(members));
      },
    }),
    ...readingOperation({
      about: about('relationships'),
      name: 'relationships',
      path: `${SERVICE}/relationships`,
      pathParams: { serviceId },
      params: {},
      summary: 'Relationships between layers',
      run(x, path, members) {
        const name = path['serviceId']!;
        requireVisibleService(deps, x.principal, name);
        const relationships = listServiceLayers(deps, x.principal, name).flatMap((layer) =>
          layerDocument(layer, deps.visible(x.principal), false)
            .relationships.filter(({ role }) => role === ORIGIN)
            .map(({ id, name: title, cardinality, relatedTableId, keyField }) => ({
              id,
              name: title,
              cardinality,
              originLayerId: layer.layerId,
              destinationLayerId: relatedTableId,
              originPrimaryKey: keyField,
              composite: false,
            })),
        );
        return jsonReply({ relationships }, documentFormat(members));
      },
    }),
    ...readingOperation({
      about: about('validateSQL'),
      name: 'validateSql',
      path: `${SERVICE}/{layerId}/validateSQL`,
      pathParams: layerParams,
      params: {
        sql: member('sql', 'SQL condition to validate.'),
        sqlType: member('sqlType', 'Type of the condition. Only where is supported.'),
      },
      summary: 'Validate a condition',
      run(x, path, members) {
        const layerId = wholeNumber('layerId', path['layerId']);
        const address = { service: path['serviceId']!, layerId, parameter: 'layerId' };
        const layer = requireLayer(deps, x.principal, address);
        readChoiceMember(members, 'sqlType', { values: ['where'], fallback: 'where' });
        const where = readTextMember(members, 'sql', MAX_SQL) ?? '';
        return jsonReply(
          validation(() => readFeatureQuery(layer, { where })),
          documentFormat(members),
        );
      },
    }),
  ];
}

const ORIGIN = 'esriRelRoleOrigin';
/** Error code that clients expect for conditions with a syntax error. */
const SYNTAX_ERROR = 3006;

function validation(read: () => unknown) {
  try {
    read();
    return { isValidSQL: true, validationErrors: [] };
  } catch (error) {
    if (!(error instanceof ApiError) || error.status >= 500) throw error;
    const description = error.errors?.[0]?.detail ?? error.message;
    return { isValidSQL: false, validationErrors: [{ errorCode: SYNTAX_ERROR, description }] };
  }
}
