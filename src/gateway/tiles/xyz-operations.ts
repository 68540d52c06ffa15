import Type from 'typebox';
import type { CatalogSnapshot, Collection } from '../../core/catalog/collection.js';
import { ApiError, badParameter } from '../../core/errors/errors.js';
import { listNames } from '../../core/errors/near-names.js';
import {
  type Format,
  JPEG_FORMAT,
  MLT_FORMAT,
  MVT_FORMAT,
  PNG_FORMAT,
  TILEJSON_FORMAT,
  VECTOR_FORMATS,
  WEBP_FORMAT,
} from '../../core/http/media.js';
import { declareMemo, defineOperation, type Exchange, type Operation } from '../../core/http/operation.js';
import { choice, defineListParam, pathInteger, pathString } from '../../core/http/params.js';
import { LIMITS } from '../../core/kit/limits.js';
import { lookParams } from '../../core/rasters/look-params.js';
import { WEB_MERCATOR_QUAD } from '../../core/tiles/tile-matrix.js';
import { isMade, TILE_FORMATS, tileFormats } from '../../services/tiles/formats.js';
import { narrowTile, planTile, type TilePlan, tileAddress } from '../../services/tiles/plan.js';
import { documentReply, selectCollections } from '../surface/common.js';
import { replyWithTile, type TilesDeps } from '../surface/tile-reply.js';
import { TILE_OPERATION, tileQuery, tileResponses } from './params.js';
import { tileJson } from './tilejson.js';

const XYZ_PATH = '/tiles';

/** Collections in a path: `roads` or `roads,buildings`, names or numbers. */
const layers = {
  ...pathString('layers', 'Names or numbers of collections, with commas.'),
  parse: (raw: string | undefined) =>
    defineListParam('layers', LIMITS.collectionsPerRequest, '').parse(raw) ?? [],
};

const FORMATS: Readonly<Record<string, Format>> = {
  mvt: MVT_FORMAT,
  pbf: MVT_FORMAT,
  mlt: MLT_FORMAT,
  png: PNG_FORMAT,
  jpg: JPEG_FORMAT,
  jpeg: JPEG_FORMAT,
  webp: WEBP_FORMAT,
};

const EXTENSIONS = Object.keys(FORMATS).map((name) => `.${name}`);

/** Row of the tile, optionally with a file name extension: `5`, `5.mvt`, `5@2x.png`. */
const row = {
  ...pathString('y', 'Row, 0 at the top; perhaps with @2x and .mvt, .pbf, .mlt, .png, .jpg or .webp.'),
  parse(raw: string | undefined) {
    const [, digits, twice, ending] = /^(\d{1,10})(@2x)?(?:\.([a-z]{2,5}))?$/.exec(raw ?? '') ?? [];
    const format = ending === undefined ? undefined : FORMATS[ending];
    if (digits === undefined)
      throw badParameter(
        'y',
        'must be an integer of at least 0, optionally with @2x and the extension of a format',
      );
    if (ending !== undefined && !format)
      throw badParameter(
        'format',
        `'.${ending}' is not the extension of a tile format. Use ${listNames(EXTENSIONS)}`,
      );
    return { y: Number(digits), scale: twice ? 2 : 1, format };
  },
};

/** Encoding of the tiles in TileJSON. */
const encoding = choice(
  'encoding',
  ['mvt', 'mlt'],
  'Encoding of vector tiles. Default: mvt, or the encoding of the archive.',
);

const { datetime, subset, filter, filterLang, filterCrs, aggregate, properties } = tileQuery;

/** TileJSON and Web Mercator tiles by zoom, column and row, in the order that web maps write them. */
export function xyzOperations(deps: TilesDeps): Operation[] {
  return [
    defineOperation({
      ...TILE_OPERATION,
      id: 'tiles.getTileJson',
      path: `${XYZ_PATH}/{layers}`,
      summary: 'TileJSON of collections',
      tag: 'TileJSON',
      params: { layers, datetime, encoding },
      formats: [{ ...TILEJSON_FORMAT, accepts: ['application/json'] }],
      responses: {
        200: { description: 'TileJSON 3.0', content: { [TILEJSON_FORMAT.mediaType]: Type.Object({}) } },
        404: { description: 'No such collection' },
      },
      run(x) {
        const collections = listCollections(x, deps.visible(x.principal), x.params.layers);
        const [collection] = collections.length === 1 ? collections : [];
        const names = collections.map(({ id }) => id).join(',');
        const format = findEncoding(collections, x.params.encoding);
        const ending = format && format !== tileFormats(collections)[0] ? `.${format.name}` : '';
        const template = `${x.baseUrl}${XYZ_PATH}/${names}/{z}/{x}/{y}${ending}${formatTime(x.query)}`;
        const subject = { as: 'data', collections, collection } as const;
        return documentReply(x, tileJson(x, subject, { template, format }), () => '');
      },
    }),
    defineOperation({
      ...TILE_OPERATION,
      id: 'tiles.getXyzTile',
      path: `${XYZ_PATH}/{layers}/{z}/{x}/{y}`,
      summary: 'A tile by zoom, column and row',
      tag: 'TileJSON',
      params: {
        layers,
        z: pathInteger('z', 'Zoom level.'),
        x: pathInteger('x', 'Column.'),
        y: row,
        datetime,
        subset,
        filter,
        filterLang,
        filterCrs,
        aggregate,
        properties,
        ...lookParams,
      },
      // Web maps request every tile in view, so an empty tile is not an error.
      responses: { ...tileResponses(TILE_FORMATS), 404: { description: 'No such collection' } },
      memo: declareMemo<TilePlan>(),
      run(x) {
        const catalog = deps.visible(x.principal);
        const make = () => {
          const collections = listCollections(x, catalog, x.params.layers);
          const { z, x: column, y } = x.params;
          const at = tileAddress(WEB_MERCATOR_QUAD, String(z), y.y, column);
          return narrowTile(collections, at, parseFormat(collections, y.format), {
            ...x.params,
            scale: y.scale,
          });
        };
        return replyWithTile(x, deps, planTile(x, catalog, make, { negotiated: false, limited: false }));
      },
    }),
  ];
}

/**
 * The requested vector tile encoding; undefined if the server may choose. Throws 400 if there are no vector tiles.
 */
function findEncoding(collections: readonly Collection[], name: string | undefined): Format | undefined {
  const format = VECTOR_FORMATS.find((one) => one.name === name);
  if (format && !tileFormats(collections).includes(format))
    throw badParameter('encoding', 'is only for collections with vector tiles');
  return format;
}

/** The time that tiles are described for is that of their URLs. */
function formatTime(query: string): string {
  const time = query.split('&').find((part) => part.startsWith('datetime='));
  return time ? `?${time}` : '';
}

/** An archive cannot be combined with other collections. */
function listCollections(
  x: Pick<Exchange, 'baseUrl'>,
  catalog: CatalogSnapshot,
  names: readonly string[],
): Collection[] {
  return selectCollections(x, catalog, names, names.length > 1 ? isMade : () => true);
}

function parseFormat(collections: readonly Collection[], extension: Format | undefined): Format {
  const offered = tileFormats(collections);
  const format = extension ?? offered[0]!;
  if (offered.includes(format)) return format;
  const names = listNames(offered.map(({ name }) => `.${name}`));
  throw new ApiError(
    'not-acceptable',
    `format: '.${format.name}' is not a format of the tiles of these collections. Use ${names}.`,
  );
}
