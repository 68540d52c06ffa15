import { join } from 'node:path';
import type { RemoteRequest } from '../../../../core/exchange/ingest.js';
import type { Pools } from '../../../../core/tasks/tasks.js';
import type { JobContext } from '../../../jobs/kinds.js';
import type { LayerMetadataWriter } from './metadata-writer.js';
import { type EvidencePack, type LayerEvidence, writeEvidence } from './parity/evidence.js';
import { LayerProbes } from './parity/layer-probes.js';
import { computeScorecard } from './parity/scorecard.js';
import type { MigrationState } from './progress.js';
import type { MigrationRequest } from './request.js';

export interface ValidationDeps {
  readonly pools: Pools;
  readonly words: Pick<LayerMetadataWriter, 'collection'>;
  /** Key of the signatures of this environment; empty: there is none. */
  readonly key: string;
}

/** Name of the archive in the folder of a migration. */
export const PACK = 'evidence.zip';

/** Compares the layers of a migration with their source, and writes down what was compared. */
export class MigrationValidation {
  constructor(
    private readonly deps: ValidationDeps,
    private readonly context: JobContext<MigrationRequest>,
    private readonly state: MigrationState,
    private readonly folder: string,
  ) {}

  /** Layers that a run before this one compared are not compared again. */
  async run(request: RemoteRequest): Promise<EvidencePack> {
    const { context, state, deps } = this;
    const probes = new LayerProbes(deps.pools, context, request);
    for (const { ordinal, layer, progress } of state.layers) {
      if (progress?.state !== 'imported' || progress.parity) continue;
      context.signal.throwIfAborted();
      const collection = await deps.words.collection(layer.collection, context.signal);
      const notes = state.notes.layers[layer.id]!;
      const parity = await probes.run(layer, notes, collection, this.#folderOf(ordinal));
      await state.set(ordinal, { ...progress, parity });
    }
    return this.#pack();
  }

  async #pack(): Promise<EvidencePack> {
    const { context, state, deps, folder } = this;
    const layers = state.layers.flatMap(({ ordinal, layer, progress }): LayerEvidence[] =>
      progress?.parity
        ? [
            {
              sourceLayer: layer.id,
              collectionId: layer.collection,
              folder: this.#folderOf(ordinal),
              ...progress.parity,
            },
          ]
        : [],
    );
    const evidence = {
      migrationId: context.id,
      source: context.input.restUrl,
      sourceVersion: state.plan.version,
      generatedAt: new Date().toISOString(),
      scorecard: computeScorecard(layers),
      layers,
    };
    return writeEvidence(evidence, join(folder, PACK), deps.key);
  }

  #folderOf(ordinal: number): string {
    return join(this.folder, 'layers', String(ordinal));
  }
}
