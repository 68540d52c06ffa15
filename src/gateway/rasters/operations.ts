import Type from 'typebox';
import { findCollection } from '../../core/catalog/find.js';
import { GEOTIFF_FORMAT, HTML_FORMAT, PNG_FORMAT, SCHEMA_FORMAT } from '../../core/http/media.js';
import { defineOperation, type Operation } from '../../core/http/operation.js';
import {
  bboxParam,
  choice,
  datetimeParam,
  defineIntegerParam,
  definePositiveNumberParam,
  defineTextParam,
  pathString,
} from '../../core/http/params.js';
import { COVERAGES_PATH } from '../../core/http/paths.js';
import { LIMITS } from '../../core/kit/limits.js';
import { pageLookParams } from '../../core/rasters/look-params.js';
import { RESAMPLINGS } from '../../core/rasters/rasters.js';
import { pageLook } from '../../services/rasters/looks.js';
import { openApiDocument } from '../http/openapi.js';
import { PartialReplies } from '../http/replies/partial-replies.js';
import * as pages from '../pages/index.js';
import {
  datasetLinks,
  documentReply,
  META_FORMATS,
  type SurfaceDeps,
  surfaceBasics,
} from '../surface/common.js';
import { crsParam } from '../surface/crs-params.js';
import { collectionsReply, finderParams } from '../surface/finder.js';
import { MemberTexts } from '../surface/member-texts.js';
import { createCoverageReply } from './coverage.js';
import { asRaster, coverageDocument, coverageListLinks, coverageSchema } from './documents.js';
import { elevationOperations } from './elevation.js';
import { positionOperation } from './position.js';

const COMMON = {
  surface: 'coverages',
  protocol: 'OGC-Coverages',
  permission: 'public',
  method: 'GET',
} as const;

/** Classes that a test of their name covers. */
export const COVERAGES_CONFORMANCE: readonly string[] = [
  ...['core', 'landing-page', 'json', 'html'].map(
    (name) => `http://www.opengis.net/spec/ogcapi-common-1/1.0/conf/${name}`,
  ),
  'http://www.opengis.net/spec/ogcapi-common-2/1.0/conf/collections',
  ...['core', 'subsetting-spatial', 'scaling-spatial', 'field-selection', 'crs', 'geotiff'].map(
    (name) => `https://www.opengis.net/spec/ogcapi-coverages-1/1.0/conf/${name}`,
  ),
  // Conformance classes of the drafts, which clients check.
  ...['core', 'geodata-coverage', 'geotiff', 'crs', 'fieldselection'].map(
    (name) => `http://www.opengis.net/spec/ogcapi-coverages-1/1.0/conf/${name}`,
  ),
];

const collectionId = pathString('collectionId', 'Identifier of a coverage.');

/**
 * For image tiles and maps, `json` may mean an image format; a coverage returns its values. Many clients always send
 * f=json and expect them.
 */
const COVERAGE_FORMATS = [
  { ...GEOTIFF_FORMAT, aliases: [...(GEOTIFF_FORMAT.aliases ?? []), 'json'] },
  PNG_FORMAT,
];

const SIDE = { min: 1, max: LIMITS.coverageSide, default: undefined };

const scaling = {
  resolution: defineTextParam(
    'resolution',
    {
      description:
        'Pixel size: one number or width,height in units of the storage CRS, or by axis in units of the output CRS: Lat(0.01),Lon(0.01).',
    },
    { maxLength: 128 },
  ),
  scaleFactor: definePositiveNumberParam('scale-factor', 'Multiplier of the native pixel size.'),
  scaleAxes: defineTextParam(
    'scale-axes',
    { description: 'Multipliers of the native pixel size by axis: Lat(2),Lon(2) or E(2),N(2).' },
    { maxLength: 128 },
  ),
  width: defineIntegerParam('width', SIDE, { description: 'Columns of the output.' }),
  height: defineIntegerParam('height', SIDE, { description: 'Rows of the output.' }),
  scaleSize: defineTextParam(
    'scale-size',
    { description: 'width,height in pixels, or axis pairs such as x(400),y(300).', aliases: ['scaleSize'] },
    { maxLength: 64 },
  ),
};

const resampling = choice(
  'resampling',
  RESAMPLINGS,
  'How values between pixels are found; nearest for values that are names, else bilinear.',
);

const DOCUMENT = { 200: { description: 'Document', content: { 'application/json': Type.Object({}) } } };

/** Raster data with its values: OGC API Coverages part 1. */
const COVERAGE_CONTENT = { [GEOTIFF_FORMAT.mediaType]: null, 'image/png': null };

