import type { ProcessDescription } from '../../../core/processes.js';
import type { InputDefinition, ProcessDefinition } from '../definition.js';
import { echo } from './echo.js';
import { GEOMETRY_PROCESSES } from './geometry.js';
import { LAYER_PROCESSES } from './layers.js';

/** Everything that can be processed, by its id. */
export const PROCESSES: ReadonlyMap<string, ProcessDefinition> = new Map(
  [...GEOMETRY_PROCESSES, ...LAYER_PROCESSES, echo].map((process) => [process.id, process]),
);

/** What there is, as tools that are to become processes are told. */
export const PROCESS_DESCRIPTIONS: readonly ProcessDescription[] = [...PROCESSES.values()].map(
  ({ id, inputs }) => ({
    id,
    inputs: Object.entries(inputs).map(([name, input]) => ({
      name,
      type: typeOf(input),
      required: input.isOptional !== true,
    })),
  }),
);

function typeOf({ isFeatures, schema }: InputDefinition): string {
  return isFeatures ? 'layer' : String((schema as { type?: string }).type ?? 'object');
}
