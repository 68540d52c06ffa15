import { randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { ApiError } from '../../core/errors/errors.js';
import { CRS84 } from '../../core/geometry/crs.js';
import { GEOJSON_FORMAT } from '../../core/http/media.js';
import type { Exchange, Reply } from '../../core/http/operation.js';
import { COVERAGES_PATH, FEATURES_PATH, jobPath } from '../../core/http/paths.js';
import { LIMITS } from '../../core/kit/limits.js';
import type { Pools } from '../../core/tasks/tasks.js';
import { decodeStoredJson, stringifyExactly } from '../../core/values/json.js';
import { partTask } from '../../services/exchange/exports/plan.js';
import { openExport } from '../../services/exchange/exports/write.js';
import type { ExecutionInput, ProcessResult, ResultFile } from '../../services/processes/execution.js';
import type { Processes } from '../../services/processes/service.js';
import type { JobRow } from '../../stores/jobs/jobs.js';

import { fileReply } from '../http/replies/file-reply.js';
import type { JobOutput } from '../pages/processes/jobs.js';

export interface ResultDeps {
  processes: Processes;
  pools: Pools;
}

const { mediaType: GEOJSON } = GEOJSON_FORMAT;

/** Replies with the results of a job: a document, or a single raw output. */
export async function createResultsReply(x: Exchange, deps: ResultDeps, jobId: string): Promise<Reply> {
  const { input, result } = await deps.processes.result(jobId, x.principal);
  if (input.response === 'raw') return rawReply(x, deps, jobId, input, result);
  const members = await documentParts(x, deps, jobId, input, result);
  return { status: 200, mediaType: 'application/json', cacheControl: 'no-store', body: buildBody(members) };
}

type Part = string | AsyncIterable<Uint8Array>;

/** Names of the requested outputs; all if none are named. */
function listOutputs({ outputs }: ExecutionInput, { values, files }: ProcessResult): string[] {
  const all = [...Object.keys(values), ...Object.keys(files)];
  const names = Object.keys(outputs);
  return names.length === 0 ? all : all.filter((name) => names.includes(name));
}

async function documentParts(
  x: Exchange,
  deps: ResultDeps,
  jobId: string,
  input: ExecutionInput,
  result: ProcessResult,
): Promise<Part[]> {
  const parts: Part[] = [];
  let bytes = 0;
  for (const name of listOutputs(input, result)) {
    parts.push(`${parts.length === 0 ? '{' : ','}${JSON.stringify(name)}:`);
    const value = Object.hasOwn(result.values, name)
      ? result.values[name]
      : reference(x, jobId, name, input, result);
    if (value !== undefined) parts.push(stringifyExactly(value));
    else if (isPlainFile(result, name)) {
      const file = await deps.processes.file(jobId, name, x.principal);
      bytes += file.bytes;
      parts.push(JSON.stringify(await inBase64(file, bytes)));
    } else parts.push(await loadFeatures(x, deps, jobId, name));
  }
  return parts.length === 0 ? ['{}'] : [...parts, '}'];
}

/** Results of a job with links instead of files, for subscribers. */
export function resultLinks({ id, input_json, result_json }: JobRow, baseUrl: string) {
  const input = decodeStoredJson(input_json) as ExecutionInput;
  const result = decodeStoredJson(result_json!) as ProcessResult;
  const entries = listOutputs(input, result).map((name) => {
    const file = { transmissionMode: 'reference' as const };
    const link = reference({ baseUrl }, id, name, { outputs: { [name]: file } }, result);
    return [name, Object.hasOwn(result.values, name) ? result.values[name] : link] as const;
  });
  return Object.fromEntries(entries);
}

/** Outputs on the page of a successful job. A map shows features up to the number that a browser can handle. */
export function pageOutputs(job: JobRow, baseUrl: string): JobOutput[] {
  const { files, collections, values } = decodeStoredJson(job.result_json!) as ProcessResult;
  const results = `${baseUrl}${jobPath(job.id)}/results`;
  const outputs = Object.entries(files).map(([name, { mediaType, bytes, features }]) => ({
    name,
    href: `${results}/${name}`,
    title: features === undefined ? `${mediaType}, ${bytes} bytes` : `${features} features`,
    isDrawn: features !== undefined && bytes <= LIMITS.processBodyBytes,
  }));
  const tables = Object.entries(collections).map(([name, id]) => ({
    name: `collection ${id}`,
    href: `${baseUrl}${FEATURES_PATH}/collections/${id}`,
    title: `${name}, published`,
    isDrawn: false,
  }));
  const others = { name: 'all values', href: results, title: 'the document', isDrawn: false };
  return [...outputs, ...tables, ...(Object.keys(values).length > 0 ? [others] : [])];
}

/** Reference to an output that is not part of the response. */
function reference(
  { baseUrl }: Pick<Exchange, 'baseUrl'>,
  jobId: string,
  name: string,
  { outputs }: Pick<ExecutionInput, 'outputs'>,
  result: ProcessResult,
): { href: string; type: string; title?: string } | undefined {
  const collection = result.collections[name];
  const isPlain = isPlainFile(result, name);
  if (collection !== undefined)
    return {
      href: `${baseUrl}${isPlain ? COVERAGES_PATH : FEATURES_PATH}/collections/${collection}`,
      type: 'application/json',
      title: `Collection ${collection}`,
    };
  const mode = outputs[name]?.transmissionMode ?? (isPlain ? 'reference' : 'value');
  if (mode === 'value') return undefined;
  return {
    href: `${baseUrl}${jobPath(jobId)}/results/${name}`,
    type: isPlain ? result.files[name]!.mediaType : GEOJSON,
  };
}

/** A file without features: a raster, an export or a map. */
function isPlainFile({ files }: ProcessResult, name: string): boolean {
  return Object.hasOwn(files, name) && files[name]!.features === undefined;
}

/** A file as a qualified value (OGC 18-062r2, 7.11.2.4). Throws 413 for one that is too large for that. */
async function inBase64({ path, mediaType }: ResultFile, bytes: number) {
  if (bytes > LIMITS.processBodyBytes)
    throw new ApiError(
      'payload-too-large',
      `The outputs have ${bytes} bytes, which is too large for one response. Request them by reference.`,
    );
  return { value: await readFile(path, 'base64'), mediaType, encoding: 'base64' };
}

/** Replies with one raw output, or with several as the parts of one response (OGC 18-062r2, table 11). */
async function rawReply(
  x: Exchange,
  deps: ResultDeps,
  jobId: string,
  input: ExecutionInput,
  result: ProcessResult,
): Promise<Reply> {
  const [name, ...others] = listOutputs(input, result);
  if (name === undefined) return { status: 204 };
  if (others.length > 0) return multipart(x, deps, jobId, [name, ...others], { input, result });
  const link = reference(x, jobId, name, input, result);
  if (link) return { status: 204, headers: { link: `<${link.href}>; rel="${name}"; type="${link.type}"` } };
  if (!Object.hasOwn(result.values, name)) return outputReply(x, deps, jobId, name, false);
  const body = stringifyExactly(result.values[name]);
  return { status: 200, mediaType: 'application/json', cacheControl: 'no-store', body };
}

async function multipart(
  x: Exchange,
  deps: ResultDeps,
  jobId: string,
  names: readonly string[],
  { input, result }: { input: ExecutionInput; result: ProcessResult },
): Promise<Reply> {
  const boundary = `graticule-${randomUUID()}`;
  const parts: Part[] = [];
  for (const name of names) {
    const link = reference(x, jobId, name, input, result);
    const isValue = Object.hasOwn(result.values, name);
    const plain = isPlainFile(result, name) ? result.files[name]!.mediaType : undefined;
    const type = link || isValue ? 'application/json' : (plain ?? GEOJSON);
    const place = link ? `Content-Location: ${link.href}\r\n` : '';
    parts.push(`--${boundary}\r\nContent-ID: <${name}>\r\nContent-Type: ${type}\r\n${place}\r\n`);
    if (!link) parts.push(await loadPart(x, deps, { jobId, name, result }));
    parts.push('\r\n');
  }
  const body = buildBody([...parts, `--${boundary}--\r\n`]);
  return {
    status: 200,
    mediaType: `multipart/related; boundary=${boundary}`,
    cacheControl: 'no-store',
    body,
  };
}

/** An output that is part of the response. */
async function loadPart(
  x: Exchange,
  deps: ResultDeps,
  { jobId, name, result }: { jobId: string; name: string; result: ProcessResult },
): Promise<Part> {
  if (Object.hasOwn(result.values, name)) return stringifyExactly(result.values[name]);
  if (!isPlainFile(result, name)) return loadFeatures(x, deps, jobId, name);
  return createReadStream((await deps.processes.file(jobId, name, x.principal)).path);
}

/** Replies with a raw output: features as GeoJSON or as their file, and other outputs as their files. */
export async function outputReply(
  x: Exchange,
  deps: ResultDeps,
  jobId: string,
  output: string,
  asFile: boolean,
): Promise<Reply> {
  const file = await deps.processes.file(jobId, output, x.principal);
  if (asFile || file.features === undefined) return fileReply(x, file);
  const body = await loadFeatures(x, deps, jobId, output);
  return { status: 200, mediaType: GEOJSON, cacheControl: 'no-store', body };
}

async function loadFeatures(
  x: Exchange,
  { processes, pools }: ResultDeps,
  jobId: string,
  output: string,
): Promise<AsyncIterable<Uint8Array>> {
  const { path } = await processes.file(jobId, output, x.principal);
  const [layer] = await pools.run('vector.inspect', { kind: 'geopackage', path }, { caller: x.caller });
  const { source } = layer!;
  const { fields } = source;
  const task = partTask({ source, filter: undefined }, { format: 'geojson', crs: CRS84, fields });
  return openExport(x, pools, { task, fields, crs: CRS84 });
}

/** Parts that are all texts are joined to one text; otherwise the parts are streamed. */
function buildBody(parts: readonly Part[]): string | AsyncIterable<Uint8Array> {
  if (parts.every((part) => typeof part === 'string')) return parts.join('');
  return (async function* () {
    for (const part of parts) {
      if (typeof part === 'string') yield Buffer.from(part);
      else yield* part;
    }
  })();
}
