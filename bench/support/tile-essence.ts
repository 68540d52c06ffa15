import { mltReader, type ReadFeature, type ReadTile, readMvt } from '../../test/tiles/mlt/support.js';
import type { Encoding } from './tile-series.js';
import { TILE_TYPES } from './tile-servers.js';

/** What a tile says of a feature that lies in it: attributes, and the box of the geometry. */
export interface Essence {
  attributes: string;
  box: number[];
}

const EXTENT = 4096;
const READERS: Readonly<Record<Encoding, (tile: Uint8Array) => ReadTile>> = {
  mvt: readMvt,
  mlt: await mltReader(),
};

/** The features of a tile, by name and place. */
export async function essence(url: string, encoding: Encoding): Promise<Essence[]> {
  const response = await fetch(url, { headers: { accept: TILE_TYPES[encoding] } });
  if (!response.ok) throw new Error(`${url}: ${response.status}`);
  const type = response.headers.get('content-type');
  if (encoding === 'mlt' && type !== TILE_TYPES.mlt) throw new Error(`${url}: ${type}`);
  const [layer] = Object.values(READERS[encoding](new Uint8Array(await response.arrayBuffer())));
  // How far buffers reach is each server's own affair (TiPg reads none).
  const inside = ({ box: [minx, miny, maxx, maxy] }: Essence) =>
    minx! < EXTENT - 1 && miny! < EXTENT - 1 && maxx! > 1 && maxy! > 1;
  return layer!.features
    .map(described)
    .filter(inside)
    .sort((a, b) => (a.attributes < b.attributes ? -1 : 1));
}

function described({ id, properties, geometry }: ReadFeature): Essence {
  const { fid = id, name, kind, levels, height } = properties;
  const xs = geometry.flat().map(([x]) => x);
  const ys = geometry.flat().map(([, y]) => y);
  return {
    attributes: JSON.stringify([String(fid).padStart(9), name, kind, levels, height]),
    box: [Math.min(...xs), Math.min(...ys), Math.max(...xs), Math.max(...ys)],
  };
}

/** Slivers at the border may vanish in one grid and not in the other; nothing else may differ. */
export function compare(ours: Essence[], theirs: Essence[], what: string): void {
  const byAttributes = new Map(ours.map((one) => [one.attributes, one]));
  let [missing, far] = [0, 0];
  for (const { attributes, box } of theirs) {
    const own = byAttributes.get(attributes);
    if (!own) missing++;
    else if (box.some((value, i) => Math.abs(value - own.box[i]!) > 1)) far++;
  }
  const extra = ours.length - (theirs.length - missing);
  if (missing + extra > ours.length / 500 || far > 0)
    throw new Error(
      `${what}: ${missing} features missing, ${extra} more, ${far} elsewhere, of ${ours.length}`,
    );
}
