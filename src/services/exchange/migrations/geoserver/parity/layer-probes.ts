import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { hasFeatures } from '../../../../../core/catalog/abilities.js';
import type { RasterCollection } from '../../../../../core/catalog/collection.js';
import type { RemoteRequest } from '../../../../../core/exchange/ingest.js';
import { makeFolder } from '../../../../../core/files/own-folder.js';
import type { Pools } from '../../../../../core/tasks/tasks.js';
import type { JobContext } from '../../../../jobs/kinds.js';
import type { StyledCollection } from '../../../../styles/index.js';
import type { LayerNotes } from '../notes.js';
import type { LayerPlan } from '../plan.js';
import type { MigrationRequest } from '../request.js';
import { isSourceFailure } from '../source-failure.js';
import { drawingProbe } from './drawing.js';
import { extentProbe } from './extent.js';
import { featureProbes } from './features.js';
import { computeLayerParity, createProbe, type LayerParity, type Probe } from './scorecard.js';

/** Names of the files of a layer in the evidence. */
export const LAYER_FILES = ['samples.json', 'source.png', 'target.png'] as const;

/** Compares layers with what they were in the GeoServer, and leaves what was compared in a folder. */
export class LayerProbes {
  constructor(
    private readonly pools: Pools,
    private readonly context: JobContext<MigrationRequest>,
    /** For the root of the REST API. */
    private readonly request: RemoteRequest,
  ) {}

  /** `folder` is the layer's own. */
  async run(
    layer: LayerPlan,
    notes: LayerNotes,
    collection: StyledCollection,
    folder: string,
  ): Promise<LayerParity> {
    await makeFolder(folder, 0o700);
    const ofData = hasFeatures(collection)
      ? await this.#features(notes, collection, folder)
      : [bandsProbe(notes, collection)];
    return computeLayerParity([
      ...ofData,
      extentProbe(notes.box84, collection.extent84),
      await this.#drawing(layer, notes, collection, folder),
    ]);
  }

  async #features(
    { serviceUrl, type }: LayerNotes,
    collection: StyledCollection,
    folder: string,
  ): Promise<readonly Probe[]> {
    if (!hasFeatures(collection) || !type) return [];
    const { requestMs, maxRetries } = this.context.input;
    const { name: typeName, ...rest } = type;
    const sample = {
      type: { serviceUrl, typeName, ...rest, requestMs, maxRetries },
      headers: this.request.headers ?? {},
      folder,
      path: join(folder, 'features.geojsonl'),
    };
    try {
      const { probes, samples } = await featureProbes(this.pools, this.context, sample, collection);
      await writeFile(join(folder, 'samples.json'), JSON.stringify(samples, null, 2));
      return probes;
    } catch (error) {
      if (!isSourceFailure(error)) throw error;
      return [createProbe('features', 'warn', `The source could not be read again: ${error.message}`)];
    }
  }

  async #drawing(
    { id, styleId }: LayerPlan,
    { mapUrl }: LayerNotes,
    collection: StyledCollection,
    folder: string,
  ): Promise<Probe> {
    if (styleId === null) return createProbe('drawing', 'skipped', 'No style was imported.');
    if (mapUrl === undefined)
      return createProbe('drawing', 'skipped', 'The WMS of the source is switched off.');
    const { maxRetries } = this.context.input;
    const source = { mapUrl, name: id, request: this.request, maxRetries };
    const files = { source: join(folder, 'source.png'), target: join(folder, 'target.png') };
    return drawingProbe(this.pools, this.context, source, collection, files);
  }
}

function bandsProbe({ bands }: LayerNotes, collection: StyledCollection): Probe {
  const target = (collection as RasterCollection).bands.length;
  const facts = { source: bands.length, target };
  if (bands.length === 0) return createProbe('bands', 'skipped', 'The GeoServer lists no bands.', facts);
  return bands.length === target
    ? createProbe('bands', 'pass', null, facts)
    : createProbe(
        'bands',
        'fail',
        `The source has ${bands.length} bands, and the collection ${target}.`,
        facts,
      );
}
