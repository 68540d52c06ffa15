/** Conformance classes of CQL2 (OGC 21-065r2) that are built. */
export const CQL2_CONFORMANCE: readonly string[] = [
  'cql2-text',
  'cql2-json',
  'basic-cql2',
  'advanced-comparison-operators',
  'case-insensitive-comparison',
  'accent-insensitive-comparison',
  'basic-spatial-functions',
  'basic-spatial-functions-plus',
  'spatial-functions',
  'temporal-functions',
  'array-functions',
  'property-property',
  'functions',
  'arithmetic',
  // Draft names, which clients of the drafts and STAC API 1.0.0 use.
  'basic-spatial-operators',
  'spatial-operators',
  'temporal-operators',
  'array-operators',
].map((name) => `http://www.opengis.net/spec/cql2/1.0/conf/${name}`);