export function coveragesOperations(deps: SurfaceDeps): Operation[] {
  const partial = new PartialReplies();
  const texts = new MemberTexts();
  const { visible, pools, places } = deps;
  const operations: Operation[] = [];
  operations.push(
    ...surfaceBasics({
      ...COMMON,
      path: COVERAGES_PATH,
      landingPath: `${COVERAGES_PATH}/`,
      title: 'Coverages',
      description: 'Raster data with its values, as GeoTIFF or PNG, in any advertised CRS.',
      conformance: COVERAGES_CONFORMANCE,
      apiPaths: [`${COVERAGES_PATH}/api`, `${COVERAGES_PATH}/openapi.json`],
      formats: META_FORMATS,
      links: (x) => [
        {
          href: `${x.baseUrl}${COVERAGES_PATH}/collections`,
          rel: 'data',
          type: 'application/json',
          title: 'Coverages',
        },
        ...datasetLinks(x),
      ],
      landingPage: pages.buildLandingPage,
      conformancePage: pages.buildConformancePage,
      api: (x) =>
        openApiDocument(
          { title: 'Graticule Coverages', description: 'OGC API Coverages', serverUrl: x.baseUrl },
          operations,
        ),
    }),
    defineOperation({
      ...COMMON,
      id: 'coverages.getCollections',
      path: `${COVERAGES_PATH}/collections`,
      summary: 'Coverages',
      params: finderParams,
      tag: 'Collections',
      formats: META_FORMATS,
      responses: DOCUMENT,
      run(x) {
        return collectionsReply(x, places, visible(x.principal).rasters, {
          texts,
          links: coverageListLinks(x),
          describe: (collection) => coverageDocument(x, collection),
        });
      },
    }),
    defineOperation({
      ...COMMON,
      id: 'coverages.getCollection',
      path: `${COVERAGES_PATH}/collections/{collectionId}`,
      summary: 'One coverage',
      tag: 'Collections',
      params: { collectionId, ...pageLookParams },
      formats: META_FORMATS,
      responses: { ...DOCUMENT, 404: { description: 'No such coverage' } },
      run(x) {
        const collection = asRaster(findCollection(visible(x.principal), x.params.collectionId));
        const document = coverageDocument(x, collection);
        const look = pageLook(collection, x.params);
        return documentReply(x, document, () => pages.coveragePage(x, document, collection, { look }));
      },
    }),
    defineOperation({
      ...COMMON,
      id: 'coverages.getSchema',
      path: `${COVERAGES_PATH}/collections/{collectionId}/schema`,
      summary: 'Fields of a coverage',
      tag: 'Collections',
      params: { collectionId },
      formats: [SCHEMA_FORMAT, HTML_FORMAT],
      responses: {
        200: {
          description: 'JSON Schema of the bands',
          content: { 'application/schema+json': Type.Object({}) },
        },
      },
      run(x) {
        const document = coverageSchema(
          x,
          asRaster(findCollection(visible(x.principal), x.params.collectionId)),
        );
        return documentReply(x, document, () => pages.buildDocumentPage(x, document.title, document));
      },
    }),
    defineOperation({
      ...COMMON,
      id: 'coverages.getCoverage',
      path: `${COVERAGES_PATH}/collections/{collectionId}/coverage`,
      summary: 'Values of a coverage',
      tag: 'Coverages',
      params: {
        collectionId,
        bbox: bboxParam,
        bboxCrs: crsParam('bbox-crs', 'CRS of the numbers in bbox; one that the coverage lists.'),
        crs: crsParam('crs', 'CRS of the answer; one that the coverage lists.'),
        datetime: {
          ...datetimeParam,
          description:
            'RFC 3339 instant or interval that selects one step of the time axis. Default: the newest.',
        },
        subset: {
          ...defineTextParam('subset', {
            description:
              'Parts of axes: Lat(10:20),Lon(5:*), E(..),N(..), time("2020-01-01"), h(100); a single number for one place.',
          }),
          repeatable: true,
        },
        subsetCrs: crsParam(
          'subset-crs',
          'CRS of the numbers in subset; one that the coverage lists, CRS84 by default.',
        ),
        properties: defineTextParam('properties', {
          description: 'Bands in output order, by number or title: band_1,band_3 or tas,pr.',
        }),
        excludeProperties: defineTextParam('exclude-properties', { description: 'All bands but these.' }),
        ...scaling,
        resampling,
      },
      formats: COVERAGE_FORMATS,
      responses: {
        200: { description: 'Coverage', content: COVERAGE_CONTENT },
        206: { description: 'Part of the coverage', content: COVERAGE_CONTENT },
        400: { description: 'A parameter is wrong' },
        404: { description: 'No such coverage' },
        406: { description: 'Format not acceptable' },
        416: { description: 'The range is outside of the coverage' },
      },
      run(x) {
        const collection = asRaster(findCollection(visible(x.principal), x.params.collectionId));
        return partial.reply(x, () => createCoverageReply(x, pools, collection, x.params));
      },
    }),
    positionOperation(deps),
    ...elevationOperations(deps),
  );
  return operations;
}
