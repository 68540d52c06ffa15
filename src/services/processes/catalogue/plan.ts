import { PlanSchema } from '../../../core/processes/process-plans.js';
import type { ProcessDefinition } from '../definition.js';

/** The id that existing clients send plans to. */
export const planProcess: ProcessDefinition = {
  id: 'svc-geoprocessing',
  title: 'Plan of several processes',
  description:
    'Processes as the steps of one job, each of which may read what others make. Its outputs are those of the steps that no other step reads, by the ids of these.',
  keywords: ['plan'],
  inputs: { plan: { title: 'Plan', description: 'Steps, and what they depend on.', schema: PlanSchema } },
  outputs: {},
  work: { kind: 'plan' },
};
