/** Task `ogr.stage`: selects a layer of a foreign file, and writes it into a staging GeoPackage. */

import type { Layer } from 'gdal-async';
import { TaskFailure } from '../../../core/errors/failure.js';
import { EXCHANGE_LIMITS } from '../../../core/exchange/limits.js';
import type { StagedLayer, StageProblem, StageTask, TranslateResult } from '../../../core/exchange/ogr.js';
import { readDatasetCrs } from '../../gdal/crs.js';
import { findDatasetFeatures, getDatasetDriver, isInNamedDegrees } from '../../gdal/dataset-notes.js';
import { type Dataset, unreadable } from '../../gdal/gdal.js';
import { isParquet } from '../parquet/file.js';
import { inspectParquet } from '../parquet/translate.js';
import { findSheetCoordinates, sheetNamesDegrees } from './formats/spreadsheet.js';
import { hasNoGeometry, openVector } from './ogr.js';
import { writeStagedFeatures } from './staged-features.js';
import { translate, translateOpened } from './translate.js';
import { requireNewFile } from './translation.js';

/** One more than the maximum of an import, because endless data must not fill the disk. */
const maxFeatures = EXCHANGE_LIMITS.importFeatures + 1;

/** Facts that decide whether a layer can be imported. */
interface Candidate {
  name: string;
  isSpatial: boolean;
  hasCrs: boolean;
  /** See `OgrLayerInfo.namesDegrees`. */
  namesDegrees: boolean;
  /** Number of features. Undefined if only a complete read would count them. */
  features: number | undefined;
}

export async function stage(
  task: StageTask,
  part: string,
  onProgress: (fraction: number) => void,
): Promise<StagedLayer | StageProblem> {
  await requireNewFile(task.output);
  if (isParquet(task.path)) {
    const layers = (await inspectParquet(task.path)).map(({ name, hasGeometry, crs, featureCount }) => ({
      name,
      isSpatial: hasGeometry !== false,
      hasCrs: crs !== null,
      namesDegrees: false,
      features: featureCount,
    }));
    return stageLayer(task, layers, (layer) =>
      translate({ ...task, layer, maxFeatures: task.maxFeatures ?? maxFeatures }, part, onProgress),
    );
  }
  const source = await openVector(task.path, task);
  try {
    const layers = await listCandidates(source);
    const staged = await stageLayer(
      task,
      layers,
      async (layer) =>
        (await keepFeatures(source, task, layer, part, onProgress)) ??
        translateOpened(
          source,
          { ...task, layer, maxFeatures: task.maxFeatures ?? maxFeatures },
          part,
          onProgress,
        ),
    );
    return { ...staged, driver: getDatasetDriver(source) };
  } finally {
    source.close();
  }
}

/** Stages the text of the features of a source, if it has any. Undefined otherwise. */
async function keepFeatures(
  source: Dataset,
  { sourceCrs, keepsValues, ...task }: StageTask,
  name: string,
  part: string,
  onProgress: (fraction: number) => void,
): Promise<TranslateResult | undefined> {
  const path = keepsValues ? findDatasetFeatures(source) : undefined;
  const layer = source.layers.get(name);
  const crs = sourceCrs ?? readDatasetCrs(layer)?.text;
  if (path === undefined || crs === undefined) return undefined;
  const count = Math.max(0, await layer.features.countAsync(false));
  return writeStagedFeatures(task, { path, crs, maxFeatures, count }, part, onProgress);
}

async function listCandidates(source: Dataset): Promise<Candidate[]> {
  try {
    const format = source.driver.description;
    const layers: Candidate[] = [];
    for (const layer of await source.layers)
      layers.push(await loadCandidate(layer, format, isInNamedDegrees(source)));
    return layers;
  } catch (error) {
    throw unreadable('The vector file could not be read: it is damaged or incomplete.', error);
  }
}

async function loadCandidate(layer: Layer, format: string, isInDegrees: boolean): Promise<Candidate> {
  const count = await layer.features.countAsync(false);
  return {
    name: layer.name,
    isSpatial: !hasNoGeometry(layer.geomType) || findSheetCoordinates(layer, format) !== undefined,
    hasCrs: readDatasetCrs(layer) !== null,
    namesDegrees: isInDegrees || sheetNamesDegrees(findSheetCoordinates(layer, format)),
    features: count < 0 ? undefined : count,
  };
}

async function stageLayer(
  task: StageTask,
  layers: readonly Candidate[],
  write: (layer: string) => Promise<TranslateResult>,
): Promise<StagedLayer | StageProblem> {
  const spatial = layers.filter(({ isSpatial }) => isSpatial);
  const layer = chooseLayer(task, layers, spatial);
  if (!layer) return { problem: 'no-layer', names: layers.map(({ name }) => name).slice(0, 20) };
  if (!layer.hasCrs && task.sourceCrs === undefined && !task.mayLackCrs)
    return { problem: 'no-crs', namesDegrees: layer.namesDegrees };
  if (task.maxFeatures === undefined && (layer.features ?? 0) > EXCHANGE_LIMITS.importFeatures)
    return { problem: 'too-many-features' };
  const { features, notes = [], idNote, keepsIds } = await write(layer.name);
  if (features > EXCHANGE_LIMITS.importFeatures)
    throw new TaskFailure('too-large', `The file has more than ${EXCHANGE_LIMITS.importFeatures} features.`);
  const all = idNote === undefined ? notes : [idNote, ...notes];
  return {
    layer: layer.name,
    features,
    spatialLayers: spatial.length,
    ...(all.length > 0 ? { notes: all } : {}),
    ...(keepsIds ? { keepsIds } : {}),
  };
}

function chooseLayer(
  { layer: name, isUnpacked }: StageTask,
  layers: readonly Candidate[],
  spatial: readonly Candidate[],
): Candidate | undefined {
  if (name === undefined) return spatial[0] ?? layers[0];
  return layers.find((one) => one.name === name) ?? (isUnpacked ? spatial[0] : undefined);
}
