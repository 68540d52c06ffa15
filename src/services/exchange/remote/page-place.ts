import type { Pools } from '../../../core/tasks/tasks.js';
import type { JobContext } from '../../jobs/kinds.js';

/** The last page that was read, in the file that pages are appended to. Kept when its bytes are on the disk. */
export interface PagePosition {
  /** Where it begins. */
  begin: number;
  /** Where it ends, and the next one begins. */
  offset: number;
}

export interface PageFile {
  pools: Pick<Pools, 'run'>;
  context: JobContext;
  path: string;
  /** Attribute that tells features apart, where ids do not. */
  idProperty?: string | undefined;
}

/** What an earlier run of a job kept, with the ids of its last page; undefined when there is none, or its file is shorter. */
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
