import type { JobContext } from '../../../jobs/kinds.js';
import type { SourceNotes } from './notes.js';
import type { LayerParity } from './parity/scorecard.js';
import type { LayerPlan, MigrationPlan } from './plan.js';

/** Progress of a layer. */
export interface LayerProgress {
  readonly state: 'running' | 'imported' | 'skipped' | 'failed' | 'cancelled';
  readonly jobId?: string;
  /** Why it is not there, or what of it did not come along. */
  readonly notes: readonly string[];
  /** Number of features of a feature type. */
  readonly features?: number;
  /** Whether its metadata and its style are imported. */
  readonly hasMetadata?: boolean;
  /** Once it was compared with its source. */
  readonly parity?: LayerParity;
}

/** Notes of a layer, and characters of each. */
const NOTES = 20;
const NOTE = 500;

/** The warnings of a layer, limited in number and length. */
export function limitNotes(texts: readonly string[]): string[] {
  return texts.slice(0, NOTES).map((text) => text.slice(0, NOTE));
}

/** Stored after each change. */
export interface MigrationProgress {
  readonly plan: MigrationPlan;
  /** By the place of the layer in the plan. */
  readonly layers: Readonly<Record<number, LayerProgress>>;
}

/** A plan, and how far its layers are: each change is durable before the next one. */
export class MigrationState {
  readonly plan: MigrationPlan;
  readonly #layers: Record<number, LayerProgress>;

  constructor(
    { plan, layers }: MigrationProgress,
    readonly notes: SourceNotes,
    private readonly context: Pick<JobContext, 'checkpoint' | 'progress'>,
  ) {
    this.plan = plan;
    this.#layers = { ...layers };
  }

  /** Layers with their progress, which is undefined before they are started. */
  get layers(): readonly { ordinal: number; layer: LayerPlan; progress: LayerProgress | undefined }[] {
    return this.plan.layers.map((layer, ordinal) => ({ ordinal, layer, progress: this.#layers[ordinal] }));
  }

  count(state: LayerProgress['state']): number {
    return Object.values(this.#layers).filter((one) => one.state === state).length;
  }

  async set(ordinal: number, progress: LayerProgress): Promise<void> {
    this.#layers[ordinal] = progress;
    await this.save();
  }

  save(): Promise<void> {
    return this.context.checkpoint({ plan: this.plan, layers: this.#layers } satisfies MigrationProgress);
  }
}
