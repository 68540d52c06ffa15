import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { copyFile, mkdir, readdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { brotliCompress } from 'node:zlib';

const root = join(dirname(fileURLToPath(import.meta.url)), '../..');
const { compressBytes } = createRequire(import.meta.url)('../../build/Release/graticule.node');
/** The coding of each ending, at the level that goes furthest. */
const CODINGS = {
  gz: { name: 'gzip-12', compress: (bytes) => compressBytes(bytes, 'gzip', 12, 0) },
  br: { name: `br-11-${process.versions.brotli}`, compress: promisify(brotliCompress) },
  zst: { name: 'zstd-19', compress: (bytes) => compressBytes(bytes, 'zstd', 19, 0) },
};
/** Files that are compressed already. */
const COMPRESSED = new Set(['.png', '.webp']);
const MONTH_MS = 30 * 86_400_000;

/**
 * Writes every file of a folder compressed beside itself, as it is sent; with `keep` the file itself stays. Compression
 * takes a while, so copies are kept, by content.
 */
export async function compressFiles(folder, { keep }) {
  const cache = join(root, 'node_modules/.cache/assets');
  await mkdir(cache, { recursive: true });
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || (keep && COMPRESSED.has(extname(entry.name)))) continue;
    const path = join(entry.parentPath ?? entry.path, entry.name);
    const bytes = await readFile(path);
    const hash = createHash('sha256').update(bytes).digest('hex').slice(0, 16);
    for (const [ending, coding] of Object.entries(CODINGS))
      await copyFile(await copyOf(join(cache, `${hash}-${coding.name}`), bytes, coding), `${path}.${ending}`);
    if (!keep) await rm(path);
  }
  await removeOld(cache);
}

/** The path of the copy. Builds may run at once. */
async function copyOf(path, bytes, coding) {
  if (existsSync(path)) {
    await utimes(path, new Date(), new Date());
  } else {
    const part = `${path}.${process.pid}.part`;
    await writeFile(part, await coding.compress(bytes));
    await rename(part, path);
  }
  return path;
}

/** Other builds use the same folder, so only what none has used for a month goes. */
async function removeOld(folder) {
  for (const name of await readdir(folder)) {
    const path = join(folder, name);
    // Another build may have removed it.
    const { mtimeMs } = await stat(path).catch(() => ({ mtimeMs: Date.now() }));
    if (mtimeMs < Date.now() - MONTH_MS) await rm(path, { force: true });
  }
}
