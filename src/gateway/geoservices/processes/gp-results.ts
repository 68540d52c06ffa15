import type { VectorCollection } from '../../../core/catalog/collection.js';
import type { Exchange } from '../../../core/http/operation.js';
import { FEATURES_PATH, jobPath } from '../../../core/http/paths.js';
import type { Pools } from '../../../core/tasks/tasks.js';
import { stringifyExactly } from '../../../core/values/json.js';
import { vectorCollection } from '../../../services/catalog/publish/collections.js';
import type { ProcessDefinition } from '../../../services/processes/definition.js';
import type { Processes } from '../../../services/processes/service.js';
import type { JobRow } from '../../../stores/jobs/jobs.js';
import { createQueryReply } from '../features/query-operations.js';
import { queryRequest } from '../features/query-request.js';
import type { Members } from '../members.js';
import { getGpDataType } from './gp-parameters.js';

interface ResultDeps {
  readonly processes: Processes;
  readonly pools: Pools;
}

/** Maximum number of features of one result. Larger results are read through the OGC API, or published. */
const MAX_FEATURES = 10_000;

/** An output of a job as JSON: `{paramName, dataType, value}`. Throws what keeps it from being there. */
export async function resultText(
  x: Exchange,
  deps: ResultDeps,
  {
    job,
    process,
    name,
    members,
  }: { job: JobRow; process: ProcessDefinition; name: string; members: Members },
): Promise<string> {
  const output = process.outputs[name]!;
  const value = await valueText(x, deps, { job, name, members });
  return `{"paramName":${JSON.stringify(name)},"dataType":"${getGpDataType(output)}","value":${value}}`;
}

async function valueText(
  x: Exchange,
  deps: ResultDeps,
  { job, name, members }: { job: JobRow; name: string; members: Members },
): Promise<string> {
  const { result } = await deps.processes.result(job.id, x.principal);
  if (Object.hasOwn(result.values, name)) return stringifyExactly(result.values[name]);
  const collection = Object.hasOwn(result.collections, name) ? result.collections[name] : undefined;
  if (collection !== undefined)
    return JSON.stringify({ url: `${x.baseUrl}${FEATURES_PATH}/collections/${collection}` });
  const file = await deps.processes.file(job.id, name, x.principal);
  if (file.features === undefined)
    return JSON.stringify({ url: `${x.baseUrl}${jobPath(job.id)}/results/${name}`, format: file.mediaType });
  return featureSet(x, deps, file.path, members);
}

/** The features of a GeoPackage of a job, in the spatial reference that `env:outSR` names. */
async function featureSet(
  x: Exchange,
  { pools }: ResultDeps,
  path: string,
  members: Members,
): Promise<string> {
  const { signal, caller } = x;
  const [layer] = await pools.run('vector.inspect', { kind: 'geopackage', path }, { signal, caller });
  const versions = { version: path, origin: path };
  const collection = vectorCollection(layer!, path, versions)('result', 0) as VectorCollection;
  const { 'env:outSR': outSR, returnZ } = members;
  const query = {
    where: '1=1',
    outFields: '*',
    resultRecordCount: MAX_FEATURES,
    ...(outSR === undefined ? {} : { outSR }),
    ...(returnZ === undefined ? {} : { returnZ }),
  };
  const { body } = await createQueryReply(x, pools, collection, queryRequest(collection, query));
  return Buffer.from(body as Uint8Array).toString();
}
