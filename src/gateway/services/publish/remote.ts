import { createHash } from 'node:crypto';
import { basename, extname } from 'node:path';
import { TaskFailure } from '../../../core/tasks.js';
import { archiveCollection } from './collections.js';
import { ARCHIVE } from './find.js';
import { type Found, INSPECT_DEADLINE_MS, type PublishDeps } from './source.js';

/** What an archive at a URL holds, or why it cannot be published. */
export async function readRemote(url: string, deps: PublishDeps): Promise<Found> {
  try {
    const { pathname } = new URL(url);
    const extension = extname(pathname).toLowerCase();
    // Only PMTiles is laid out so that a tile takes one or two ranges.
    if (ARCHIVE.get(extension) !== 'pmtiles')
      throw new TaskFailure('source-unreadable', 'Only PMTiles archives are read over HTTP.');
    const options = { deadlineMs: INSPECT_DEADLINE_MS };
    const archive = await deps.pools.run('vector.archive', { path: url, container: 'pmtiles' }, options);
    const version = createHash('sha1').update(`${url}\u0000${archive.revision}`).digest('hex').slice(0, 12);
    const name = basename(pathname, extname(pathname));
    const make = archiveCollection(archive, name, version);
    return { collections: [{ name, group: new URL(url).hostname, make }], quarantined: [] };
  } catch (error) {
    const reason = error instanceof TaskFailure ? error.message : 'The URL could not be read.';
    return { collections: [], quarantined: [{ path: url, reason }] };
  }
}
