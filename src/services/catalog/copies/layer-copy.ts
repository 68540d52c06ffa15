import { SERVICE } from '../../../core/access/access.js';
import type { VectorCollection } from '../../../core/catalog/collection.js';
import type { LayerAbout, LayerSettings } from '../../../core/catalog/layer-settings.js';
import type { StoredDocument } from '../../../stores/state/documents.js';

/**
 * Stored record of a layer that was copied from a service or a bucket. A refresh copies the data from there again.
 */
export interface LayerCopy extends CopyChoice {
  readonly connectionId: string;
  readonly layerName: string;
  /** EPSG code of the CRS that it is stored in; that of the file, or degrees, when null. */
  readonly srid: number | null;
  /** Initial settings of the layer. They are removed if the copy fails. */
  readonly settings: LayerSettings;
  /**
   * The job that creates the copy. The copy exists once this job has ended and loaded it. Null before its settings
   * are stored.
   */
  readonly jobId: string | null;
  /** The running or last job that refreshes the copy. */
  readonly refreshJobId: string | null;
  /** Set once the deletion has started. The server completes it even after a restart. */
  readonly isGone?: true;
  /** Set for a copy for a manifest that is not written yet. The copy is disabled until then. */
  readonly isDraft?: true;
}

/** A copy with its id, which is the id of the collection. */
export type StoredCopy = StoredDocument<LayerCopy>;

/** A copy, whatever has become of it. */
export interface FoundCopy {
  readonly stored: StoredCopy;
  readonly isUnderWay: boolean;
  readonly isMade: boolean;
  readonly isDraft: boolean;
}

/** A copy with the collection that it is. */
export interface PublishedCopy {
  readonly stored: StoredCopy;
  readonly collection: VectorCollection;
}

/** Properties of a layer that operators set. */
export interface CopyWords {
  readonly serviceName: string;
  readonly enabled: boolean;
  readonly description: string | null;
  readonly about: LayerAbout;
}

export interface NewCopy extends CopyChoice, CopyWords {
  readonly layerName: string;
  readonly srid: number | null;
  readonly isDraft?: true;
}

/** Properties of a layer for which operators set none. */
export const NO_WORDS: CopyWords = { serviceName: SERVICE, enabled: true, description: null, about: {} };

/** Settings of a new copy. Undefined members delete the settings of an earlier layer with the same name. */
export function buildCopySettings({
  serviceName,
  enabled,
  description,
  about,
}: CopyWords): Partial<LayerSettings> {
  return {
    service: serviceName === SERVICE ? undefined : serviceName,
    enabled: enabled ? undefined : false,
    description: description ?? undefined,
    about: Object.keys(about).length === 0 ? undefined : about,
  };
}
/** Source of a copy: a layer of a service, or an object of a bucket. */
export interface CopyChoice {
  /** Schema and table as listed in `tables` of the connection. */
  readonly schema: string;
  readonly table: string;
}
