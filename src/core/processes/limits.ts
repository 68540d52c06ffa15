export const PROCESS_LIMITS = {
  /** Features that a process could not do, of which it says why. */
  processFaults: 100,
  /** Properties of features that are sent: each becomes a column. */
  processProperties: 1000,
  /** Groups that features are dissolved into. */
  processGroups: 1_000_000,
  /** Statistics of all groups, or of all cells, of a process together. */
  processStatistics: 5_000_000,
  /** Pixels of a viewshed. */
  viewshedPixels: 268_435_456,
  /** Pairs of points and pixels that an interpolation compares. */
  interpolationPairs: 20_000_000_000,
  /** Rasters that a process takes together. */
  processRasters: 32,
  /** Zones that statistics of a raster are made in. */
  processZones: 1_000_000,
  /** Bytes of geometries that a process keeps in memory, and that it dissolves into several groups. */
  processTogetherBytes: 536_870_912,
  processGroupBytes: 2_147_483_648,
  /** Maximum bytes of a layer that is kept in memory for comparisons. */
  processHeldBytes: 67_108_864,
  /** Features of an overlay whose envelopes intersect the envelope of a thousand neighbours. */
  processWindow: 1_000_000,
  /** Numbers that the percentiles of a summary are taken of. */
  processValues: 20_000_000,
  /** Features whose places a process compares, and cells that one makes. */
  processPlaces: 5_000_000,
  processCells: 1_000_000,
  /** Pairs of features that a distance matrix has, or of which a join or an overlay makes features. */
  processPairs: 10_000_000,
  /** Pairs in memory, and between two checks for cancellation. All pairs of one feature are processed together. */
  processPieces: 100_000,
  /** Features that one search for nearest features compares. */
  processNearest: 20_000,
  /** Milliseconds between two progress messages to subscribers of a process. */
  callbackProgressMs: 5000,
  /** Lines of its log that the page of a job shows. */
  processLogLines: 500,
  /** Steps of a plan. */
  planSteps: 50,
  /** Maximum milliseconds for counting the features of an estimate. */
  estimateMs: 2000,
  /** Bytes of a file that a process reads from another server. */
  processFileBytes: 268_435_456,
  /** Addresses of tiles that an archive of a process covers: all of the world down to zoom 11. */
  processTiles: 5_592_405,
  /** Days that results are there. */
  processResultDays: 7,
  /** Pairs of geometries that a GeometryServer relates. */
  geometryPairs: 1_000_000,
} as const;
