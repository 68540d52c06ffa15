import { SERVICE } from '../../../core/access/access.js';
import type { VectorCollection } from '../../../core/catalog/collection.js';
import type { LayerAbout, LayerSettings } from '../../../core/catalog/layer-settings.js';
import type { StoredDocument } from '../../../stores/state/documents.js';

/** A layer that was copied from a service or a bucket, as it is kept: copies are made anew from there. */
export interface LayerCopy extends CopyChoice {
  readonly connectionId: string;
  readonly layerName: string;
  /** EPSG code of the CRS that it is stored in; that of the file, or degrees, when null. */
  readonly srid: number | null;
  /** Settings that it begins with. They are taken back when it does not come to be. */
  readonly settings: LayerSettings;
  /** The job that makes it: there is a copy when that has ended and loaded it. Null before its settings are put. */
  readonly jobId: string | null;
  /** The job that makes it anew, or did so last. */
  readonly refreshJobId: string | null;
  /** Its deletion was begun, and is gone through with. */
  readonly isGone?: true;
  /** It was made for a manifest that is not written yet. It is switched off until then. */
  readonly isDraft?: true;
}

/** Its id is that of the collection. */
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

/** What operators say of a layer. */
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

/** Of a layer of which nobody says anything. */
export const NO_WORDS: CopyWords = { serviceName: SERVICE, enabled: true, description: null, about: {} };

/** What an earlier layer of that name had is gone. */
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
/** What a copy is made of: a layer of a service, or an object of a bucket. */
export interface CopyChoice {
  /** As `tables` of the connection has them. */
  readonly schema: string;
  readonly table: string;
}
