import Type from 'typebox';
import { PROCESS_LIMITS } from './limits.js';

/** Plans of processes, as clients send them. */

/** The process of each kind of step, where the step names none. */
export const PLAN_KINDS: Readonly<Record<string, string | undefined>> = {
  queryFeatures: 'conversion.feature-select',
  geoprocess: undefined,
  aggregate: 'analytics.summary-statistics',
  export: 'conversion.feature-export',
  renderMap: 'cartography.map',
};

const OUTPUT_KINDS = ['scalar', 'featureLayer', 'table', 'raster', 'file', 'report', 'map', 'appBundle'];

/** Names in URLs. */
const name = Type.String({ minLength: 1, maxLength: 60, pattern: '^[A-Za-z0-9][\\w.-]*$' });

export const PlanSchema = Type.Object(
  {
    planId: Type.String({ minLength: 1, maxLength: 200 }),
    steps: Type.Array(
      Type.Object({
        kind: Type.String({
          enum: Object.keys(PLAN_KINDS),
          description: 'Kind of the step. Only geoprocess needs the id of a process.',
        }),
        stepId: Type.Optional(name),
        processId: Type.Optional(Type.String({ minLength: 1, maxLength: 100 })),
        inputs: Type.Optional(
          Type.Record(Type.String(), Type.Any(), {
            description: 'Inputs of the process. The id of another step means the output of that step.',
          }),
        ),
        dependsOn: Type.Optional(Type.Array(name, { maxItems: PROCESS_LIMITS.planSteps })),
      }),
      { minItems: 1, maxItems: PROCESS_LIMITS.planSteps },
    ),
    outputs: Type.Optional(
      Type.Array(Type.String({ enum: OUTPUT_KINDS }), {
        maxItems: 20,
        description: 'Kinds of outputs that the plan has to make.',
      }),
    ),
  },
  { description: 'Processes, in steps.' },
);

export interface PlanBody {
  planId: string;
  steps: StepBody[];
  outputs?: string[];
}

export interface StepBody {
  kind: string;
  stepId?: string;
  processId?: string;
  inputs?: Record<string, unknown>;
  dependsOn?: string[];
}
