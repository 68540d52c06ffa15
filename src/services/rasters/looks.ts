import { hasCoverage } from '../../core/catalog/abilities.js';
import type { Collection, RasterCollection } from '../../core/catalog/collection.js';
import { findDefaultLook } from '../../core/catalog/default-look.js';
import { ApiError, badParameter } from '../../core/errors/errors.js';
import { listBands } from '../../core/rasters/band-math/index.js';
import { RASTER_LIMITS } from '../../core/rasters/limits.js';
import type { AskedLook } from '../../core/rasters/look-params.js';
import type { RasterLook } from '../../core/rasters/raster-look.js';

const NAMES = ['expression', 'rescale', 'colormap', 'bands', 'nodata'] as const;

/**
 * The rendering that these parameters request for the raster among the collections. Undefined without parameters.
 * Throws 400 with a parameter that does not fit the raster, or another parameter.
 */
export function rasterLook(
  collections: readonly Collection[],
  request: Partial<AskedLook>,
): RasterLook | undefined {
  const name = NAMES.find((one) => request[one] !== undefined);
  if (name === undefined) return undefined;
  const rasters = collections.filter(hasCoverage);
  if (rasters.length !== 1) throw badParameter(name, 'is only for requests of one raster');
  const [raster] = rasters as [RasterCollection];
  requireBands(raster, request);
  return composeLook(withDefaults(raster, request));
}

/** The rendering that a page requests for its collection. Its form also sends the colour map of three bands. */
export function pageLook(collection: Collection, request: AskedLook): RasterLook | undefined {
  const colormap = request.bands?.length === 3 ? undefined : request.colormap;
  return rasterLook([collection], { ...request, colormap });
}

/** Bands and colours of a request; bands and ranges can be those of a style. */
type Settings = Partial<Omit<AskedLook, 'bands' | 'rescale'>> & Pick<RasterLook, 'bands' | 'rescale'>;

function composeLook({ expression, rescale, colormap, bands, nodata }: Settings): RasterLook {
  const count = expression?.length ?? bands?.length;
  if (colormap && count === 3) throw badParameter('colormap', 'is only for one band or one expression');
  if (rescale?.length === 3 && (count === 1 || colormap))
    throw badParameter('rescale', 'must have one pair for one band or one expression');
  return {
    ...(bands ? { bands } : {}),
    ...(expression ? { expressions: expression } : {}),
    ...(rescale ? { rescale } : {}),
    ...(colormap ? { colormap } : {}),
    ...(nodata === undefined ? {} : { nodata }),
  };
}

/** The bands of the style, and its colours, if the request does not select any. A colour map uses one band. */
function withDefaults(
  raster: RasterCollection,
  { expression, rescale, colormap, bands, nodata }: Partial<AskedLook>,
): Settings {
  const requested = { expression, rescale, colormap, bands, nodata };
  const usual = expression || bands ? undefined : findDefaultLook(raster);
  if (!usual?.bands) return requested;
  if (colormap) return usual.bands.length === 1 ? { ...requested, bands: usual.bands } : requested;
  return {
    ...requested,
    bands: usual.bands,
    colormap: usual.colormap,
    rescale: rescale ?? usual.rescale,
    nodata: nodata ?? usual.nodata,
  };
}

/** Why a raster cannot be shown that way; undefined when it can. */
export function lookProblem(
  collection: Collection,
  { expressions: expression, ...look }: RasterLook,
): string | undefined {
  try {
    const settings = { expression, ...look } as Partial<AskedLook>;
    if (hasCoverage(collection)) {
      requireBands(collection, settings);
      composeLook(settings);
    } else rasterLook([collection], settings);
    return undefined;
  } catch (error) {
    if (error instanceof ApiError) return error.message;
    throw error;
  }
}

function requireBands(
  { bands: ownBands }: RasterCollection,
  { expression, bands, rescale, colormap }: Partial<AskedLook>,
): void {
  if (expression && bands)
    throw badParameter('bands', 'cannot be combined with expression, which names its bands');
  const used = expression ? listBands(expression) : (bands ?? []);
  const name = expression ? 'expression' : 'bands';
  if (expression && used.length === 0) throw badParameter(name, 'must name a band');
  if (used.length > RASTER_LIMITS.lookBands)
    throw badParameter(name, `must name at most ${RASTER_LIMITS.lookBands} bands`);
  const missing = used.find((band) => band > ownBands.length);
  if (missing !== undefined)
    throw badParameter(name, `there is no band ${missing}. The raster has bands 1 to ${ownBands.length}`);
  const quantities = expression ?? rescale ?? colormap;
  const isIndexed = ownBands[0]?.colorInterpretation === 'Palette';
  if (quantities && isIndexed)
    throw badParameter(
      expression ? 'expression' : rescale ? 'rescale' : 'colormap',
      'is not for rasters with a colour table, whose values are not quantities',
    );
}
