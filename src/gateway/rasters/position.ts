import Type from 'typebox';
import type { RasterCollection } from '../../core/catalog/collection.js';
import { findCollection } from '../../core/catalog/find.js';
import { ApiError, badParameter } from '../../core/errors/errors.js';
import { contentTag } from '../../core/http/content-tag.js';
import { type Format, HTML_FORMAT } from '../../core/http/media.js';
import {
  defineOperation,
  type Exchange,
  type Operation,
  type Param,
  type Reply,
} from '../../core/http/operation.js';
import { datetimeParam, pathString } from '../../core/http/params.js';
import { COVERAGES_PATH } from '../../core/http/paths.js';
import { formatBandName } from '../../services/rasters/bands.js';
import { type PositionSteps, valuesByTime } from '../../services/rasters/position.js';
import * as pages from '../pages/index.js';
import { documentReply, formatLinks, type SurfaceDeps } from '../surface/common.js';
import { lossHeaders } from '../surface/source-item-headers.js';
import { asRaster } from './documents.js';

const COVERAGE_JSON: Format = {
  name: 'json',
  aliases: ['covjson', 'coveragejson'],
  mediaType: 'application/prs.coverage+json',
  accepts: ['application/json'],
};
const CSV: Format = { name: 'csv', mediaType: 'text/csv; charset=utf-8', accepts: ['text/csv'] };
const FORMATS = [COVERAGE_JSON, CSV, HTML_FORMAT];

type Place = readonly [number, number];

/** `POINT(7 46)`, `7 46` or `7,46`: as queries of OGC API EDR have it, and as people type it. */
const coords: Param<Place> = {
  name: 'coords',
  in: 'query',
  required: true,
  description: 'Longitude and latitude: POINT(7.4 46.9), or 7.4 46.9.',
  schema: Type.String({ maxLength: 200 }),
  parse(raw) {
    const number = String.raw`([+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d{1,3})?)`;
    const pattern = new RegExp(
      String.raw`^\s*(?:POINT\s*\(\s*)?${number}(?:\s*,\s*|\s+)${number}\s*\)?\s*$`,
      'i',
    );
    const [, x, y] = pattern.exec((raw ?? '').slice(0, 200)) ?? [];
    const place = [Number(x), Number(y)] as const;
    if (!(Math.abs(place[0]) <= 180 && Math.abs(place[1]) <= 90))
      throw badParameter('coords', 'must be a longitude and a latitude, for example POINT(7.4 46.9)');
    return place;
  },
};

/** Values of all bands at a place, by time: a position query as OGC API EDR has it. */
export function positionOperation({ visible, pools }: SurfaceDeps): Operation {
  return defineOperation({
    surface: 'coverages',
    protocol: 'OGC-Coverages',
    permission: 'public',
    method: 'GET',
    id: 'coverages.getPosition',
    path: `${COVERAGES_PATH}/collections/{collectionId}/position`,
    summary: 'Values at a position by time',
    description:
      'Returns the values of all bands at a position for each instant of the coverage or of `datetime`, at most the newest 1,000. Levels other than the first are omitted.',
    tag: 'Coverages',
    params: {
      collectionId: pathString('collectionId', 'Identifier of a coverage.'),
      coords,
      datetime: datetimeParam,
    },
    formats: FORMATS,
    responses: {
      200: {
        description: 'Values',
        content: { [COVERAGE_JSON.mediaType]: Type.Object({}), 'text/csv': null, 'text/html': null },
      },
      400: { description: 'A parameter is invalid' },
      404: { description: 'The coverage does not exist or has no values at the position' },
      503: { description: 'The raster source does not respond, or the server is busy' },
    },
    async run(x) {
      const collection = asRaster(findCollection(visible(x.principal), x.params.collectionId));
      const place = x.params.coords;
      const values = await valuesByTime(x, pools, collection, { place, datetime: x.params.datetime });
      if (!values)
        throw new ApiError(
          'not-found',
          'The coverage has no values at this position and time. Use a position inside its extent and a time of its domain.',
        );
      const reply: Reply =
        x.format === CSV
          ? csvReply(collection, values)
          : documentReply(x, coverageJson(x, collection, place, values), () =>
              pages.buildPositionPage(x, collection, { place, ...values }),
            );
      return { ...reply, headers: { ...reply.headers, ...lossHeaders(values) } };
    },
  });
}

function csvReply({ id, bands }: RasterCollection, { steps }: PositionSteps) {
  const header = [
    'time',
    ...bands.map(
      ({ band, description, unit }) => `${description || formatBandName(band)}${unit ? ` (${unit})` : ''}`,
    ),
  ];
  const lines = [
    header.map((text) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text)),
    ...steps.map(({ time, values }) => [time ?? '', ...values.map((value) => value ?? '')]),
  ];
  const body = lines.map((line) => `${line.join(',')}\r\n`).join('');
  return {
    status: 200,
    mediaType: CSV.mediaType,
    body,
    etag: contentTag(body),
    cacheControl: 'no-cache',
    headers: { 'content-disposition': `attachment; filename="${id.replace(/[^\w.-]+/g, '_')}.csv"` },
  };
}

/** CoverageJSON (OGC 21-069r2): a series of points, or a point. */
function coverageJson(
  x: Exchange,
  collection: RasterCollection,
  [longitude, latitude]: Place,
  { steps, matched }: PositionSteps,
) {
  const times = steps.flatMap(({ time }) => time ?? []);
  const isSeries = times.length > 0;
  const names = collection.bands.map(({ band }) => formatBandName(band));
  return {
    type: 'Coverage',
    domain: {
      type: 'Domain',
      domainType: isSeries ? 'PointSeries' : 'Point',
      axes: {
        x: { values: [longitude] },
        y: { values: [latitude] },
        ...(isSeries ? { t: { values: times } } : {}),
      },
      referencing: [
        {
          coordinates: ['x', 'y'],
          system: { type: 'GeographicCRS', id: 'http://www.opengis.net/def/crs/OGC/1.3/CRS84' },
        },
        ...(isSeries ? [{ coordinates: ['t'], system: { type: 'TemporalRS', calendar: 'Gregorian' } }] : []),
      ],
    },
    parameters: Object.fromEntries(
      collection.bands.map(({ description, unit }, i) => [
        names[i]!,
        {
          type: 'Parameter',
          observedProperty: { label: { en: description || names[i]! } },
          ...(unit ? { unit: { symbol: unit } } : {}),
        },
      ]),
    ),
    ranges: Object.fromEntries(
      names.map((name, i) => [
        name,
        {
          type: 'NdArray',
          dataType: 'float',
          ...(isSeries ? { axisNames: ['t'], shape: [steps.length] } : {}),
          values: steps.map(({ values }) => values[i] ?? null),
        },
      ]),
    ),
    numberMatched: matched,
    numberReturned: steps.length,
    links: formatLinks(x, x.path, FORMATS, x.query),
  };
}
