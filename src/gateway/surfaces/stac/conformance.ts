const STAC = 'https://api.stacspec.org/v1.0.0';
const OGC = 'http://www.opengis.net/spec';

/** Only classes that are built. */
export const STAC_CONFORMANCE: readonly string[] = [
  ...['core', 'collections', 'ogcapi-features', 'item-search'].map((name) => `${STAC}/${name}`),
  ...['fields', 'sort', 'filter'].map((name) => `${STAC}/item-search#${name}`),
  ...['core', 'oas30', 'geojson'].map((name) => `${OGC}/ogcapi-features-1/1.0/conf/${name}`),
  `${OGC}/ogcapi-features-3/1.0/conf/filter`,
  ...[
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
    // Names of the drafts, by which STAC API 1.0.0 asks.
    'basic-spatial-operators',
    'spatial-operators',
    'temporal-operators',
    'array-operators',
  ].map((name) => `${OGC}/cql2/1.0/conf/${name}`),
];
