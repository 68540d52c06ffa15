import { readdir, rm } from 'node:fs/promises';
import { basename, dirname, extname, join } from 'node:path';

/** Names that this server gives to files that it receives. */
const OWN_NAME = /^([0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|file)$/;

/**
 * Removes a received file with the sidecar files that drivers created: `x.gfs` of `x.gml`, `x.tif.aux.xml`,
 * `x.gpkg-wal`.
 */
export async function removeUpload(path: string): Promise<void> {
  await rm(path, { force: true });
  const stem = basename(path).split('.')[0]!;
  // If the server did not generate the file name, files with similar names can belong to another program.
  if (!OWN_NAME.test(stem) || extname(path) === '') return;
  const folder = dirname(path);
  for (const name of await readdir(folder).catch(() => []))
    if (name.startsWith(`${stem}.`)) await rm(join(folder, name), { force: true, recursive: true });
}
