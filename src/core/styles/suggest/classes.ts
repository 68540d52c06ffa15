/** Colour of other and missing values. */
export const OTHER_COLOR = '#b3b3b3';

/** Classes of an attribute, for expressions and legends. */
export interface Classes {
  /** Limits between classes of numbers; undefined for categories. */
  readonly breaks: readonly number[] | undefined;
  readonly entries: readonly ClassLegendEntry[];
}

export interface ClassLegendEntry {
  readonly label: string;
  /** `#rrggbb` */
  readonly color: string;
  readonly minValue?: number;
  readonly maxValue?: number;
}
