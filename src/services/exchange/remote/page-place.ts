import type { Pools } from '../../../core/tasks/tasks.js';
import type { JobContext } from '../../jobs/kinds.js';

/** The last page that was read, in the file that pages are appended to. Kept when its bytes are on the disk. */
export interface PagePosition {
  /** Start offset of the page. */
  begin: number;
  /** End offset of the page, and start of the next one. */
  offset: number;
}

export interface PageFile {
  pools: Pick<Pools, 'run'>;
  context: JobContext;
  path: string;
  /** Attribute that distinguishes features whose ids do not. */
  idProperty?: string | undefined;
}

/**
 * Position that an earlier run of a job stored, with the ids of its last page. Undefined if there is none, or its
 * file is shorter.
 */
export async function restored<P extends PagePosition>({
  pools,
  context,
  path,
  idProperty,
}: PageFile): Promise<(P & { ids: readonly string[] }) | undefined> {
  const { saved } = context;
  if (typeof saved !== 'object' || saved === null || !('offset' in saved)) return undefined;
  const place = saved as P;
  const task = { path, begin: place.begin, end: place.offset, idProperty };
  const ids = await pools.run('ingest.pageIds', task, context);
  return ids ? { ...place, ids } : undefined;
}
