/** Linear stretch of a band's values to 0..255. */
export interface Stretch {
  min: number;
  max: number;
}
