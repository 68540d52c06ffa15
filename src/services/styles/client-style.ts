import { hasFeatures, hasVectorTiles } from '../../core/catalog/abilities.js';
import type { Collection } from '../../core/catalog/collection.js';
import { defaultStyle } from '../../core/styles/default-style.js';
import { styleDocument } from '../../core/styles/document.js';
import { COLLECTION_SOURCE, type StyleDocument, type StyleLayer } from '../../core/styles/model.js';

/** Styles as clients load them: with the places of tiles, glyphs and icons. */

type Layer = StyleDocument['layers'][number];

const SPRITE = '/ogc/maps/sprites/default';
const GLYPHS = '/ogc/maps/fonts/{fontstack}/{range}.pbf';

/** A MapLibre style that shows one collection, in its style. */
export function collectionStyle(collection: Collection, baseUrl: string): StyleDocument {
  const own = hasFeatures(collection) ? styleDocument(collection) : undefined;
  return {
    version: 8,
    name: own?.name ?? collection.title,
    ...(own?.metadata === undefined ? {} : { metadata: own.metadata }),
    ...view(collection),
    sources: { [collection.id]: styleSource(collection, baseUrl) },
    sprite: placed((own?.sprite as string | undefined) ?? SPRITE, baseUrl),
    glyphs: placed(own?.glyphs ?? GLYPHS, baseUrl),
    layers: listLayers(collection),
  };
}

/** A MapLibre style that shows several collections, bottom first. */
export function datasetStyle(collections: readonly Collection[], baseUrl: string): StyleDocument {
  return {
    version: 8,
    name: 'All collections',
    sources: Object.fromEntries(collections.map((one) => [one.id, styleSource(one, baseUrl)])),
    sprite: placed(SPRITE, baseUrl),
    glyphs: placed(GLYPHS, baseUrl),
    // A background of one collection would cover the collections below it.
    layers: collections.flatMap((one) =>
      listLayers(one)
        .filter(({ type }) => type !== 'background')
        .map((layer) => ({ ...layer, id: `${one.id}/${layer.id}` })),
    ),
  };
}

/** Our own resources are stored without the name of our host. */
function placed(url: string, baseUrl: string): string {
  return url.startsWith('/') ? baseUrl + url : url;
}

/** Initial view of a client. */
function view({ extent84 }: Collection): Pick<StyleDocument, 'center' | 'zoom'> {
  if (!extent84) return {};
  const [west, south, east, north] = extent84;
  const width = east < west ? east + 360 - west : east - west;
  const middle = west + width / 2;
  const zoom = Math.log2(360 / Math.max(width, 2 * (north - south), 0.01));
  return {
    center: [middle > 180 ? middle - 360 : middle, (south + north) / 2],
    zoom: Math.max(0, Math.round(10 * zoom) / 10),
  };
}

function styleSource(collection: Collection, baseUrl: string): StyleDocument['sources'][string] {
  const url = `${baseUrl}/tiles/${collection.layerId}`;
  return hasVectorTiles(collection) ? { type: 'vector', url } : { type: 'raster', url, tileSize: 256 };
}

/** Images are drawn here, in the style of their collection: clients only show them. */
function listLayers(collection: Collection): Layer[] {
  const { id } = collection;
  if (hasFeatures(collection))
    return styleDocument(collection).layers.map((layer) =>
      'source' in layer && layer.source === COLLECTION_SOURCE ? ({ ...layer, source: id } as Layer) : layer,
    );
  if (!hasVectorTiles(collection)) return [{ id: 'raster', type: 'raster', source: id }];
  const { vectorLayers } = collection as Extract<Collection, { kind: 'archive' }>;
  return vectorLayers.flatMap((layer) =>
    defaultStyle('Geometry', layer.id).layers.map((one: StyleLayer) => {
      const placed = { ...one, id: `${layer.id}/${one.id}`, source: id, 'source-layer': layer.id };
      return placed as Layer;
    }),
  );
}
