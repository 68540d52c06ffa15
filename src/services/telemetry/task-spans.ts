import { SERVICE } from '../../core/access/access.js';
import { isZarr } from '../../core/catalog/raster-sources.js';
import type { RasterSource } from '../../core/rasters/rasters.js';
import type { TaskName, TaskWork } from '../../core/tasks/tasks.js';
import type { RequestSpan } from './spans.js';
import { type SpanFacts, withSpan } from './spans.js';
import { countRecords, findLayerNames, findQueryType } from './task-metrics.js';

/** Spans of tasks: one for the task, queues included, and below it one for the work in its thread or process. */

const NAMES: Partial<Record<TaskName, string>> = {
  'vector.tile': 'svc.tile.generate',
  'vector.sceneTile': 'svc.scene.encodeTile',
  'vector.sceneCells': 'svc.scene.plan',
  'vector.items': 'svc.feature.query',
  'vector.item': 'svc.feature.query',
  'vector.count': 'svc.feature.query',
  'vector.timedCount': 'svc.feature.query',
  'vector.groups': 'svc.feature.query',
  'vector.groupCount': 'svc.feature.query',
  'vector.classBreaks': 'svc.feature.query',
  'vector.bins': 'svc.feature.query',
  'vector.top': 'svc.feature.query',
  'vector.edit': 'svc.feature.edit',
  'vector.h3': 'ogc.features.h3',
  'vector.clusters': 'svc.analytics.clusters',
  'vector.density': 'svc.analytics.density',
  'vector.statistics': 'svc.analytics.statistics',
  'vector.spatialJoin': 'svc.analytics.spatial_join',
  'vector.bufferAggregate': 'svc.analytics.buffer_aggregate',
  'geocoding.import': 'geocoding.importReferenceData',
  'map.render': 'svc.map.render',
  'raster.image': 'svc.map.render',
  'raster.coverage': 'svc.coverage.read',
  'raster.position': 'svc.coverage.position',
  'raster.elevation': 'svc.coverage.elevation',
  'raster.histograms': 'svc.coverage.histograms',
};

/** Geocoding operations that threads of the vector pool run, by task. */
const GEOCODING: Partial<Record<TaskName, string>> = {
  'vector.geocode': 'geocoding.findAddressCandidates',
  'vector.suggest': 'geocoding.suggest',
  'vector.reverseGeocode': 'geocoding.reverseGeocode',
  'vector.geocodeFeatures': 'geocoding.searchFeatures',
  'vector.place': 'geocoding.place',
  'vector.locator': 'geocoding.locator',
};

/** A task with the facts for its span. */
interface TracedTask {
  name: TaskName;
  input: unknown;
  /** The layer, if the input does not contain it. */
  layerId: number | 'several' | undefined;
}

/** Runs a task in its span. `run` receives the trace context for the task. */
export function inTaskSpan<T>(
  parent: RequestSpan | undefined,
  task: TracedTask,
  run: (traced: { traceparent?: string; onWork?: (work: TaskWork) => void }) => Promise<T>,
): Promise<T> {
  if (!parent) return run({});
  const { name, input } = task;
  const facts: SpanFacts = {
    name: NAMES[name] ?? `svc.${GEOCODING[name] ?? name}`,
    attributes: collectAttributes(task),
  };
  return withSpan(parent, facts, async (span) => {
    const output = await run({
      traceparent: span.traceparent,
      onWork: ({ startMs, endMs, pid, thread }) =>
        span.record({
          ...describeWork(name, input),
          startMs,
          endMs,
          place: { 'process.pid': pid, 'thread.id': thread },
        }),
    });
    const features = findQueryType(name) === undefined ? undefined : countRecords(name, output);
    if (features !== undefined) span.set({ 'svc.feature.count': features });
    return output;
  });
}

function collectAttributes({ name, input, layerId }: TracedTask): Record<string, string> {
  const names = findLayerNames(input);
  const layer = layerId ?? names?.layerId;
  return {
    'svc.service.id': names?.service ?? SERVICE,
    'svc.operation': name,
    ...(layer === undefined ? {} : { 'svc.layer.id': String(layer) }),
    ...(names?.collection === undefined ? {} : { 'svc.collection.id': names.collection }),
  };
}

/** The work by its subsystem: its name, and the source that spans of it come from. */
function describeWork(name: TaskName, input: unknown): SpanFacts & { source: string } {
  const type = findQueryType(name);
  if (type !== undefined)
    return { source: 'Graticule.Stores', name: 'svc.db.query', attributes: { 'db.query.type': type } };
  if (name.startsWith('raster.')) {
    const { source } = input as { source?: RasterSource };
    return {
      source: 'Graticule.Rasters',
      name: source && isZarr(source) ? 'zarr.raster-slice.read' : 'raster.window.read',
      attributes: {},
    };
  }
  const [subsystem = 'task', operation = 'run'] = (GEOCODING[name] ?? name).split('.');
  const source = `Graticule.${subsystem[0]!.toUpperCase()}${subsystem.slice(1)}`;
  return { source, name: `${subsystem}.${operation}`, attributes: {} };
}
