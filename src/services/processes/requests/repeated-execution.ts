import { jobPath } from '../../../core/http/paths.js';
import type { ExecutionInput } from '../execution.js';
import type { SourceReference } from '../source-input.js';

/** The body of an execute request (OGC 18-062r2, 7.11.2). */
export interface RepeatedRequest {
  readonly inputs: Readonly<Record<string, unknown>>;
  readonly outputs?: ExecutionInput['outputs'];
}

/**
 * The request that a job was executed with. Undefined if a request cannot repeat it: features or rasters were sent
 * with the first request, or the job is a plan.
 */
export function rebuildRequest(input: ExecutionInput, baseUrl: string): RepeatedRequest | undefined {
  if (input.plan) return undefined;
  const sources: Record<string, unknown> = {};
  for (const [name, source] of Object.entries(input.sources)) {
    const value = rebuildSource(source, baseUrl);
    if (value === undefined) return undefined;
    // The sources of a list have names such as `rasters/0`, in order.
    const [list, place] = name.split('/');
    if (place === undefined) sources[name] = value;
    else sources[list!] = [...((sources[list!] as unknown[] | undefined) ?? []), value];
  }
  const outputs = Object.keys(input.outputs).length > 0 ? { outputs: input.outputs } : {};
  return { inputs: { ...sources, ...input.values }, ...outputs };
}

function rebuildSource(source: SourceReference, baseUrl: string): unknown {
  switch (source.kind) {
    case 'collection': {
      const { id, filter, filterLang, raster } = source;
      const condition = filter === undefined ? {} : { filter, 'filter-lang': filterLang };
      return { collection: id, ...condition, ...(raster === undefined ? {} : { raster }) };
    }
    case 'result':
      return { href: `${baseUrl}${jobPath(source.jobId)}/results/${source.output}` };
    case 'remote':
      return { href: source.url };
    default:
      return undefined;
  }
}

/** The source of an input, in words. */
export function describeSource(source: SourceReference): string {
  switch (source.kind) {
    case 'collection': {
      const { id, filter } = source;
      if (filter === undefined) return id;
      return `${id}, filter: ${typeof filter === 'string' ? filter : JSON.stringify(filter)}`;
    }
    case 'result':
      return `${source.output} of the job ${source.jobId}`;
    case 'remote':
      return source.url;
    default:
      return 'sent with the request';
  }
}
