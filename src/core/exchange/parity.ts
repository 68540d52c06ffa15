/** Tasks that compare what was migrated with its source. */

/** Comparison of the features of a source with the imported features. */
export interface FeatureComparisonTask {
  /** GeoJSON text sequence of the source's features. */
  readonly path: string;
  /** GeoJSON features of the collection, joined by commas, in the same CRS. */
  readonly target: Uint8Array;
  /** Attribute of the collection with the ids of the source. */
  readonly key: string;
  /** Maximum distance of positions, in units of the CRS. */
  readonly tolerance: number;
}

export interface FeatureDifference {
  readonly id: string;
  /** The geometry, or an attribute. */
  readonly member: string;
  readonly detail: string;
}

export interface FeatureComparison {
  readonly compared: number;
  /** Ids of features that are not there. */
  readonly missing: readonly string[];
  readonly differences: readonly FeatureDifference[];
  /** Some of the features as JSON, with what they became. */
  readonly samples: readonly {
    readonly id: string;
    readonly source: string;
    readonly target: string | null;
  }[];
}

/** Comparison of two images of the same size. */
export interface PictureComparisonTask {
  /** PNG file of the source. */
  readonly path: string;
  /** PNG image of the import. */
  readonly target: Uint8Array;
}

export interface PictureComparison {
  /** Mean difference of all channels of all pixels: 0 for equal images, 1 for black and white. */
  readonly meanDifference: number;
  /**
   * Share of pixels that differ by more than an eighth in a channel from all nine pixels around their position in the
   * other image.
   */
  readonly differingShare: number;
  /** Share of the pixels that are not white. */
  readonly sourceInk: number;
  readonly targetInk: number;
}
