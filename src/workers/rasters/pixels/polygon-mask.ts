/** Polygons on the pixels of a grid. */

import type { Position } from 'geojson';
import { TaskFailure } from '../../../core/errors/failure.js';
import type { Box } from '../../../core/geometry/box.js';
import { type GdalCrs, pointTransform } from '../../gdal/crs.js';
import { gdal } from '../../gdal/gdal.js';

/** Pieces that the longer side of the box is cut into before edges are brought to another CRS. */
const PIECES = 100;

interface MaskGrid {
  readonly crs: GdalCrs;
  readonly box: Box;
  readonly width: number;
  readonly height: number;
}

/** Returns 1 for pixels whose centres are in a MultiPolygon of `from`, otherwise 0; row by row from the top. */
export async function polygonMask(
  polygons: readonly Position[][][],
  from: GdalCrs,
  { crs, box, width, height }: MaskGrid,
): Promise<Uint8Array> {
  const vector = gdal.drivers.get('Memory').create('');
  const target = gdal.drivers.get('MEM').create('', width, height, 1, 'Byte');
  try {
    const [minx, miny, maxx, maxy] = box;
    target.geoTransform = [minx, (maxx - minx) / width, 0, maxy, 0, (miny - maxy) / height];
    const layer = vector.layers.create('area', null, gdal.wkbMultiPolygon);
    const feature = new gdal.Feature(layer);
    feature.setGeometry(placed(polygons, from, crs));
    layer.features.add(feature);
    await gdal.rasterizeAsync(target, vector, ['-l', 'area', '-b', '1', '-burn', '1']);
    return (await target.bands.get(1).pixels.readAsync(0, 0, width, height)) as Uint8Array;
  } finally {
    target.close();
    vector.close();
  }
}

function placed(polygons: readonly Position[][][], from: GdalCrs, to: GdalCrs) {
  const geometry = gdal.Geometry.fromGeoJson({ type: 'MultiPolygon', coordinates: polygons });
  const { minX, minY, maxX, maxY } = geometry.getEnvelope();
  geometry.segmentize(Math.max(maxX - minX, maxY - minY) / PIECES);
  const move = pointTransform(from, to);
  const { coordinates } = geometry.toObject() as { coordinates: Position[][][] };
  return gdal.Geometry.fromGeoJson({
    type: 'MultiPolygon',
    coordinates: coordinates.map((rings) =>
      rings.map((ring) => ring.map(([x, y]) => move(x!, y!) ?? outOfReach())),
    ),
  });
}

function outOfReach(): never {
  throw new TaskFailure('invalid-input', 'The polygon is outside the area of the CRS of the raster.');
}
