import { PlanSchema } from '../../../core/processes/process-plans.js';
import type { ProcessDefinition } from '../definition.js';

/** The id that existing clients send plans to. */
export const planProcess: ProcessDefinition = {
  id: 'svc-geoprocessing',
  title: 'Plan of several processes',
  description:
    'Executes several processes as the steps of one job. A step can read the outputs of other steps. The job returns the outputs of the steps that no other step reads. An output has the id of its step as its name, or `step.output` if the process has several outputs.',
  keywords: ['plan'],
  inputs: { plan: { title: 'Plan', description: 'Steps and their dependencies.', schema: PlanSchema } },
  outputs: {},
  work: { kind: 'plan' },
};
