export const POOL_LIMITS = {
  /** Requests to the object store at a time, of each process. */
  storageRequests: 16,
  /** Ranges of glyphs that may wait to be made. */
  symbolQueue: 64,
  /** Imports of reference data that wait. */
  geocodeImports: 4,
  /** Bytes of memory of the process of a GeometryServer, and requests that wait for one. */
  geometryMemoryBytes: 1_073_741_824,
  geometryQueue: 64,
  /** Requests to other servers at a time, and how many wait. */
  ingestRequests: 8,
  ingestQueue: 64,
} as const;
