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
  for (const [name, reference] of Object.entries(input.sources)) {
    const value = rebuildSource(reference, baseUrl);
    if (value === undefined) return undefined;
    // The sources of a list have names such as `rasters/0`, in order.
    const [list, place] = name.split('/');
    if (place === undefined) sources[name] = value;
    else sources[list!] = [...((sources[list!] as unknown[] | undefined) ?? []), value];
  }
  const outputs = Object.keys(input.outputs).length > 0 ? { outputs: input.outputs } : {};
  return { inputs: { ...sources, ...input.values }, ...outputs };
}

function rebuildSource(reference: SourceReference, baseUrl: string): unknown {
  switch (reference.kind) {
    case 'collection': {
      const { id, filter, filterLang, raster } = reference;
      const condition = filter === undefined ? {} : { filter, 'filter-lang': filterLang };
      return { collection: id, ...condition, ...(raster === undefined ? {} : { raster }) };
    }
    case 'result':
      return { href: `${baseUrl}${jobPath(reference.jobId)}/results/${reference.output}` };
    case 'remote':
      return { href: reference.url };
    default:
      return undefined;
  }
}

/** The source of an input, in words. */
export function describeSource(reference: SourceReference): string {
  switch (reference.kind) {
    case 'collection': {
      const { id, filter } = reference;
      if (filter === undefined) return id;
      return `${id}, filter: ${typeof filter === 'string' ? filter : JSON.stringify(filter)}`;
    }
    case 'result':
      return `${reference.output} of the job ${reference.jobId}`;
    case 'remote':
      return reference.url;
    default:
      return 'sent with the request';
  }
}
