import type { ProcessDescription } from '../../../core/processes/processes.js';
import type { InputDefinition, ProcessDefinition } from '../definition.js';
import { ATTRIBUTE_PROCESSES } from './attributes.js';
import { echo } from './echo.js';
import { featureExport } from './exports.js';
import { GEOMETRY_PROCESSES } from './geometry.js';
import { fileImport } from './import.js';
import { JOIN_PROCESSES } from './joins.js';
import { LAYER_PROCESSES } from './layers.js';
import { mapImage } from './map.js';
import { PATTERN_PROCESSES } from './patterns.js';
import { planProcess } from './plan.js';
import { RASTER_ALGEBRA } from './raster-algebra.js';
import { RASTER_EDITS } from './raster-edit.js';
import { RASTER_VALUES } from './raster-values.js';
import { RASTER_PROCESSES } from './rasters.js';
import { spectralIndex } from './spectral.js';
import { tileArchive } from './tiles.js';
import { zonalStatistics } from './zonal.js';

/** Everything that can be processed, by its id. */
export const PROCESSES: ReadonlyMap<string, ProcessDefinition> = new Map(
  [
    ...GEOMETRY_PROCESSES,
    ...LAYER_PROCESSES,
    ...JOIN_PROCESSES,
    ...ATTRIBUTE_PROCESSES,
    ...PATTERN_PROCESSES,
    ...RASTER_PROCESSES,
    ...RASTER_ALGEBRA,
    ...RASTER_EDITS,
    ...RASTER_VALUES,
    spectralIndex,
    zonalStatistics,
    featureExport,
    fileImport,
    mapImage,
    tileArchive,
    planProcess,
    echo,
  ].map((process) => [process.id, process]),
);

/** Ids that existing clients send, and the processes that they mean. */
const OTHER_IDS: Readonly<Record<string, string>> = {
  'generalization.simplify-layer': 'geometry.simplify',
  'generalization.dissolve': 'geometry.dissolve',
  'conversion.feature-project': 'geometry.project',
};

export function findProcess(id: string): ProcessDefinition | undefined {
  return PROCESSES.get(Object.hasOwn(OTHER_IDS, id) ? OTHER_IDS[id]! : id);
}

/** Descriptions of all processes, for the translation of tools into processes. */
export const PROCESS_DESCRIPTIONS: readonly ProcessDescription[] = [...PROCESSES.values()].map(
  ({ id, inputs }) => ({
    id,
    inputs: Object.entries(inputs).map(([name, input]) => ({
      name,
      type: chooseType(input),
      required: input.isOptional !== true,
    })),
  }),
);

function chooseType({ isFeatures, isRaster, isRasterList, schema }: InputDefinition): string {
  return isFeatures || isRaster || isRasterList
    ? 'layer'
    : String((schema as { type?: string }).type ?? 'object');
}
