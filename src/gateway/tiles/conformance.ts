/** Classes that a test of their name covers. */
export const TILES_CONFORMANCE: readonly string[] = [
  ...['core', 'landing-page', 'json', 'html'].map(
    (name) => `http://www.opengis.net/spec/ogcapi-common-1/1.0/conf/${name}`,
  ),
  'http://www.opengis.net/spec/ogcapi-common-2/1.0/conf/collections',
  ...[
    'core',
    'tileset',
    'tilesets-list',
    'dataset-tilesets',
    'geodata-tilesets',
    'collections-selection',
    'mvt',
    'png',
    'jpeg',
    'oas30',
  ].map((name) => `http://www.opengis.net/spec/ogcapi-tiles-1/1.0/conf/${name}`),
  ...[
    'tilematrixset',
    'tilematrixsetlimits',
    'tilesetmetadata',
    'variablematrixwidth',
    'json-tilematrixset',
    'json-tilematrixsetlimits',
    'json-tilesetmetadata',
    'json-variablematrixwidth',
  ].map((name) => `http://www.opengis.net/spec/tms/2.0/conf/${name}`),
];
