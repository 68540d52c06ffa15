import type { WrittenContainer } from '../../../core/tiles/archives.js';
import type { TileJobRequest } from './tally.js';

/** Operations of tile jobs, in the words of the contract. */
export const TILE_OPERATIONS = [
  'seed',
  'warm',
  'invalidate',
  'purge',
  'archive',
  'publish',
  'expire',
  'delete',
] as const;
export type TileOperation = (typeof TILE_OPERATIONS)[number];

/** Stored input of a tile job. */
export interface TileJobInput extends TileJobRequest {
  operation: TileOperation;
  layerId?: number;
  serviceId?: string;
  generationId?: string;
  /** Kind of archive. */
  container: WrittenContainer;
}

export const isMaking = (operation: TileOperation) => operation === 'seed' || operation === 'warm';
export const isArchiving = (operation: TileOperation) => operation === 'archive' || operation === 'publish';
