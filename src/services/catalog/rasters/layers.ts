import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { hasCoverage } from '../../../core/catalog/abilities.js';
import type { Collection, QuarantineEntry, RasterCollection } from '../../../core/catalog/collection.js';
import { describeRasterLocation, isDistant } from '../../../core/catalog/raster-sources.js';
import type { RasterInfo } from '../../../core/rasters/rasters.js';
import type { FileStyle } from '../../../core/styles/model.js';
import type { RegisteredRaster } from '../../../stores/rasters/rasters.js';
import { buildMosaicInfo, type MosaicPart, mismatch } from '../../rasters/mosaic.js';
import { buildFileStyles } from '../../styles/of-files.js';
import { rasterCollection } from '../publish/collections.js';

/** Layers of registered rasters, which the catalog publishes in addition to files and databases. */

/** Published data of the registered rasters. */
export interface LayerRasters {
  readonly rasters: readonly RegisteredRaster[];
  /** The collection identifier of a layer, when it has one. */
  slugOf(layerId: number): Promise<string | undefined>;
}

/** Accessories of a raster, in addition to its data. */
export interface RasterBaggage {
  /** Styles that are offered in addition to the active one. */
  readonly styles?: readonly FileStyle[];
}

/** Path of an imported raster. */
export function importedPath(dataDir: string, place: string): string {
  return join(dataDir, 'rasters', place);
}

/** The collections with the registered rasters: each is joined to the layer that it names, or is a new layer. */
export async function withRegistered(
  collections: readonly Collection[],
  { rasters, slugOf }: LayerRasters,
  dataDir: string,
): Promise<{ collections: Collection[]; quarantined: QuarantineEntry[] }> {
  const byLayer = new Map<number, Collection>();
  const quarantined: QuarantineEntry[] = [];
  for (const layerId of new Set(rasters.map((raster) => raster.layerId))) {
    const members = rasters.filter((raster) => raster.layerId === layerId);
    const present = collections.find((one) => one.layerId === layerId);
    const slug = present?.id ?? (await slugOf(layerId));
    if (slug === undefined) continue;
    const layer = joined(present, members, dataDir, quarantined);
    if (layer) byLayer.set(layerId, layer(slug, layerId));
  }
  const remaining = collections.map((one) => byLayer.get(one.layerId) ?? one);
  const added = [...byLayer.values()].filter(({ id }) => !collections.some((one) => one.id === id));
  return { collections: [...remaining, ...added], quarantined };
}

/** Rasters of one layer as one collection. Rasters that cannot be part of it are quarantined. */
function joined(
  present: Collection | undefined,
  members: readonly RegisteredRaster[],
  dataDir: string,
  quarantined: QuarantineEntry[],
): ((id: string, layerId: number) => RasterCollection) | undefined {
  const parts: MosaicPart[] = hasCoverage(present) ? [buildPart(present)] : [];
  const used: RegisteredRaster[] = [];
  for (const member of members) {
    const part = readable(member, dataDir);
    const problem =
      present && !hasCoverage(present) ? 'Its layer has no rasters.' : findProblem(part, parts[0]?.raster);
    if (problem !== undefined)
      quarantined.push({ path: part?.path ?? member.dataKey, layer: member.name, reason: problem });
    else if (part?.raster) {
      parts.push({ id: `${member.id}`, raster: part.raster, ...readAcquisition(member, part.raster) });
      used.push(member);
    }
  }
  if (used.length === 0) return undefined;
  return buildCollection(present as RasterCollection | undefined, used, parts);
}

function buildCollection(
  present: RasterCollection | undefined,
  used: readonly RegisteredRaster[],
  parts: readonly MosaicPart[],
) {
  const [only] = parts;
  const raster = parts.length === 1 ? { ...only!.raster, acquired: only!.acquired } : buildMosaicInfo(parts);
  const styles = used.flatMap(({ registration }) => (registration as RasterBaggage).styles ?? []);
  const text = [
    ...used.map(({ id, scannedAt, acquired }) => `${id} ${scannedAt} ${acquired}`),
    ...(styles.length === 0 ? [] : [JSON.stringify(styles)]),
  ].join();
  const version = createHash('sha1').update(`${text} ${present?.version}`).digest('hex').slice(0, 12);
  const file = present?.file ?? describeRasterLocation(only!.raster.source);
  const make = rasterCollection(raster, used[0]!.name, file, version);
  return (id: string, layerId: number): RasterCollection => {
    const plain = make(id, layerId) as RasterCollection;
    const rasterIds = used.map(({ id: number }) => number);
    const collection = { ...plain, ...buildFileStyles(plain.style, styles), rasterIds };
    if (present) return { ...collection, title: present.title };
    const { name, description } = used[0]!;
    return { ...collection, title: name, ...(description ? { description } : {}) };
  };
}

function buildPart({ id, raster }: RasterCollection): MosaicPart {
  return { id, raster, ...(raster.acquired === undefined ? {} : { acquired: raster.acquired }) };
}

function readAcquisition({ acquired }: RegisteredRaster, raster: RasterInfo): { acquired?: string } {
  const instant = acquired ?? raster.acquired;
  return instant === undefined ? {} : { acquired: instant };
}

interface Readable {
  /** Undefined if the file was deleted. */
  raster?: RasterInfo;
  path: string;
}

/** A raster in readable form. Undefined for a raster that no reader supports, which is not a failure. */
function readable({ kind, dataKey, grids }: RegisteredRaster, dataDir: string): Readable | undefined {
  const [raster] = grids;
  if (!raster) return undefined;
  const isElsewhere = kind !== 'import' || isDistant(raster.source);
  if (isElsewhere) return { raster, path: describeRasterLocation(raster.source) };
  const path = importedPath(dataDir, dataKey);
  return existsSync(path) ? { raster: { ...raster, source: { kind: 'file', path } }, path } : { path };
}

function findProblem(part: Readable | undefined, first: RasterInfo | undefined): string | undefined {
  if (!part) return undefined;
  if (!part.raster) return 'The imported file no longer exists.';
  return first && mismatch(first, part.raster);
}
