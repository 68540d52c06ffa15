import { PlanSchema } from '../../../core/processes/process-plans.js';
import type { ProcessDefinition } from '../definition.js';

/** The id that existing clients send plans to. */
export const planProcess: ProcessDefinition = {
  id: 'svc-geoprocessing',
  title: 'Plan of several processes',
  description:
    'Executes several processes as the steps of one job. A step can read the outputs of other steps. The outputs of the job are the outputs that no other step reads, by step id.',
  keywords: ['plan'],
  inputs: { plan: { title: 'Plan', description: 'Steps and their dependencies.', schema: PlanSchema } },
  outputs: {},
  work: { kind: 'plan' },
};
