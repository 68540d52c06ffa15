export const GEOCODING_LIMITS = {
  /** Reference data of a locator: bytes of a file (contract), and its columns. */
  geocodeFileBytes: 268_435_456,
  geocodeColumns: 1000,
  /** Skipped rows of reference data that the result lists. */
  geocodeSkipped: 100,
  /** Words of a text that is geocoded, and characters of one. */
  geocodeWords: 20,
  geocodeWord: 40,
  /** Rows compared for one response of a locator. */
  geocodeRows: 300,
  /** Addresses of one task of a batch. */
  geocodeTurn: 5,
  /** Answers of other geocoders that are kept. */
  geocodeKept: 1000,
} as const;
