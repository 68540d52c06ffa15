/** Tasks that compare what was migrated with its source. */

/** Features of a source, and those that they became. */
export interface FeatureComparisonTask {
  /** GeoJSON text sequence of the source's features. */
  readonly path: string;
  /** GeoJSON features of the collection, joined by commas, in the same CRS. */
  readonly target: Uint8Array;
  /** Attribute of the collection that holds the ids of the source. */
  readonly key: string;
  /** How far positions may be apart, in units of the CRS. */
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

/** Two pictures of one size. */
export interface PictureComparisonTask {
  /** PNG file of the source. */
  readonly path: string;
  /** PNG of ours. */
  readonly target: Uint8Array;
}

export interface PictureComparison {
  /** Of all channels of all pixels: 0 for equal pictures, 1 for black and white. */
  readonly meanDifference: number;
  /** Share of the pixels that are like none of the nine around their place in the other picture, within an eighth of each channel. */
  readonly differingShare: number;
  /** Share of the pixels that are not white. */
  readonly sourceInk: number;
  readonly targetInk: number;
}
