/** Features as `identify` and `find` of map services list them. */

/** Members that all results of a layer share. */
export interface MapResultsForm {
  readonly kind: 'map-results';
  readonly layerId: number;
  readonly layerName: string;
  /** Attribute whose value represents a feature. */
  readonly displayField: string;
  /** Titles of attributes by their names. */
  readonly titles: Readonly<Record<string, string>>;
  readonly geometryType: string | undefined;
  readonly spatialReference: object;
  /** Each result names the first of the fields that has the text. */
  readonly search?: MapSearch;
  /** With line breaks and indents, for people. */
  readonly pretty: boolean;
}

export interface MapSearch {
  readonly fields: readonly string[];
  readonly text: string;
  /** Whether a value may have more than the text. */
  readonly contains: boolean;
}
