const OGC = 'http://www.opengis.net/spec';

/** Only classes that are built. */
export const PROCESSES_CONFORMANCE: readonly string[] = [
  ...['core', 'landing-page', 'json', 'html'].map((name) => `${OGC}/ogcapi-common-1/1.0/conf/${name}`),
  ...['core', 'ogc-process-description', 'json', 'html', 'oas30', 'job-list', 'dismiss', 'callback'].map(
    (name) => `${OGC}/ogcapi-processes-1/1.0/conf/${name}`,
  ),
];
