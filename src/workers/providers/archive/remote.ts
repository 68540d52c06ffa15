import { AllowedHosts, refused } from '../../storage/remote/allowed-hosts.js';
import { readRange } from '../../storage/remote/range.js';
import type { Section } from './pmtiles-header.js';
import { type ByteSource, PMTilesReader } from './pmtiles-reader.js';

let allowed = new AllowedHosts([]);

/** Sets the hosts to which requests are allowed. Called once per thread. */
export function allowHosts(entries: readonly string[]): void {
  allowed = new AllowedHosts(entries);
}

/** Thrown if the archive changed since its directory was read. */
class StaleArchive extends Error {}

/** Ranges of one state of a remote file. */
class RemoteSource implements ByteSource {
  size: number | undefined;
  revision: string | undefined;

  constructor(readonly url: string) {}

  async read(section: Section): Promise<Uint8Array> {
    const { data, size, revision } = await readRange(this.url, section, allowed);
    this.revision ??= revision;
    this.size ??= size;
    if (revision !== this.revision || size !== this.size) throw new StaleArchive();
    return data;
  }
}

/** Archives whose directories are kept, per thread. */
const KEPT = 16;
const readers = new Map<string, Promise<PMTilesReader>>();

/** Reads from a remote archive. Starts again, once, if the archive changed since its directory was read. */
export async function withRemote<T>(
  url: string,
  read: (reader: PMTilesReader, revision: string) => Promise<T>,
): Promise<T> {
  for (let again = true; ; again = false) {
    const opening = readReader(url);
    try {
      const reader = await opening;
      return await read(reader, (reader.source as RemoteSource).revision!);
    } catch (error) {
      if (!(error instanceof StaleArchive)) throw error;
      if (readers.get(url) === opening) readers.delete(url);
      if (!again) throw refused('it changes while it is read');
    }
  }
}

function readReader(url: string): Promise<PMTilesReader> {
  const reader = readers.get(url);
  if (reader) return reader;
  const opening = PMTilesReader.open(new RemoteSource(url));
  readers.set(url, opening);
  // The next caller retries after a failure.
  opening.catch(() => readers.delete(url));
  for (const old of readers.keys()) {
    if (readers.size <= KEPT) break;
    readers.delete(old);
  }
  return opening;
}
