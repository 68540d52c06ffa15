import type { GeoServicesLayer, GeoServicesRelationship } from '../../../core/exchange/ingest.js';
import type { FieldType } from '../../../core/sources/vector-source.js';
import type { SecretReferences } from './secret-references.js';

/** What imports of layers of GeoServices read, and what they keep of it. */

/** A layer of a FeatureServer or MapServer. */
export interface GeoServicesSource {
  serviceUrl: string;
  layerId: number;
  targetSrid: number;
  /** Condition in SQL. */
  where: string;
  /** All when absent. */
  fields?: readonly string[] | undefined;
  batchSize?: number | undefined;
  maxRetries: number;
  requestMs: number;
  credentials: SecretReferences;
  /** Service that the collection belongs to; it stays in that of a collection that it replaces when absent. */
  service?: string | undefined;
  /** Imported, and on no surface until somebody enables it. */
  disabled?: true;
  /** Whoever began the import takes over relationships, when both ends are there. */
  relatesLater?: boolean;
}

/** How far the reading is, and what it came to. */
export interface GeoServicesReport {
  layerName: string;
  features: number;
  matched: number;
  batches: number;
  totalBatches: number;
  fields: readonly string[];
  /** With columns for fields. */
  relationships: readonly GeoServicesRelationship[];
  /** Where the next page begins in the file. */
  offset: number;
  attachments?: AttachmentCounts;
}

/** What becomes a column of the table. */
export interface ImportColumn {
  readonly name: string;
  readonly field: string;
  readonly type: FieldType;
}

/** Kept beside the features, for the settings that follow. */
export interface GeoServicesLayerNotes {
  readonly layer: GeoServicesLayer;
  readonly columns: readonly ImportColumn[];
}

/** What became of the attachments of a layer. */
export interface AttachmentCounts {
  processed: number;
  failed: number;
}
