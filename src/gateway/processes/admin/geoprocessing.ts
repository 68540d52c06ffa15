import Type from 'typebox';
import { defineIntegerParam } from '../../../core/http/params.js';
import { rankProcesses } from '../../../services/processes/ranking.js';
import { TimestampSchema, timestamp } from '../../admin/envelope.js';
import { createRowBuilders, group } from '../../admin/kit.js';

const SERVICES = ['jobs'] as const;
const { report } = createRowBuilders(SERVICES);

const I = Type.Integer();

const Ranking = Type.Object({
  count: I,
  tools: Type.Array(
    Type.Object({
      rank: I,
      processId: Type.String(),
      invocationCount: I,
      successCount: I,
      failureCount: I,
      lastInvokedAt: TimestampSchema,
    }),
  ),
});

const limit = defineIntegerParam(
  'limit',
  { min: 1, max: 1000, default: 20 },
  { description: 'Maximum number of tools in the response.' },
);

/** Use of geoprocessing tools. */
export const geoprocessing = group({ tag: 'Geoprocessing', scope: 'geoprocessing', envelope: 'wrapped' }, [
  report('GET /geoprocessing/tools/usage-ranking', 'Get geoprocessing tool usage ranking', {
    params: { limit },
    data: Ranking,
    errors: [400],
    async answer({ params }, { jobs }) {
      const uses = await rankProcesses(jobs.store, params.limit);
      const tools = uses.map((use) => ({ ...use, lastInvokedAt: timestamp(use.lastInvokedAt) }));
      return { count: tools.length, tools };
    },
  }),
]);
