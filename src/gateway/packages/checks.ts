import type { CatalogSnapshot } from '../../core/catalog/collection.js';
import { fieldFailure } from '../../core/errors/errors.js';
import { requireReachable } from '../../core/geometry/crs.js';
import type { Operation, Principal } from '../../core/http/operation.js';
import { compileSchema, once } from '../../core/http/schema-check.js';
import { stringifyExactly } from '../../core/values/json.js';
import { chosenFields, selectFeatures, sortKeys } from '../../services/features/selection.js';
import type { CollectionView } from '../../services/features/view.js';
import type { PackageReviewsDeps } from '../../services/packages/reviews.js';
import { type ExecuteBody, readExecution } from '../../services/processes/requests/execution.js';
import { resolveRasters } from '../../services/processes/requests/inputs.js';
import type { Processes } from '../../services/processes/service.js';
import { ITEM_FORMATS } from '../features/formats.js';
import { itemsParams } from '../features/params.js';
import { planParams, readParams } from '../http/requests/query.js';
import { executeBody } from '../processes/execution.js';
import { readToken } from '../surface/page-token.js';

const PLAN = planParams({ params: itemsParams, formats: [], openQuery: true } as unknown as Operation);

const checkBody = once(() => compileSchema(executeBody.schema));

/** The checks with which the operations read what packages execute. */
export function createPackageChecks(
  processes: Pick<Processes, 'get' | 'listRead' | 'review'>,
  visible: (principal: Principal) => CatalogSnapshot,
): Pick<PackageReviewsDeps, 'processes' | 'formats' | 'checkQuery' | 'readExecution'> {
  return {
    processes,
    formats: ITEM_FORMATS.map(({ mediaType }) => mediaType.replace(/;.*/, '')),
    checkQuery,
    readExecution(id, body, { principal, baseUrl }) {
      const process = processes.get(id);
      const errors = checkBody()(body);
      if (errors.length > 0) throw fieldFailure('invalid-body', errors);
      const { inputs: sent = {}, ...others } = body as ExecuteBody;
      const inputs = resolveRasters(sent, visible(principal).collections);
      return { process, execution: readExecution(process, { ...others, inputs }, baseUrl) };
    },
  };
}

/** Checks members of a package as parameters of the operation that reads a page of features. */
function checkQuery(view: CollectionView, parameters: Readonly<Record<string, unknown>>): void {
  const query = formatParameters(parameters);
  const values = readParams(
    PLAN,
    query,
    () => view.visible.id,
    () => undefined,
  ) as unknown as QueryValues;
  const { crs, bboxCrs, filterCrs } = values;
  requireReachable({ crs, 'bbox-crs': bboxCrs, 'filter-crs': filterCrs }, view.collection);
  const declared = PLAN.queryNames;
  const others = new Map([...query].filter(([name]) => !declared.has(name) && name !== 'f'));
  selectFeatures(view, { ...values, others });
  const sort = sortKeys(view, values.sortby);
  chosenFields(view, values.properties);
  if (values.token !== undefined) readToken(values.token, sort.length);
}

type QueryValues = {
  readonly [K in keyof typeof itemsParams]: ReturnType<(typeof itemsParams)[K]['parse']>;
};

/** Members of a package as the text of parameters. Lists have commas; a filter that is an object is CQL2 JSON. */
function formatParameters(parameters: Readonly<Record<string, unknown>>): Map<string, string> {
  const query = new Map<string, string>();
  for (const [name, value] of Object.entries(parameters)) {
    if (value === null || value === undefined) continue;
    query.set(name, Array.isArray(value) ? value.map(formatValue).join(',') : formatValue(value));
    if (name === 'filter' && typeof value === 'object' && parameters['filter-lang'] === undefined)
      query.set('filter-lang', 'cql2-json');
  }
  return query;
}

const formatValue = (value: unknown): string => (typeof value === 'string' ? value : stringifyExactly(value));
