import type { VectorCollection } from '../../../core/catalog/collection.js';
import type { FeatureBin } from '../../../core/features/feature-bins.js';
import type { Operation } from '../../../core/http/operation.js';
import { isExactNumber } from '../../../core/values/exact-number.js';
import { runTask } from '../../../services/kit/run-task.js';
import { requireLayer } from '../../../services/replicas/layer-view.js';
import { type Members, wholeNumber } from '../members.js';
import { type BinColumn, type BinsRequest, binsRequest, dateBinsRequest } from './bins-request.js';
import { common, readingOperation, SERVER } from './feature-server.js';
import { member } from './query-members.js';
import { featureParams, groupParams, layerParams, type QueryDeps } from './query-operations.js';
import { tableReply } from './statistics-operations.js';

/** Statistics of features in bins: `queryBins` and `queryDateBins`. */

const filterParams = Object.fromEntries(
  (
    [
      'where',
      'objectIds',
      'geometry',
      'geometryType',
      'inSR',
      'spatialRel',
      'distance',
      'units',
      'time',
    ] as const
  ).map((name) => [name, featureParams[name]]),
);

const params = {
  ...filterParams,
  outStatistics: groupParams.outStatistics,
  binOrder: member('binOrder', 'ASC or DESC. Default: ASC.'),
  outTimeReference: member('outTimeReference', 'JSON with ianaTimeZone.'),
  resultOffset: featureParams.resultOffset,
  resultRecordCount: featureParams.resultRecordCount,
};

export function binOperations(deps: QueryDeps): Operation[] {
  return [
    ...operation(deps, {
      name: 'queryBins',
      summary: 'Statistics of a layer in bins',
      read: binsRequest,
      params: {
        bin: member('bin', 'JSON with type, onField, parameters and splitBy.'),
        lowerBoundaryAlias: member(
          'lowerBoundaryAlias',
          'Name of the lower boundary. Default: lowerBoundary.',
        ),
        upperBoundaryAlias: member(
          'upperBoundaryAlias',
          'Name of the upper boundary. Default: upperBoundary.',
        ),
      },
    }),
    ...operation(deps, {
      name: 'queryDateBins',
      summary: 'Statistics of a layer in bins of time',
      read: dateBinsRequest,
      params: {
        binField: member('binField', 'Date field.'),
        bin: member('bin', 'JSON with calendarBin or fixedBin.'),
        binStart: member('binStart', 'Start of a fixed bin in milliseconds since 1970.'),
      },
    }),
  ];
}

/** Limits that doubles round are integers. */
function fieldOfColumn({ field, value }: BinColumn, bins: readonly FeatureBin[]): BinColumn['field'] {
  const isExact = field.type === 'esriFieldTypeDouble' && bins.some((bin) => isExactNumber(value(bin)));
  const isWhole = isExact && bins.every((bin) => /^-?\d+$/.test(String(value(bin) ?? 0)));
  return isWhole ? { ...field, type: 'esriFieldTypeBigInteger' } : field;
}

interface BinOperation {
  readonly name: string;
  readonly summary: string;
  readonly params: Parameters<typeof readingOperation>[0]['params'];
  read(layer: VectorCollection, members: Members): BinsRequest;
}

function operation(deps: QueryDeps, { name, summary, params: own, read }: BinOperation): Operation[] {
  return readingOperation({
    about: common(SERVER, name),
    name,
    summary,
    pathParams: layerParams,
    path: `/rest/services/{serviceId}/${SERVER}/{layerId}/${name}`,
    params: { ...params, ...own },
    async run(x, { serviceId, layerId }, members) {
      const address = { service: serviceId!, layerId: wholeNumber('layerId', layerId), parameter: 'layerId' };
      const request = read(requireLayer(deps, x.principal, address), members);
      const { bins } = await runTask(x, deps.pools, 'vector.bins', request.task);
      const { format, columns, offset, limit } = request;
      const page = (request.isDescending ? bins.toReversed() : bins).slice(offset, offset + limit);
      return tableReply(
        format,
        columns.map((column) => fieldOfColumn(column, page)),
        page.map((bin) => Object.fromEntries(columns.map(({ field, value }) => [field.name, value(bin)]))),
        offset + limit < bins.length,
      );
    },
  });
}
