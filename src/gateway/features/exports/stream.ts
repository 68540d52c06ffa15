import { EXCHANGE_LIMITS } from '../../../core/exchange/limits.js';
import { GEOJSON_FORMAT } from '../../../core/http/media.js';
import { defineOperation, type Exchange, type Operation, type Reply } from '../../../core/http/operation.js';
import { FEATURES_PATH } from '../../../core/http/paths.js';
import { EXPORT_NAMES, type ExportName } from '../../../services/exchange/exports/formats.js';
import {
  createExportFileName,
  type ExportPlan,
  planSelection,
} from '../../../services/exchange/exports/plan.js';
import { StreamPlaces } from '../../../services/exchange/exports/stream-places.js';
import { openExport } from '../../../services/exchange/exports/write.js';
import { findView } from '../../../services/features/view.js';
import { recordExport } from '../../http/recorded-export.js';
import type { SurfaceDeps } from '../../surface/common.js';
import { CSV_FORMAT } from '../formats.js';
import { exportParams, readExport } from './params.js';

/** Formats that are streamed. */
const STREAMED: ReadonlySet<ExportName> = new Set(['geojson', 'csv']);

export const EXPORT_PATH = `${FEATURES_PATH}/collections/{collectionId}/export`;

/** Sends all selected features of a collection as one file, in parts. */
export function streamOperation(deps: SurfaceDeps): Operation {
  const places = new StreamPlaces();
  return defineOperation({
    surface: 'features',
    protocol: 'OGC-Features',
    permission: 'public',
    ...{ audited: true, exports: true },
    method: 'GET',
    tag: 'Exports',
    id: 'features.export',
    entityTag: 'none',
    path: EXPORT_PATH,
    summary: 'Download all features',
    description: `Returns all selected features as one GeoJSON or CSV file of any size. Each queryable of the collection is also a parameter, as for items. If the server cannot send the complete file, it closes the connection before the end of the response. Maximum exports at the same time: ${EXCHANGE_LIMITS.exportStreamsPerCaller} for a client, ${EXCHANGE_LIMITS.exportStreams} for a server process.`,
    params: exportParams,
    formats: [GEOJSON_FORMAT, CSV_FORMAT],
    describeFormat(f, path) {
      const name = EXPORT_NAMES.find((one) => one === f.toLowerCase());
      if (name === undefined || STREAMED.has(name)) return undefined;
      return `'${name}' is a format of export jobs. Send POST ${path}?f=${name}, or use geojson or csv with GET`;
    },
    openQuery: true,
    responses: {
      200: { description: 'The file', content: { 'application/geo+json': null, 'text/csv': null } },
      400: { description: 'A parameter is wrong' },
      404: { description: 'No such collection' },
      429: { description: 'Too many exports of this client' },
      503: { description: 'The data source does not respond, or the server runs too many exports' },
    },
    async run(x) {
      const view = findView(deps, x.principal, x.params.collectionId);
      const format = x.format === CSV_FORMAT ? 'csv' : 'geojson';
      const filter = readExport(x, x.params);
      const plan = planSelection(view, { format, ...filter });
      recordExport(x, { format, filter: x.query });
      if (x.method === 'HEAD') return fileReply(x, plan, nothing());
      const release = places.enter(x.caller);
      x.signal.addEventListener('abort', release, { once: true });
      try {
        const body = releaseAfter(await openExport(x, deps.pools, plan), release);
        return { ...fileReply(x, plan, body), sent: release };
      } catch (error) {
        release();
        throw error;
      }
    },
  });
}

function fileReply(x: Pick<Exchange, 'format'>, plan: ExportPlan, body: AsyncIterable<Uint8Array>): Reply {
  return {
    status: 200,
    mediaType: x.format.mediaType,
    cacheControl: 'no-store',
    headers: { 'content-disposition': `attachment; filename="${createExportFileName(plan)}"` },
    body,
  };
}

async function* nothing(): AsyncGenerator<Uint8Array> {}

/** Calls `release` after the last part, after a failure, and when the reader stops. */
async function* releaseAfter(
  parts: AsyncIterable<Uint8Array>,
  release: () => void,
): AsyncGenerator<Uint8Array> {
  try {
    yield* parts;
  } finally {
    release();
  }
}
