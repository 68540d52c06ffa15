export const BUNDLE_LIMITS = {
  /** Bytes of a diagnostic bundle. A legal bundle whose characters are all escaped is shorter. */
  bundleBytes: 50_331_648,
  /** Levels, values and members of the JSON text of a bundle. Legal bundles have less. */
  bundleDepth: 8,
  bundleValues: 20_000,
  bundleNames: 10_000,
  /** Bundles that are validated at the same time or wait for it, per process. */
  bundleQueue: 16,
} as const;
