import { CQL2_CONFORMANCE } from '../../core/cql2/conformance.js';

const OGC = 'http://www.opengis.net/spec';

const of = (part: string, classes: readonly string[]) =>
  classes.map((name) => `${OGC}/${part}/1.0/conf/${name}`);

/** Only classes that are built; each has tests named after its requirements. */
export const FEATURES_CONFORMANCE: readonly string[] = [
  ...of('ogcapi-common-1', ['core', 'landing-page', 'json', 'html']),
  ...of('ogcapi-common-2', ['collections']),
  ...of('ogcapi-features-1', ['core', 'oas30', 'html', 'geojson', 'gmlsf0']),
  ...of('ogcapi-features-2', ['crs']),
  ...of('ogcapi-features-3', ['queryables', 'queryables-query-parameters', 'filter', 'features-filter']),
  ...of('ogcapi-features-4', ['create-replace-delete', 'update', 'features', 'optimistic-locking-etags']),
  ...of('ogcapi-features-5', ['schemas', 'core-roles-features', 'queryables', 'returnables-and-receivables']),
  ...CQL2_CONFORMANCE,
  // A name of the drafts that STAC does not know.
  ...of('cql2', ['temporal']),
  `${OGC}/ogcapi-features-1/1.0/conf/gml-sf0`,
  `${OGC}/ogcapi-features-3/1.0/conf/sorting`,
  // Graticule's own extensions.
  'urn:graticule:conf:ids-parameter',
  'urn:graticule:conf:properties-parameter',
  'urn:graticule:conf:batch-operations',
];
