/** ArcGIS tile packages and other archives for import: their contents, and the tasks that read them. */

import type { Box } from '../geometry/box.js';
import type { ArchiveDraft, ArchiveFormat, DraftCursor, VectorLayerMetadata } from './archives.js';

/** Endings of packages: of compact caches in a ZIP archive, and of databases. */
export const PACKAGE_ENDINGS = ['.tpk', '.tpkx', '.vtpk', '.mbtiles', '.gpkg'] as const;

/** Tiles that are read and written together. */
export interface PackagePart {
  /** For a bundle, the name of its entry in the archive; for a database, its table. */
  readonly name: string;
  /** Zoom level in the numbering of the package. */
  readonly level: number;
  /** In WebMercatorQuad. */
  readonly zoom: number;
  /** Row and column of the first tile; rows are counted from the top. */
  readonly row: number;
  readonly column: number;
  /** Number of tiles. */
  readonly tiles: number;
}

/** Contents of a package. Its tiles are those of WebMercatorQuad. */
export interface TilePackage {
  readonly format: ArchiveFormat;
  /** Name of the storage format in the package. */
  readonly storageFormat: string;
  /** Extent in CRS84. */
  readonly extent84: Box;
  readonly title?: string;
  readonly description?: string;
  readonly attribution?: string;
  readonly vectorLayers: readonly VectorLayerMetadata[];
  /** By zoom. */
  readonly parts: readonly PackagePart[];
}

export interface TilePackageTasks {
  /** Reads the contents of a package. Fails with `source-unreadable`, `invalid-input` and `too-large`. */
  'archive.package': { input: { path: string }; output: TilePackage };
  /** Copies a part into a draft, and moves the cursor in the same transaction, as `archive.append` does. */
  'archive.copy': {
    input: {
      path: string;
      part: PackagePart;
      storageFormat: string;
      draft: ArchiveDraft;
      from: DraftCursor;
      to: string;
    };
    output: null;
  };
}
