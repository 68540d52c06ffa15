import { hasFeatures } from '../../core/catalog/abilities.js';
import type { CatalogSnapshot, Collection } from '../../core/catalog/collection.js';
import type { FileFinding } from '../../core/sources/file-findings.js';
import type { FileLedger } from '../../workers/files/file-ledger.js';
import type { Foundation } from './foundation.js';

/** Logs which write-ahead logs did not belong to their files. */
export async function reportFindings(
  catalog: CatalogSnapshot,
  { log, ...from }: Pick<Foundation, 'pools' | 'log'> & { ledger: FileLedger },
): Promise<void> {
  const findings = await takeFindings(catalog, from).catch(() => []);
  for (const { path, kind, bytes, kept } of findings)
    log.write(
      'catalog.log.foreign',
      { File: path, Kind: kind, Bytes: bytes, Kept: kept },
      `${path} was ${kind} while its write-ahead log contained ${bytes} bytes of edits; the new file lacks them. ` +
        (kept === null ? 'They are lost because no disk had space for the log.' : `They are in ${kept}.`),
    );
}

/** Returns the findings of all threads. A server without files starts no thread for them. */
async function takeFindings(
  { collections }: CatalogSnapshot,
  { ledger, pools }: Pick<Foundation, 'pools'> & { ledger: FileLedger },
): Promise<FileFinding[]> {
  const isFile = (one: Collection) => !hasFeatures(one) || one.source.database === undefined;
  return collections.some(isFile) || ledger.hasFindings() ? pools.run('vector.fileFindings', {}) : [];
}
