import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { JobContext } from '../jobs/kinds.js';
import type { ProcessDefinition, ProcessWork, RasterFeatures } from './definition.js';
import { type ExecutionInput, GEOPACKAGE, GEOTIFF, type ResultFile, type RunDeps } from './execution.js';
import { PROCESSED, resolveFeatures, runFeatureProcess, tellFaults, tellMemory } from './run-features.js';
import type { RasterInput } from './sources.js';

/** Processes of rasters, as steps of jobs. */

type RasterWork = Extract<ProcessWork, { kind: 'raster' }>;

/** Rasters become a raster, features, or values. */
export async function runRaster(
  context: JobContext<ExecutionInput>,
  { title }: ProcessDefinition,
  work: RasterWork,
  folder: string,
  deps: RunDeps,
): Promise<ResultFile | { values: Record<string, unknown> }> {
  const { values } = context.input;
  const { signal } = context;
  const { pools } = deps;
  const rasters = await resolveRasters(context, work, deps);
  const { crs, facts } = rasters[0]!;
  const features = work.features && (await projectFeatures(context, work.features, crs, folder, deps));
  const isRaster = work.output === 'raster';
  const path = join(folder, `${work.output}.${isRaster ? 'tif' : 'gpkg'}`);
  const band = (values['band'] as number | undefined) ?? 1;
  const task = {
    process: work.plan(values, facts),
    band,
    output: path,
    maxBytes: deps.memoryBytes,
    sources: rasters.map(({ source }) => source),
    ...(features === undefined ? {} : { features }),
  };
  const onProgress = (fraction: number) => context.progress(fraction * PROCESSED);
  const result = await context.step('process', title, () =>
    pools.run('raster.process', task, { signal, onProgress }),
  );
  await tellMemory(context, result.memoryBytes);
  if (result.values) return { values: result.values };
  const mediaType = isRaster ? GEOTIFF : GEOPACKAGE;
  const count = result.features === undefined ? {} : { features: result.features };
  return { path, mediaType, bytes: (await stat(path)).size, ...count };
}

/** All rasters, in the order of the inputs. */
async function resolveRasters(
  { input: { sources: references, principal }, signal }: JobContext<ExecutionInput>,
  { inputs }: RasterWork,
  { sources }: RunDeps,
): Promise<RasterInput[]> {
  const names = inputs.flatMap((input) => listNames(input, references));
  const rasters: RasterInput[] = [];
  for (const name of names) rasters.push(await sources.raster(name, references[name]!, principal, signal));
  return rasters;
}

/** Names of the members of an input, which are its JSON pointers if it is a list. */
function listNames(input: string, references: ExecutionInput['sources']): string[] {
  if (Object.hasOwn(references, input)) return [input];
  return Object.keys(references)
    .filter((name) => name.startsWith(`${input}/`))
    .sort((a, b) => Number(a.slice(input.length + 1)) - Number(b.slice(input.length + 1)));
}

/** A GeoPackage with valid features in the CRS of a raster, for the job. */
async function projectFeatures(
  context: JobContext<ExecutionInput>,
  { input, plan }: RasterFeatures,
  crs: string,
  folder: string,
  deps: RunDeps,
): Promise<string> {
  const { signal } = context;
  const { values } = context.input;
  const output = join(folder, `${input}-projected.gpkg`);
  return context.step('read', 'Reading the features', async () => {
    let features = await resolveFeatures(context, input, folder, deps);
    const before = plan(values, features.facts);
    if (before) {
      const path = join(folder, `${input}-processed.gpkg`);
      await tellFaults(context, await runFeatureProcess(context, before, { input: features }, path, deps));
      features = await deps.sources.table(path, signal);
    }
    const process = { kind: 'map', operation: { name: 'make-valid' }, crs } as const;
    await tellFaults(
      context,
      await runFeatureProcess(context, { process }, { input: features }, output, deps),
    );
    return output;
  });
}
