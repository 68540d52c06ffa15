import Type from 'typebox';
import { findCollection, requirePlace } from '../../core/catalog/find.js';
import { badParameter } from '../../core/errors/errors.js';
import { buildCrsUri, CRS84 } from '../../core/geometry/crs.js';
import { contentTag } from '../../core/http/content-tag.js';
import { JSON_FORMAT } from '../../core/http/media.js';
import { defineOperation, type Exchange, type Operation, type Param } from '../../core/http/operation.js';
import {
  choice,
  defineIntegerParam,
  definePositiveNumberParam,
  parseNumber,
  pathString,
} from '../../core/http/params.js';
import { json } from '../../core/http/reply.js';
import { ELEVATION_LIMITS } from '../../core/rasters/elevations.js';
import { resolveCrs } from '../../native/crs.js';
import { type Elevations, findElevations, MOSAIC_RULES } from '../../services/rasters/elevation.js';
import type { SurfaceDeps } from '../surface/common.js';
import { lossHeaders } from '../surface/source-item-headers.js';
import { asRaster } from './documents.js';

const ELEVATION_PATH = '/elevation/{datasetId}';
const DEFAULT_SAMPLES = 100;

type Vertex = readonly [number, number];

const datasetId = pathString('datasetId', 'Identifier of a coverage.');

const srid: Param<ReturnType<typeof resolveCrs>> = {
  name: 'srid',
  in: 'query',
  description:
    'EPSG code of the coordinates, which are always x,y ordered (longitude or easting first). Default: 4326.',
  schema: Type.String({ maxLength: 200 }),
  parse(raw) {
    if (raw === undefined || raw === '4326') return CRS84;
    return resolveCrs('srid', raw.slice(0, 200));
  },
};

const mosaicRule = choice(
  'mosaicRule',
  MOSAIC_RULES,
  'Value where rasters of a mosaic overlap. Default: the rule of the collection.',
);

function coordinate(name: 'x' | 'y', description: string): Param<number> {
  return {
    name,
    in: 'query',
    required: true,
    description,
    schema: Type.Number(),
    parse(raw) {
      if (raw === undefined) throw badParameter(name, 'is required');
      const value = parseNumber(raw);
      if (value === undefined) throw badParameter(name, 'must be a number');
      return value;
    },
  };
}

/** `LINESTRING(7 46, 8 47)`, also with Z, whose values are ignored. */
const line: Param<readonly Vertex[]> = {
  name: 'line',
  in: 'query',
  required: true,
  description: `WKT of a line: LINESTRING(7.4 46.9, 7.5 46.8). It has at most ${ELEVATION_LIMITS.profileVertices} vertices.`,
  schema: Type.String(),
  parse(raw) {
    const [, text] = /^\s*LINESTRING\s*Z?\s*\(([^()]*)\)\s*$/i.exec(raw ?? '') ?? [];
    if (text === undefined)
      throw badParameter('line', 'must be the WKT of a line, for example LINESTRING(7.4 46.9, 7.5 46.8)');
    const vertices = text.split(',').map((vertex) => {
      const numbers = vertex.trim().split(/\s+/).map(parseNumber);
      const [px, py] = numbers;
      if (px === undefined || py === undefined || numbers.length > 3 || numbers.includes(undefined))
        throw badParameter(
          'line',
          `'${vertex.trim().slice(0, 60)}' is not a vertex. Write x and y, for example 7.4 46.9`,
        );
      return [px, py] as const;
    });
    if (vertices.length < 2 || vertices.length > ELEVATION_LIMITS.profileVertices)
      throw badParameter(
        'line',
        `has ${vertices.length} vertices. A line has from 2 to ${ELEVATION_LIMITS.profileVertices}`,
      );
    return vertices;
  },
};

const COMMON = {
  surface: 'coverages',
  protocol: 'OGC-Coverages',
  permission: 'public',
  method: 'GET',
  tag: 'Elevation',
  formats: [JSON_FORMAT],
  responses: {
    200: { description: 'Heights', content: { 'application/json': Type.Object({}) } },
    400: { description: 'A parameter is invalid' },
    404: { description: 'The coverage does not exist' },
    503: { description: 'The raster source does not respond, or the server is busy' },
  },
} as const;

