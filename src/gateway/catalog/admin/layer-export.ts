import Type from 'typebox';
import { hasFeatures } from '../../../core/catalog/abilities.js';
import type { Collection } from '../../../core/catalog/collection.js';
import { findCollection } from '../../../core/catalog/find.js';
import { badParameter, notFound } from '../../../core/errors/errors.js';
import type { Exchange, Param, Reply } from '../../../core/http/operation.js';
import { bboxParam, csvFormulas, defineListParam, defineTextParam } from '../../../core/http/params.js';
import { asciiJson, json } from '../../../core/http/reply.js';
import { LIMITS } from '../../../core/kit/limits.js';
import { EXPORT_FORMATS, EXPORT_NAMES, type ExportName } from '../../../services/exchange/exports/formats.js';
import {
  createExportFileName,
  type ExportRequest,
  isLong,
  planExport,
} from '../../../services/exchange/exports/plan.js';
import type { Services } from '../../admin/deps.js';
import { BASE_PATH, createRowBuilders, type OperationRow } from '../../admin/kit.js';
import { createSubmitOptions } from '../../connections/admin/remote-imports.js';
import { recordExport } from '../../http/recorded-export.js';
import { exportPath } from './export-download.js';

const SERVICES = ['catalog', 'exports', 'visible'] as const;
const { report } = createRowBuilders(SERVICES);

/** The row of exports, which the group of services has. */

const MAX_FIELDS = 1000;

const format: Param<ExportName> = {
  name: 'format',
  in: 'query',
  description: 'csv, shapefile, gpkg, geojson, flatgeobuf, geoparquet or kml.',
  required: true,
  schema: Type.Enum(EXPORT_NAMES),
  parse(raw) {
    const name = EXPORT_NAMES.find((one) => one === raw?.toLowerCase());
    if (!name) throw badParameter('format', `must be one of ${EXPORT_NAMES.join(', ')}`);
    return name;
  },
};

const params = {
  format,
  where: defineTextParam(
    'where',
    { description: 'A condition in SQL over the attributes.' },
    { maxLength: LIMITS.urlBytes },
  ),
  bbox: {
    ...bboxParam,
    description:
      'xmin,ymin,xmax,ymax in degrees, or in the coordinates of data with a local (engineering) CRS.',
  },
  outFields: defineListParam(
    'outFields',
    MAX_FIELDS,
    'Names of the attributes that are written, or *. Default: all.',
  ),
  csvFormulas,
  outSR: defineTextParam(
    'outSR',
    {
      description:
        'CRS of the coordinates: an EPSG code or URI. Default: the CRS of the data; degrees for GeoJSON and KML.',
    },
    { maxLength: 512 },
  ),
};

interface Place {
  serviceName: string;
  layerId: number;
}

const Queued = Type.Object({
  operationId: Type.String(),
  statusUrl: Type.String(),
  downloadUrl: Type.String(),
  totalFeatures: Type.Integer(),
  message: Type.String(),
});

const FILES = Object.fromEntries(Object.values(EXPORT_FORMATS).map(({ mediaType }) => [mediaType, null]));

export function layerExport(
  place: { serviceName: Param<string>; layerId: Param<number> },
  layerOf: (place: Place, deps: Services<'catalog'>) => Collection,
): OperationRow {
  return report('GET /services/{serviceName}/layers/{layerId}/export', 'Export Layer Data', {
    description: `Returns the part of the layer that the caller can read, as a file. The header Graticule-Warnings is a JSON array of the values that the format changes. A job writes files of more than ${LIMITS.exportFeatures} features.`,
    params: { ...place, ...params },
    exports: true,
    responses: {
      200: { description: 'The file', content: FILES },
      202: { description: 'The file is made by a job', content: { 'application/json': Queued } },
    },
    errors: [400, 403, 404, 422, 503],
    async reply(x, deps) {
      const { params: asked } = x;
      const { id } = layerOf(asked, deps);
      const collection = findCollection(deps.visible(x.principal), id);
      if (!hasFeatures(collection)) throw notFound('feature layer', `${asked.layerId}`);
      const request = readRequest(asked);
      const plan = planExport(collection, request);
      const total = await deps.exports.count(x, plan);
      const { format: name, ...filter } = request;
      recordExport(x, { format: name, filter, count: total });
      if (isLong(total)) {
        const options = createSubmitOptions(x);
        const job = await deps.exports.submit(collection, request, x.principal, options);
        return queued(job.id, total);
      }
      const { body, length, notes } = await deps.exports.open(x as Exchange, plan);
      return {
        status: 200,
        mediaType: EXPORT_FORMATS[plan.format].mediaType,
        cacheControl: 'no-store',
        headers: {
          'content-disposition': `attachment; filename="${createExportFileName(plan)}"`,
          ...(notes.length === 0 ? {} : { 'graticule-warnings': asciiJson(notes) }),
        },
        body,
        ...(length === undefined ? {} : { length }),
      };
    },
  });
}

function readRequest({
  format,
  where,
  bbox,
  outFields,
  outSR,
  csvFormulas: guardsFormulas,
}: {
  [K in keyof typeof params]: ReturnType<(typeof params)[K]['parse']>;
}): ExportRequest {
  return {
    format,
    ...(where ? { where } : {}),
    ...(bbox ? { bbox } : {}),
    ...(outFields ? { outFields } : {}),
    ...(outSR ? { outSR } : {}),
    ...(guardsFormulas ? { guardsFormulas } : {}),
  };
}

function queued(operationId: string, totalFeatures: number): Reply {
  const body = {
    operationId,
    statusUrl: `${BASE_PATH}/operations/${operationId}`,
    downloadUrl: exportPath(operationId),
    totalFeatures,
    message: `The export runs in the background. Download the file from ${exportPath(operationId)} when the job has ended.`,
  };
  return json(body, 'application/json', 202);
}
