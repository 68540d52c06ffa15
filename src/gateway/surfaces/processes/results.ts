import { randomUUID } from 'node:crypto';
import type { ItemsTask } from '../../../core/features.js';
import type { Exchange, Reply } from '../../../core/operation.js';
import type { Pools } from '../../../core/tasks.js';
import { exportParts } from '../../../services/exports/write.js';
import type { ProcessInput, ProcessResult } from '../../../services/processes/job.js';
import type { Processes } from '../../../services/processes/service.js';
import { FEATURES_PATH } from '../features/documents.js';
import { jobPath } from './documents.js';

export interface ResultDeps {
  processes: Processes;
  pools: Pools;
}

/** Decimal places that keep a tenth of a millimetre. */
const PLACES = 9;
const PART_FEATURES = 5000;
const PART_BYTES = 524_288;
const GEOJSON = 'application/geo+json';

/** The results of a job: a document, or one output as it is. */
export async function resultsReply(x: Exchange, deps: ResultDeps, jobId: string): Promise<Reply> {
  const { input, result } = await deps.processes.result(jobId, x.principal);
  if (input.response === 'raw') return rawReply(x, deps, jobId, input, result);
  const members = await documentParts(x, deps, jobId, input, result);
  return { status: 200, mediaType: 'application/json', cacheControl: 'no-store', body: joined(members) };
}

type Part = string | AsyncIterable<Uint8Array>;

/** Names of the outputs that are asked for; all where none is. */
function outputsOf({ outputs }: ProcessInput, { values, files }: ProcessResult): string[] {
  const all = [...Object.keys(values), ...Object.keys(files)];
  const names = Object.keys(outputs);
  return names.length === 0 ? all : all.filter((name) => names.includes(name));
}

async function documentParts(
  x: Exchange,
  deps: ResultDeps,
  jobId: string,
  input: ProcessInput,
  result: ProcessResult,
): Promise<Part[]> {
  const parts: Part[] = [];
  for (const name of outputsOf(input, result)) {
    parts.push(`${parts.length === 0 ? '{' : ','}${JSON.stringify(name)}:`);
    const value = Object.hasOwn(result.values, name)
      ? result.values[name]
      : reference(x, jobId, name, input, result);
    if (value === undefined) parts.push(await featuresOf(x, deps, jobId, name));
    else parts.push(JSON.stringify(value));
  }
  return parts.length === 0 ? ['{}'] : [...parts, '}'];
}

/** Where an output is that is not to be written into the answer. */
function reference(
  { baseUrl }: Exchange,
  jobId: string,
  name: string,
  { outputs }: ProcessInput,
  { collections }: ProcessResult,
): { href: string; type: string; title?: string } | undefined {
  const collection = collections[name];
  if (collection !== undefined)
    return {
      href: `${baseUrl}${FEATURES_PATH}/collections/${collection}`,
      ...{ type: 'application/json', title: `Collection ${collection}` },
    };
  if (outputs[name]?.transmissionMode !== 'reference') return undefined;
  return { href: `${baseUrl}${jobPath(jobId)}/results/${name}`, type: GEOJSON };
}

/** One output as it is; several as the parts of one answer (OGC 18-062r2, table 11). */
async function rawReply(
  x: Exchange,
  deps: ResultDeps,
  jobId: string,
  input: ProcessInput,
  result: ProcessResult,
): Promise<Reply> {
  const [name, ...others] = outputsOf(input, result);
  if (name === undefined) return { status: 204 };
  if (others.length > 0) return multipart(x, deps, jobId, [name, ...others], { input, result });
  const link = reference(x, jobId, name, input, result);
  if (link) return { status: 204, headers: { link: `<${link.href}>; rel="${name}"; type="${link.type}"` } };
  if (!Object.hasOwn(result.values, name)) return featuresReply(x, deps, jobId, name);
  const body = JSON.stringify(result.values[name]);
  return { status: 200, mediaType: 'application/json', cacheControl: 'no-store', body };
}

async function multipart(
  x: Exchange,
  deps: ResultDeps,
  jobId: string,
  names: readonly string[],
  { input, result }: { input: ProcessInput; result: ProcessResult },
): Promise<Reply> {
  const boundary = `graticule-${randomUUID()}`;
  const parts: Part[] = [];
  for (const name of names) {
    const link = reference(x, jobId, name, input, result);
    const isValue = Object.hasOwn(result.values, name);
    const type = link ? 'application/json' : isValue ? 'application/json' : GEOJSON;
    const place = link ? `Content-Location: ${link.href}\r\n` : '';
    parts.push(`--${boundary}\r\nContent-ID: <${name}>\r\nContent-Type: ${type}\r\n${place}\r\n`);
    if (!link)
      parts.push(isValue ? JSON.stringify(result.values[name]) : await featuresOf(x, deps, jobId, name));
    parts.push('\r\n');
  }
  const body = joined([...parts, `--${boundary}--\r\n`]);
  return {
    status: 200,
    mediaType: `multipart/related; boundary=${boundary}`,
    cacheControl: 'no-store',
    body,
  };
}

/** An output as GeoJSON. */
export async function featuresReply(
  x: Exchange,
  deps: ResultDeps,
  jobId: string,
  output: string,
): Promise<Reply> {
  const body = await featuresOf(x, deps, jobId, output);
  return { status: 200, mediaType: GEOJSON, cacheControl: 'no-store', body };
}

async function featuresOf(
  x: Exchange,
  { processes, pools }: ResultDeps,
  jobId: string,
  output: string,
): Promise<AsyncIterable<Uint8Array>> {
  const { path } = await processes.file(jobId, output, x.principal);
  const [layer] = await pools.run('vector.inspect', { kind: 'geopackage', path });
  const { source } = layer!;
  const task: ItemsTask = {
    ...{ source, format: 'geojson', crs: 'OGC:CRS84', swapAxes: false, precision: PLACES },
    ...{
      fields: source.fields.map(({ name }) => name),
      limit: PART_FEATURES,
      maxBytes: PART_BYTES,
      offset: 0,
    },
  };
  const parts = exportParts(x, pools, { task });
  // What fails before the first byte is answered with a status.
  const first = await parts.next();
  return collection(first, parts);
}

async function* collection(
  first: Awaited<ReturnType<ReturnType<typeof exportParts>['next']>>,
  rest: ReturnType<typeof exportParts>,
): AsyncGenerator<Uint8Array> {
  yield Buffer.from('{"type":"FeatureCollection","features":[\n');
  let isFirst = true;
  for (let part = first; !part.done; part = await rest.next()) {
    if (part.value.returned === 0) continue;
    if (!isFirst) yield Buffer.from(',\n');
    isFirst = false;
    yield part.value.features;
  }
  yield Buffer.from('\n]}');
}

/** A body of text alone is one; else it goes out part by part. */
function joined(parts: readonly Part[]): string | AsyncIterable<Uint8Array> {
  if (parts.every((part) => typeof part === 'string')) return parts.join('');
  return (async function* () {
    for (const part of parts) {
      if (typeof part === 'string') yield Buffer.from(part);
      else yield* part;
    }
  })();
}
