import { CONTENT_CODINGS } from '../../core/http/content-coding.js';
import type {
  ArchiveContainer,
  ArchiveInfo,
  ArchiveTile,
  ArchiveTileAddress,
  ArchiveTilesResult,
  ArchiveTilesTask,
} from '../../core/tiles/archives.js';
import { inspectMBTiles, mbtilesTiles } from '../providers/archive/mbtiles.js';
import { inspectPMTiles, pmtilesTiles } from '../providers/archive/pmtiles.js';
import { withinTime } from '../providers/time-limit.js';
import { failureMessage } from '../threads/failure.js';

type Awaitable<T> = T | Promise<T>;

/** Milliseconds for the metadata of an archive. */
const INSPECT_MS = 20_000;

const CONTAINERS: Record<
  ArchiveContainer,
  {
    inspect(path: string): Awaitable<ArchiveInfo>;
    tiles(path: string): Awaitable<(at: ArchiveTileAddress) => Awaitable<ArchiveTile>>;
  }
> = {
  mbtiles: {
    // Views may have no end.
    inspect: (path) => inspectMBTiles(path, (db, read) => withinTime(db, INSPECT_MS, read)),
    tiles: mbtilesTiles,
  },
  pmtiles: { inspect: inspectPMTiles, tiles: pmtilesTiles },
};

/** Returns the contents of a tile archive. */
export function archive({ path, container }: { path: string; container: ArchiveContainer }) {
  return CONTAINERS[container].inspect(path);
}

/** Bytes and milliseconds after which the read tiles are returned; the remaining tiles are requested again. */
const MAX_BYTES = 16_777_216;
const MAX_MS = 50;

/** Returns tiles of an archive, byte for byte: one or more of the first. */
export async function archiveTiles({
  path,
  container,
  addresses,
}: ArchiveTilesTask): Promise<ArchiveTilesResult> {
  const tile = await CONTAINERS[container].tiles(path);
  const count = addresses.length / 3;
  const parts: Uint8Array[] = [];
  const ends = new Int32Array(count);
  const until = performance.now() + MAX_MS;
  const codings = new Uint8Array(count);
  const failures: ArchiveTilesResult['failures'] = {};
  let size = 0;
  let i = 0;
  for (; i < count && (i === 0 || (size < MAX_BYTES && performance.now() < until)); i++) {
    const [zoom, row, column] = [addresses[3 * i]!, addresses[3 * i + 1]!, addresses[3 * i + 2]!];
    try {
      const read = tile({ zoom, row, column });
      const { data, encoding } = read instanceof Promise ? await read : read;
      parts.push(data);
      size += data.byteLength;
      codings[i] = CONTENT_CODINGS.indexOf(encoding);
    } catch (error) {
      failures[i] = failureMessage(error);
    }
    ends[i] = size;
  }
  return { data: joined(parts, size), ends: ends.slice(0, i), codings, failures };
}

/** The buffer is not from Node's shared pool, whose memory cannot be transferred. */
function joined(parts: readonly Uint8Array[], size: number): Uint8Array {
  const whole = Buffer.allocUnsafeSlow(size);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.byteLength;
  }
  return whole;
}