/** Heights of coverages at a position and along a line. */
export function elevationOperations({ visible, pools }: SurfaceDeps): Operation[] {
  const find = (x: Exchange, id: string) => {
    const collection = asRaster(findCollection(visible(x.principal), id));
    requirePlace(collection);
    return collection;
  };
  return [
    defineOperation({
      ...COMMON,
      id: 'elevation.getValue',
      path: `${ELEVATION_PATH}/value`,
      summary: 'Height at a position',
      description: 'Returns the value of the first band of a coverage at a position, from its newest time.',
      params: {
        datasetId,
        x: coordinate('x', 'Longitude or easting.'),
        y: coordinate('y', 'Latitude or northing.'),
        srid,
        mosaicRule,
      },
      async run(x) {
        const collection = find(x, x.params.datasetId);
        const place = [x.params.x, x.params.y] as const;
        requireDegrees(x.params.srid.geographic, [place], 'x');
        const heights = await findElevations(x, pools, collection, {
          line: [place],
          crs: x.params.srid,
          sampling: undefined,
          rule: x.params.mosaicRule ?? 'default',
        });
        const { height, isOutside } = heights.samples[0]!;
        return elevationReply(heights, {
          datasetId: collection.id,
          layerId: collection.layerId,
          elevation: height,
          noData: height === null,
          outOfBounds: isOutside,
          x: place[0],
          y: place[1],
          querySrid: x.params.srid.epsg,
          mosaicRule: heights.rule,
          source: describe(x, collection, heights),
        });
      },
    }),
    defineOperation({
      ...COMMON,
      id: 'elevation.getProfile',
      path: `${ELEVATION_PATH}/profile`,
      summary: 'Heights along a line',
      description:
        'Returns equally spaced values of the first band of a coverage along a line, from its newest time. Distances are metres over the ground.',
      params: {
        datasetId,
        line,
        sampleCount: defineIntegerParam(
          'sampleCount',
          { min: 2, max: ELEVATION_LIMITS.profileSamples, default: undefined },
          { description: `Number of samples. Default: ${DEFAULT_SAMPLES}.` },
        ),
        interval: definePositiveNumberParam(
          'interval',
          'Metres between samples. The end of the line is also a sample.',
        ),
        srid,
        mosaicRule,
      },
      async run(x) {
        const { sampleCount, interval } = x.params;
        if (sampleCount !== undefined && interval !== undefined)
          throw badParameter('interval', 'cannot be combined with sampleCount. Send one of them');
        const collection = find(x, x.params.datasetId);
        requireDegrees(x.params.srid.geographic, x.params.line, 'line');
        const heights = await findElevations(x, pools, collection, {
          line: x.params.line,
          crs: x.params.srid,
          sampling: interval === undefined ? { count: sampleCount ?? DEFAULT_SAMPLES } : { interval },
          rule: x.params.mosaicRule ?? 'default',
        });
        return elevationReply(heights, {
          datasetId: collection.id,
          layerId: collection.layerId,
          sampleCount: heights.samples.length,
          lineLengthMeters: heights.length,
          lineSrid: x.params.srid.epsg,
          mosaicRule: heights.rule,
          isAllNoData: heights.samples.every(({ height }) => height === null),
          samples: heights.samples.map(({ distance, height }) => ({
            distanceMeters: distance,
            elevation: height,
            noData: height === null,
          })),
          source: describe(x, collection, heights),
        });
      },
    }),
  ];
}

function requireDegrees(isGeographic: boolean, vertices: readonly Vertex[], name: string): void {
  const wrong = isGeographic && vertices.find(([px, py]) => Math.abs(px) > 360 || Math.abs(py) > 90);
  if (wrong)
    throw badParameter(
      name,
      `${wrong.join(' ')} is not a longitude and a latitude. Use longitudes from -360 to 360 and latitudes from -90 to 90, or set srid`,
    );
}

function describe(x: Exchange, { raster, storageCrs }: ReturnType<typeof asRaster>, { source }: Elevations) {
  return { ...source, sourceSrid: raster.epsg, sourceCrs: buildCrsUri(storageCrs, x.baseUrl), band: 1 };
}

function elevationReply(heights: Elevations, document: object) {
  const reply = json(document);
  return {
    ...reply,
    etag: contentTag(reply.body as string),
    cacheControl: 'no-cache',
    headers: lossHeaders(heights),
  };
}
