import type { RasterCollection } from '../../../core/catalog/collection.js';
import { ApiError } from '../../../core/errors/errors.js';
import { TaskFailure } from '../../../core/errors/failure.js';
import { buildCrsUri } from '../../../core/geometry/crs.js';
import { defineOperation, type Exchange, type Operation, type Reply } from '../../../core/http/operation.js';
import { pathString } from '../../../core/http/params.js';
import type { CoverageResult } from '../../../core/rasters/rasters.js';
import { readCoverage, type TimedCoverage } from '../../../services/rasters/read.js';
import { coverageReply } from '../../surface/coverage-reply.js';
import { member } from '../features/query-members.js';
import { requireImage } from '../images/image-layers.js';
import type { MapDeps } from '../maps/map-layers.js';
import { type Members, readTextMember } from '../members.js';
import { parseOgcParameters, xmlFailure, xmlReply } from './ogc-requests.js';
import {
  negotiateVersion,
  owsError,
  readSections,
  requireOperation,
  requireText,
  requireValue,
} from './ows.js';
import {
  type CoverageGrid,
  coverageDescription,
  encodeCoverageId,
  findLocator,
  WCS_FORMAT,
  WCS_OPERATIONS,
  WCS_SECTIONS,
  WCS_VERSION,
  wcsCapabilities,
  wcsException,
  writeGmlCoverage,
} from './wcs-documents.js';
import { multipartReply } from './wcs-parts.js';
import { readWcsRequest, type WcsRequest } from './wcs-request.js';

const MAX_TEXT = 2000;
const MULTIPART = 'multipart/related';

/** Image services as WCS 2.0.1, each with one coverage. */
export function wcsOperation(deps: MapDeps): Operation {
  return defineOperation({
    surface: 'geoservices',
    protocol: 'WCS-2.0.1',
    permission: 'public',
    method: 'GET',
    openQuery: true,
    takesToken: true,
    tag: 'ImageServer',
    id: 'geoservices.wcs',
    summary: 'An image service as WCS',
    path: '/rest/services/{serviceId}/ImageServer/WCSServer',
    params: {
      serviceId: pathString('serviceId', 'Identifier of a collection of rasters.'),
      // The name is case-insensitive, as all names in the query are.
      SUBSET: {
        ...member('SUBSET', 'axis(low,high) or axis(position), once for each axis. * is an open end.'),
        repeatable: true,
      },
    },
    responses: {
      200: {
        description: 'XML, or values',
        content: { 'text/xml': null, 'image/tiff': null, [MULTIPART]: null },
      },
    },
    failure: xmlFailure('ImageServer', 'wcsserver', wcsException),
    run(x): Reply | Promise<Reply> {
      const collection = requireImage(deps, x.principal, x.params.serviceId);
      const pairs = parseOgcParameters(x.query, ['SUBSET']);
      switch (requireOperation(pairs, 'WCS', WCS_OPERATIONS)) {
        case 'GetCapabilities': {
          negotiateVersion(pairs, [WCS_VERSION]);
          const includes = readSections(pairs, WCS_SECTIONS);
          const address = `${x.baseUrl}${x.path}`;
          return xmlReply(wcsCapabilities(collection, { address, baseUrl: x.baseUrl, includes }));
        }
        case 'DescribeCoverage':
          requireValue(pairs, 'version', WCS_VERSION);
          requireCoverages(collection, pairs);
          return xmlReply(coverageDescription(collection, x.baseUrl));
        case 'GetCoverage':
          requireValue(pairs, 'version', WCS_VERSION);
          requireCoverage(collection, requireText(pairs, 'coverageId', MAX_TEXT));
          return coverage(x, deps, collection, pairs);
      }
    },
  });
}

/** Checks that each identifier in COVERAGEID names a coverage of this server. Throws emptyCoverageIdList and NoSuchCoverage. Throws emptyCoverageIdList and NoSuchCoverage. */
function requireCoverages(collection: RasterCollection, pairs: Members): void {
  const ids = (readTextMember(pairs, 'COVERAGEID', MAX_TEXT) ?? '').split(',').filter((id) => id !== '');
  const detail = `COVERAGEID: must not be empty. Use ${encodeCoverageId(collection)}.`;
  if (ids.length === 0) throw owsError('emptyCoverageIdList', 'coverageId', detail);
  for (const id of ids) requireCoverage(collection, id);
}

function requireCoverage(collection: RasterCollection, id: string): void {
  if (id === collection.id || id === encodeCoverageId(collection)) return;
  const detail = `COVERAGEID: there is no coverage '${id.slice(0, 100)}'. Use ${encodeCoverageId(collection)}.`;
  throw owsError('NoSuchCoverage', id, detail);
}

async function coverage(
  x: Exchange,
  deps: MapDeps,
  collection: RasterCollection,
  pairs: Members,
): Promise<Reply> {
  requireChoice(pairs, 'format', WCS_FORMAT);
  const isMultipart = requireChoice(pairs, 'mediaType', MULTIPART);
  const method = readTextMember(pairs, 'INTERPOLATION', MAX_TEXT);
  if (method !== undefined) {
    const detail = 'INTERPOLATION: is not supported. Omit it.';
    throw owsError('InvalidParameterValue', 'interpolation', detail);
  }
  const request = readWcsRequest(collection, pairs, x.query);
  const { result } = await read(x, deps, collection, request);
  const reply = await coverageReply(result);
  if (!isMultipart) return reply;
  return multipartReply(reply, (reference) => {
    const buildBand = (number: number) => collection.bands.find(({ band }) => band === number)!;
    const bands = request.bands?.map(buildBand) ?? collection.bands;
    return writeGmlCoverage(encodeCoverageId(collection), describeGrid(x, request, result), bands, reference);
  });
}

/** True for a parameter with its one value, false without it. Throws InvalidParameterValue for another value. */
function requireChoice(pairs: Members, locator: string, value: string): boolean {
  if (readTextMember(pairs, locator.toUpperCase(), MAX_TEXT) === undefined) return false;
  requireValue(pairs, locator, value);
  return true;
}

async function read(
  x: Exchange,
  { pools }: MapDeps,
  collection: RasterCollection,
  request: WcsRequest,
): Promise<TimedCoverage> {
  try {
    const { first: _, scaledBy: __, ...reading } = request;
    return await readCoverage(x, pools, collection, { ...reading, format: 'geotiff' });
  } catch (error) {
    if (!(error instanceof TaskFailure)) throw error;
    if (error.code === 'no-data')
      throw owsError('InvalidSubsetting', 'subset', 'SUBSET: the coverage has no values in this subset.');
    if (error.code !== 'too-large') throw error;
    const { scaledBy } = request;
    if (scaledBy === undefined)
      throw new ApiError('invalid-request', `${error.message} Add SUBSET or SCALESIZE.`);
    throw owsError('InvalidParameterValue', findLocator(scaledBy), `${scaledBy}: ${error.message}`);
  }
}

function describeGrid(
  { baseUrl }: Exchange,
  { crs, first }: WcsRequest,
  { bbox: box, width, height }: CoverageResult,
): CoverageGrid {
  return { crs, uri: buildCrsUri(crs, baseUrl), box, width, height, ...(first ? { first } : {}) };
}
