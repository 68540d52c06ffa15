import type { GeoServicesLayer, GeoServicesRelationship } from '../../../core/exchange/ingest.js';
import type { FieldType } from '../../../core/sources/vector-source.js';
import type { SecretReferences } from './secret-references.js';

/** Inputs and stored results of imports of GeoServices layers. */

/** A layer of a FeatureServer or MapServer. */
export interface GeoServicesSource {
  serviceUrl: string;
  layerId: number;
  targetSrid: number;
  /** Condition in SQL. */
  where: string;
  /** Default: all. */
  fields?: readonly string[] | undefined;
  batchSize?: number | undefined;
  maxRetries: number;
  requestMs: number;
  credentials: SecretReferences;
  /** Service of the collection. Default: for a replaced collection, its present service. */
  service?: string | undefined;
  /** Whether APIs do not serve the imported collection until an operator enables it. */
  disabled?: true;
  /** Whether the initiator of the import creates the relationships later, when both ends exist. */
  relatesLater?: boolean;
}

/** Progress and results of the reading. */
export interface GeoServicesReport {
  layerName: string;
  features: number;
  matched: number;
  batches: number;
  totalBatches: number;
  fields: readonly string[];
  /** With columns for fields. */
  relationships: readonly GeoServicesRelationship[];
  /** Offset of the next page in the file. */
  offset: number;
  attachments?: AttachmentCounts;
}

/** Field that becomes a column of the table. */
export interface ImportColumn {
  readonly name: string;
  readonly field: string;
  readonly type: FieldType;
}

/** Stored with the features, for the later import of settings. */
export interface GeoServicesLayerNotes {
  readonly layer: GeoServicesLayer;
  readonly columns: readonly ImportColumn[];
}

/** Results of the attachments of a layer. */
export interface AttachmentCounts {
  processed: number;
  failed: number;
}
