export const FEATURE_LIMITS = {
  /** Milliseconds for counting the features that match a filter, for pages. */
  countMs: 1000,
  /** Features that the size of a download is estimated from, and bytes of one reading of them. */
  sizeSample: 100,
  sizeSampleBytes: 4_194_304,
  /** Clusters of a response (contract). */
  clusters: 10_000,
  /** Cells of one density grid (contract). */
  densityCells: 10_000,
  /** Cells of one H3 aggregation (contract), and features that it reads. */
  h3Cells: 100_000,
  h3Input: 2_000_000,
  /** Features that statistics of the attributes read, fields that they are of, and milliseconds after which they end. */
  statisticsRows: 5_000_000,
  statisticsFields: 100,
  statisticsMs: 10_000,
  /** Maximum number of pairs that a spatial join finds. It stops at this number. */
  joinPairs: 1_000_000,
  /** Statistics of one analytics operation. */
  statistics: 50,
  /** Maximum milliseconds in which one filter of a subscription is evaluated for the events of a batch. */
  matchMs: 1000,
  /** Maximum bytes of all cached responses for one feature, and maximum characters of each such response. */
  keptItemsBytes: 33_554_432,
  keptItemBytes: 65_536,
  /** Values that split the bins of a query. */
  binSplits: 50,
} as const;
