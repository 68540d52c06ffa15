export const POOL_LIMITS = {
  /** Maximum parallel requests to the object store, per process. */
  storageRequests: 16,
  /** Maximum number of glyph ranges that can wait to be generated. */
  symbolQueue: 64,
  /** Maximum number of waiting imports of reference data. */
  geocodeImports: 4,
  /** Maximum memory in bytes of a GeometryServer process, and maximum number of requests that can wait for one. */
  geometryMemoryBytes: 1_073_741_824,
  geometryQueue: 64,
  /** Maximum number of parallel requests to other servers, and maximum number of waiting requests. */
  ingestRequests: 8,
  ingestQueue: 64,
  /** Maximum number of routes that can wait, per process. */
  routeQueue: 256,
  /** Maximum number of waiting reports, per process. */
  reportQueue: 8,
} as const;
