/** What other values, and missing ones, look like. */
export const OTHER_COLOR = '#b3b3b3';

/** Classes of an attribute, for expressions and legends. */
export interface Classes {
  /** Of numbers the limits between classes; of categories undefined. */
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
