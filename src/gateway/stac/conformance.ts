import { CQL2_CONFORMANCE } from '../../core/cql2/conformance.js';

const STAC = 'https://api.stacspec.org/v1.0.0';
const OGC = 'http://www.opengis.net/spec';

/** Only classes that are built. */
export const STAC_CONFORMANCE: readonly string[] = [
  ...['core', 'collections', 'ogcapi-features', 'item-search'].map((name) => `${STAC}/${name}`),
  ...['fields', 'sort', 'filter'].map((name) => `${STAC}/item-search#${name}`),
  ...['core', 'oas30', 'geojson'].map((name) => `${OGC}/ogcapi-features-1/1.0/conf/${name}`),
  `${OGC}/ogcapi-features-3/1.0/conf/filter`,
  ...CQL2_CONFORMANCE,
];
