import { createHash } from 'node:crypto';
import type { RasterCollection } from '../../../core/catalog/collection.js';
import { sceneMosaic } from '../../rasters/stac-imagery/mosaic.js';
import { type Imagery, sceneStamp } from '../../rasters/stac-imagery/searches.js';
import { rasterCollection } from './collections.js';
import type { Found, PublishDeps } from './source.js';

/** The mosaic of the scenes of a STAC API, and the omitted scenes. */
export async function readStacApi(
  address: string,
  { imagery: sources }: Pick<PublishDeps, 'imagery'>,
): Promise<Found> {
  const imagery = await sources.read(address);
  const { source, search } = imagery;
  const version = createHash('sha1')
    .update([address, sceneStamp(search.scenes)].join('\n'))
    .digest('hex')
    .slice(0, 12);
  const make = rasterCollection(sceneMosaic(imagery), source.name, address, version);
  const { refused, problems } = search;
  const further = refused - problems.length;
  const reasons = further > 0 ? [...problems, `${further} more items were left out.`] : problems;
  return {
    collections: [
      {
        name: source.name,
        group: new URL(source.url).hostname,
        make: (id, layerId) => ({
          ...(make(id, layerId) as RasterCollection),
          description: formatDescription(imagery),
        }),
      },
    ],
    quarantined: reasons.map((reason) => ({ path: address, layer: 'items', reason })),
  };
}

function formatDescription({ source, search, sample }: Imagery): string {
  const { scenes, isCut, matched } = search;
  const all = isCut
    ? `the first ${scenes.length}${matched === undefined ? '' : ` of ${matched}`}`
    : `${scenes.length}`;
  const bands = `${sample.bands.length} band${sample.bands.length === 1 ? '' : 's'}`;
  return `${all} scenes of ${source.collections.join(', ')} at ${new URL(source.url).host}, ${bands}`;
}
