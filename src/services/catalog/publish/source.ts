import type { QuarantineEntry } from '../../../core/catalog/collection.js';
import type { Box } from '../../../core/geometry/box.js';
import type { AssumedCrs, StatedCrs } from '../../../core/geometry/stated-crs.js';
import type { Pools } from '../../../core/tasks/tasks.js';
import type { StacImagery } from '../../rasters/stac-imagery/searches.js';
import type { Databases } from '../databases.js';
import type { Inspections } from '../inspections/inspections.js';
import type { LayerRasters } from '../rasters/layers.js';
import type { MakeCollection } from './collections.js';
import type { CollectionNames, GivenNames } from './names.js';

export const INSPECT_DEADLINE_MS = 60_000;

export interface PublishDeps extends CollectionNames {
  pools: Pools;
  /** Stored inspections of files. */
  inspections: Pick<Inspections, 'start' | 'end'>;
  databases: Databases;
  /** Sources that are imagery of STAC APIs. */
  imagery: Pick<StacImagery, 'read' | 'keep'>;
  /** Ids that no collection of a source may have. */
  taken: ReadonlySet<string>;
  /** Ids that were given to what is read. */
  given: GivenNames;
  /** Rasters that operators registered. */
  registered(): Promise<LayerRasters>;
  /** Changes whenever a file does. Throws when there is none. */
  versionOf(path: string): string;
  /** The content that a file had when its version was found. See `FileWrites.fileId`. */
  contentAt(path: string): string | undefined;
  /** CRSs that the configuration assigns to files. */
  configuredCrs: StatedCrs;
  /** CRS that operators assigned to the layers of a file, by layer; `''` is all other layers. */
  statedCrsOf(path: string): Record<string, string>;
  /** Receives the progress of the conversion of a file, from 0 to 1. */
  onConversion?(file: string, fraction: number): void;
  /** Folder for data derived from sources: converted files. */
  dataDir: string;
}

/** A collection before it has its final id. */
export interface CollectionDraft {
  name: string;
  /** Prefix of the name if two collections share the name. */
  group: string;
  /** Its table in a file with several. */
  table?: string;
  make: MakeCollection;
}

/** Data whose place is not known. */
export interface UnplacedData {
  draft: CollectionDraft;
  file: string;
  /** Extent in the units of the local CRS. */
  extent: Box;
  /** The same data in this CRS. */
  in(crs: string, assumed: AssumedCrs): Promise<CollectionDraft>;
}

/** Contents of one source. */
export interface Found {
  collections: CollectionDraft[];
  quarantined: QuarantineEntry[];
  /** The collections that are in a local CRS. */
  unplaced?: UnplacedData[];
  /** Files that are part of a mosaic. */
  members?: string[];
  /** Other files belong to it, whose changes do not show in this one. */
  dependsOnOthers?: boolean;
  /** Something of it could not be read for a reason that may pass. */
  isPassing?: boolean;
}
