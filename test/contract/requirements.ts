/** The requirements of every class that we declare, by the names of the standards, and where their tests are. */

interface Standard {
  /** The URI of a class is this and its name. */
  uri: string;
  /** Folders and files below test/. */
  tests: readonly string[];
  /** Class -> requirements, as in `/req/{class}/{requirement}`. */
  classes: Readonly<Record<string, string>>;
}

const OGC = 'http://www.opengis.net/spec';

export const STANDARDS: readonly Standard[] = [
  {
    uri: `${OGC}/ogcapi-common-1/1.0/conf/`,
    tests: ['contract/common.test.ts'],
    classes: {
      core: 'http query-param-name-unknown query-param-value-invalid query-param-value-integer query-param-value-decimal query-param-value-boolean query-param-list-delimiter',
      'landing-page':
        'root-op root-success api-definition-op api-definition-success conformance-op conformance-success',
      json: 'definition content',
      html: 'definition content',
    },
  },
  {
    uri: `${OGC}/ogcapi-common-2/1.0/conf/`,
    tests: ['contract/common.test.ts'],
    classes: {
      collections:
        'collections-list-op collections-list-success collections-list-collections collections-list-links description-op description-success description-links description-extent',
    },
  },
  {
    uri: `${OGC}/ogcapi-features-1/1.0/conf/`,
    tests: ['features'],
    classes: {
      core: 'root-op root-success api-definition-op api-definition-success conformance-op conformance-success http query-param-unknown query-param-invalid crs84 fc-md-op fc-md-success fc-md-links fc-md-items fc-md-items-links fc-md-extent fc-md-extent-multi sfc-md-op sfc-md-success fc-op fc-limit-definition fc-limit-response-1 fc-bbox-definition fc-bbox-response fc-time-definition fc-time-response fc-response fc-links fc-rel-type fc-timeStamp fc-numberMatched fc-numberReturned f-op f-success f-links',
      oas30: 'oas-definition-1 oas-definition-2 oas-impl completeness exceptions-codes security',
      html: 'definition content',
      geojson: 'definition content',
      gmlsf0: 'definition content headers',
      // The name of this class in the text of the standard.
      'gml-sf0': 'definition',
    },
  },
  {
    uri: `${OGC}/ogcapi-features-2/1.0/conf/`,
    tests: ['features'],
    classes: {
      crs: 'crs-uri fc-md-crs-list fc-md-storageCrs fc-md-storageCrs-valid-value fc-md-crs-list-global fc-bbox-crs-definition fc-bbox-crs-valid-value fc-bbox-crs-default-value fc-bbox-crs-action bbox-crs-exception fc-crs-definition fc-crs-valid-value fc-crs-default-value fc-crs-action crs-exception ogc-crs-header ogc-crs-header-value',
    },
  },
  {
    uri: `${OGC}/ogcapi-features-3/1.0/conf/`,
    tests: ['features'],
    classes: {
      queryables: 'queryables-link get-queryables-op get-queryables-response',
      'queryables-query-parameters': 'parameters',
      filter: 'filter-param filter-lang-param filter-crs-wgs84 filter-crs-param mixing-expressions response',
      'features-filter':
        'filter-param filter-lang-param filter-crs-param response queryables-link get-queryables-op',
      // Of a draft of part 8.
      sorting: 'sortby',
    },
  },
  {
    uri: `${OGC}/ogcapi-features-4/1.0/conf/`,
    tests: ['edits'],
    classes: {
      'create-replace-delete':
        'post-op post-body post-content-type post-response post-response-rid put-op put-body put-content-type put-response put-rid put-rid-exception delete-op delete-response options-op options-response',
      update: 'methods update-patch-op update-patch-body update-patch-response rid',
      features:
        'resources-endpoint resource-endpoint representation-geojson-replace schema crs-crs84 crs-other-crs content-crs-header default-crs update-json-merge-patch',
      'optimistic-locking-etags':
        'get-etag-response put-etag-response patch-etag-response ifmatch-put-op ifmatch-put-eval ifmatch-patch-op ifmatch-patch-eval',
    },
  },
  {
    uri: `${OGC}/ogcapi-features-5/1.0/conf/`,
    tests: ['features'],
    classes: {
      schemas: 'get',
      'core-roles-features': 'roles',
      queryables: 'schema',
      'returnables-and-receivables': 'schema',
    },
  },
  {
    uri: `${OGC}/cql2/1.0/conf/`,
    tests: ['features', 'cql2'],
    classes: {
      'cql2-text': 'cql2-filter escaping',
      'cql2-json': 'cql2-filter',
      'basic-cql2': 'cql2-filter property binary-comparison-predicate null-predicate',
      'advanced-comparison-operators': 'like between in',
      'case-insensitive-comparison': 'casei',
      'accent-insensitive-comparison': 'accenti',
      'basic-spatial-functions': 's-intersects',
      'basic-spatial-functions-plus': 'literals',
      'spatial-functions': 's-within',
      'temporal-functions': 't-before',
      'array-functions': 'a-contains',
      'property-property': 'both',
      functions: 'functions get',
      arithmetic: 'arithmetic',
      // Names of the drafts.
      'basic-spatial-operators': 's-intersects',
      'spatial-operators': 's-contains',
      'temporal-operators': 't-after',
      'array-operators': 'a-overlaps',
      temporal: 't-after',
    },
  },
  {
    uri: 'urn:graticule:conf:',
    tests: ['features', 'edits'],
    classes: {
      'ids-parameter': 'ids',
      'properties-parameter': 'properties',
      'batch-operations': 'batch',
    },
  },
  {
    uri: `${OGC}/ogcapi-processes-1/1.0/conf/`,
    tests: ['processes'],
    classes: {
      core: 'landingpage-op landingpage-success api-definition-op api-definition-success conformance-op conformance-success http process-list process-list-success pl-limit-definition pl-limit-response pl-links process process-success process-exception-no-such-process job-creation-op job-creation-request job-creation-auto-execution-mode job-creation-default-execution-mode job-creation-inputs job-creation-input-array job-creation-input-inline job-creation-input-inline-object job-creation-input-inline-mixed job-creation-input-inline-bbox job-creation-input-binary job-creation-input-ref job-creation-input-validation job-creation-default-outputs job-creation-success-async job job-success job-exception-no-such-job job-results job-results-async-document job-results-async-raw-value-one job-results-async-raw-ref job-results-async-raw-value-multi job-results-async-raw-mixed-multi job-results-failed job-results-exception-no-such-job job-results-exception-results-not-ready',
      'ogc-process-description':
        'json-encoding inputs-def input-def input-mixed-type outputs-def output-def output-mixed-type',
      json: 'definition',
      html: 'definition content',
      oas30: 'oas-definition-1 oas-definition-2 oas-impl completeness exception-codes security',
      'job-list':
        'job-list-op job-list-success limit-definition limit-response links processID-definition processID-mandatory processID-response status-definition status-response type-definition type-response datetime-definition datetime-response duration-definition duration-response',
      dismiss: 'job-dismiss-op job-dismiss-success',
      callback: 'job-callback',
    },
  },
  {
    uri: `${OGC}/ogcapi-tiles-1/1.0/conf/`,
    tests: ['tiles'],
    classes: {
      core: 'tc-op tc-success tc-error conformance-success',
      tileset: 'description',
      'tilesets-list': 'tileset-links tileset-path',
      'dataset-tilesets': 'landingpage operation',
      'geodata-tilesets': 'desc-links operation',
      'collections-selection': 'collections-parameter collections-response',
      mvt: 'content',
      png: 'content',
      jpeg: 'content',
      oas30: 'completeness operation-id',
    },
  },
  {
    uri: `${OGC}/tms/2.0/conf/`,
    tests: ['tiles'],
    classes: {
      tilematrixset: 'model',
      tilematrixsetlimits: 'model',
      tilesetmetadata: 'model identifier',
      variablematrixwidth: 'model coalescence1',
      'json-tilematrixset': 'schema media-type',
      'json-tilematrixsetlimits': 'schema',
      'json-tilesetmetadata': 'schema media-type',
      'json-variablematrixwidth': 'schema',
    },
  },
  {
    uri: 'https://www.opengis.net/spec/ogcapi-maps-1/1.0/conf/',
    tests: ['maps/maps.test.ts'],
    classes: {
      core: 'map-op map-response conformance-success',
      'collection-map': 'desc-crs desc-links map-operation',
      'dataset-map': 'desc-crs desc-extent landingpage operation',
      'styled-map': 'desc-links map-operation',
      tilesets: 'desc-links tiles-parameters',
      'collections-selection': 'collections-parameter collections-response',
      crs: 'crs-definition map-success',
      scaling: 'width-definition height-definition scale-denominator-definition',
      background: 'bgcolor-definition transparent-definition map-success',
      png: 'content',
      jpeg: 'content',
      tiff: 'content',
    },
  },
  {
    uri: 'https://www.opengis.net/spec/ogcapi-coverages-1/1.0/conf/',
    tests: ['rasters/coverages.test.ts'],
    classes: {
      core: 'get-coverage collection-description coverage-fields-schema response-headers conformance-success',
      'subsetting-spatial':
        'subset subset-crs bbox-definition bbox-crs subset-bbox-exclusivity subset-invalid-axis multiple-subset wildcard-limits wrap-around out-of-bounds',
      'scaling-spatial': 'width-and-height resolution resolution-invalid-axis native-resolution',
      'field-selection': 'properties exclude-properties',
      crs: 'crs-definition',
      geotiff: 'coverage raster-type',
    },
  },
  {
    // Names of the drafts.
    uri: `${OGC}/ogcapi-coverages-1/1.0/conf/`,
    tests: ['rasters/coverages.test.ts'],
    classes: {
      core: 'get-coverage',
      'geodata-coverage': 'links',
      geotiff: 'coverage',
      crs: 'crs-definition',
      fieldselection: 'properties',
    },
  },
  {
    // STAC has no names of requirements: these are ours.
    uri: 'https://api.stacspec.org/v1.0.0/',
    tests: ['stac'],
    classes: {
      core: 'landing-page',
      collections: 'collections',
      'ogcapi-features': 'items',
      'item-search': 'get post',
      'item-search#fields': 'fields',
      'item-search#sort': 'sortby',
      'item-search#filter': 'filter queryables',
    },
  },
];
