import { hasCoverage } from '../../core/catalog/abilities.js';
import { ApiError } from '../../core/errors/errors.js';
import { COLLECTION_SOURCE, type StyleDocument, type StyleLayer } from '../../core/styles/model.js';
import { exportSld, type SldExport } from '../../core/styles/sld/export/export.js';
import type { SldTarget } from '../../core/styles/sld/import/context.js';
import { SldFailure } from '../../core/styles/sld/report.js';
import type { SldTaskResult } from '../../core/styles/sld/task.js';
import type { Pools } from '../../core/tasks/tasks.js';
import { runTask, type TaskContext } from '../kit/run-task.js';
import type { StyledCollection } from './index.js';

/** Geometry type and fields that a style of a collection can use. */
export function describeSldTarget(collection: StyledCollection): Pick<SldTarget, 'geometryType' | 'fields'> {
  if (hasCoverage(collection)) return { geometryType: 'raster' };
  const { geometryType, fields } = collection.source;
  return { geometryType, fields: fields.map(({ name, type }) => ({ name, type })) };
}

/** Reads an SLD style for a collection. Throws `invalid-body` for text that is not XML. */
export async function readCollectionSld(
  x: TaskContext,
  pools: Pools,
  xml: Uint8Array,
  collection: StyledCollection,
): Promise<SldTaskResult> {
  const read = await runTask(x, pools, 'vector.sld', { xml, target: describeSldTarget(collection) });
  if (!read.malformed) return read;
  throw new ApiError('invalid-body', read.diagnostics[0]!.message);
}

/** A complete document of layers. */
export function buildStyleDocument(layers: readonly StyleLayer[], name?: string): StyleDocument {
  return {
    version: 8,
    ...(name === undefined ? {} : { name }),
    sources: {},
    layers,
  } as unknown as StyleDocument;
}

/** The style of a collection in SLD. Throws `unprocessable` if no part of it can be written. */
export function writeSld(collection: StyledCollection, document: StyleDocument): SldExport {
  const layers = document.layers.filter((layer) => 'source' in layer && layer.source === COLLECTION_SOURCE);
  try {
    return exportSld(layers as unknown as StyleLayer[], collection.id);
  } catch (error) {
    if (error instanceof SldFailure) throw new ApiError('unprocessable', error.message);
    throw error;
  }
}
