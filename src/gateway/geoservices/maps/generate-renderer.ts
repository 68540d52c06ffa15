import { ApiError } from '../../../core/errors/errors.js';
import type { ClassBreaksResult } from '../../../core/features/class-breaks.js';
import type { FeatureRow } from '../../../core/features/features.js';
import type { Operation } from '../../../core/http/operation.js';
import { type AnyNumber, writeDigits } from '../../../core/values/exact-number.js';
import { runTask } from '../../../services/kit/run-task.js';
import { requireLayer } from '../../../services/replicas/layer-view.js';
import {
  common,
  documentFormat,
  readingOperation,
  SERVER,
  type ServerType,
} from '../features/feature-server.js';
import { member } from '../features/query-members.js';
import { layerParams, type QueryDeps } from '../features/query-operations.js';
import { jsonReply } from '../images/in-band.js';
import { GEOSERVICES_LIMITS } from '../limits.js';
import { wholeNumber } from '../members.js';
import { type BreaksRequest, rendererRequest, type ValuesRequest } from './renderer-request.js';

/** Renderers by the values that a layer has: `generateRenderer`. */
export function rendererOperations(deps: QueryDeps, server: ServerType): Operation[] {
  return readingOperation({
    about: common(server, 'generateRenderer', server),
    name: server === SERVER ? 'generateRenderer' : `generateRenderer${server}`,
    path: `/rest/services/{serviceId}/${server}/{layerId}/generateRenderer`,
    pathParams: layerParams,
    params: {
      classificationDef: member('classificationDef', 'JSON with a classBreaksDef or a uniqueValueDef.'),
      where: member('where', 'SQL condition.'),
    },
    summary: 'A renderer by the values of a layer',
    async run(x, { serviceId, layerId }, members) {
      const address = { service: serviceId!, layerId: wholeNumber('layerId', layerId), parameter: 'layerId' };
      const format = documentFormat(members);
      const request = rendererRequest(requireLayer(deps, x.principal, address), members);
      if (request.type === 'classBreaks')
        return jsonReply(
          classBreaksRenderer(request, await runTask(x, deps.pools, 'vector.classBreaks', request.task)),
          format,
        );
      const { rows, more } = await runTask(x, deps.pools, 'vector.groups', request.task);
      if (more)
        throw new ApiError(
          'payload-too-large',
          `The fields have more than ${GEOSERVICES_LIMITS.geoServicesRecords} distinct values. Choose other fields.`,
        );
      return jsonReply(uniqueValueRenderer(request, rows), format);
    },
  });
}

function classBreaksRenderer(request: BreaksRequest, { least, maxima }: ClassBreaksResult) {
  const symbols = request.symbols(maxima.length);
  return {
    type: 'classBreaks',
    field: request.task.field,
    classificationMethod: request.methodName,
    minValue: least,
    classBreakInfos: maxima.map((classMaxValue, i) => ({
      classMaxValue,
      label: `${formatLabel(maxima[i - 1] ?? least!)} - ${formatLabel(classMaxValue)}`,
      description: '',
      symbol: symbols[i],
    })),
  };
}

const LABEL_DIGITS = 8;
/** Integers have all their digits. */
const formatLabel = (number: AnyNumber) =>
  typeof number === 'number' && !Number.isInteger(number)
    ? String(Number(number.toPrecision(LABEL_DIGITS)))
    : writeDigits(number);

/** How clients write a missing value. */
const NULL = '<Null>';

function uniqueValueRenderer(
  { task, delimiter, symbols }: ValuesRequest,
  rows: readonly FeatureRow['values'][],
) {
  const { groupBy } = task;
  const [field1, field2, field3] = groupBy;
  const colors = symbols(rows.length);
  return {
    type: 'uniqueValue',
    field1,
    field2,
    field3,
    fieldDelimiter: delimiter,
    uniqueValueInfos: rows.map((values, i) => {
      const value = values.slice(0, groupBy.length).map(formatText).join(delimiter);
      return { value, count: Number(values.at(-1)), label: value, description: '', symbol: colors[i] };
    }),
  };
}

function formatText(value: FeatureRow['values'][number]): string {
  if (value === null) return NULL;
  return typeof value === 'boolean' ? String(Number(value)) : String(value);
}
