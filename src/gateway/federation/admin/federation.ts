import Type from 'typebox';
import { FEDERATED_KINDS } from '../../../core/federation/federated-source.js';
import { defineTextParam, flag, pathString } from '../../../core/http/params.js';
import { dataSchema, errorDocs } from '../../admin/envelope.js';
import { createRowBuilders, group } from '../../admin/kit.js';

const { report } = createRowBuilders(['federation']);

const S = Type.String();
const B = Type.Boolean();

const SourceSchema = Type.Object({
  id: S,
  displayName: S,
  kind: Type.Enum([...FEDERATED_KINDS]),
  endpoint: S,
  remoteLayer: S,
  enabled: B,
  requestTimeoutSeconds: Type.Integer(),
});

const PlanSchema = Type.Object({
  sourceId: S,
  sampleWhere: Type.Optional(S),
  sampleBbox: B,
  requiresLocalJoin: B,
  requiresLocalRefinement: Type.Boolean({
    description: 'Whether the server evaluates a part of the filter itself.',
  }),
  decisions: Type.Array(
    Type.Object({
      predicate: Type.Enum(['AttributeFilter', 'SpatialFilter', 'TemporalFilter', 'OrderBy', 'Paging']),
      pushedDown: B,
      reason: Type.String({ description: 'The member of the documents of the source that decides.' }),
    }),
  ),
});

const MAX_WHERE = 8000;

/** Sources that are queried where they are. */
export const federation = group({ tag: 'Federation', scope: 'federation', envelope: 'raw' }, [
  report('GET /federation/sources', 'List Federated Sources', {
    description: 'The sources of the setting federation.sources.',
    data: Type.Array(SourceSchema),
    answer: (_x, deps) =>
      deps.federation.sources.map(({ id, kind, url, layer, enabled, timeoutSeconds }) => ({
        ...{ id, displayName: id, kind, endpoint: url, remoteLayer: layer, enabled },
        requestTimeoutSeconds: timeoutSeconds,
      })),
  }),
  report('GET /federation/sources/{id}/plan', 'Plan Federated Query', {
    description: 'Reports which parts of a query the source evaluates, and why.',
    params: {
      id: pathString('id', 'Id of a federated source.', 200),
      where: defineTextParam('where', { description: 'Filter in CQL2 text.' }, { maxLength: MAX_WHERE }),
      bbox: flag('bbox', false, 'Whether the query has a bounding box.'),
      joinLocal: flag('joinLocal', false, 'Whether the query joins features of this server.'),
    },
    responses: {
      200: { description: 'The plan.', content: { 'application/json': dataSchema(PlanSchema, 'raw') } },
      ...errorDocs([400, 503]),
      404: { description: 'No such source. The body is empty.' },
    },
    async reply({ params: { id, where, bbox, joinLocal } }, deps) {
      const plan = await deps.federation.plan(id, { where: where || undefined, bbox, joinLocal });
      const isFound = plan !== undefined;
      const document = {
        sourceId: id,
        ...(where ? { sampleWhere: where } : {}),
        sampleBbox: bbox,
        ...plan,
      };
      return {
        status: isFound ? 200 : 404,
        mediaType: 'application/json',
        cacheControl: 'no-store',
        body: isFound ? JSON.stringify(document) : '',
      };
    },
  }),
]);
