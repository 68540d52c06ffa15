import type { Layer } from 'gdal-async';
import type { Dataset } from '../../../gdal/gdal.js';
import { baseGeometryCode } from '../ogr.js';

const NOTE = 'Arcs of the file became lines, in steps of 4 degrees of each arc.';

/** Codes of types that may have arcs (OGC 06-103r4, table 7); 0 is any type. */
const MAY_HAVE_ARCS = new Set([0, 7, 8, 9, 10, 11, 12, 13, 14]);
/** Formats without curves. */
const STRAIGHT = new Set([
  'GeoJSON',
  'GeoJSONSeq',
  'TopoJSON',
  'OGR_VRT',
  'ESRI Shapefile',
  'KML',
  'LIBKML',
  'GPX',
  'CSV',
]);

/** Returns a note about arcs that a copy contains as lines. Undefined if there are none. */
export async function describeCurves(source: Dataset, layer: Layer): Promise<string | undefined> {
  if (STRAIGHT.has(source.driver.description) || !MAY_HAVE_ARCS.has(baseGeometryCode(layer.geomType)))
    return undefined;
  const table = `"${layer.name.replaceAll('"', '\\"')}"`;
  const types = `SELECT DISTINCT OGR_GEOMETRY FROM ${table} WHERE OGR_GEOMETRY IS NOT NULL`;
  const found = await source.executeSQLAsync(types, undefined, 'OGRSQL');
  const names = found.features.map((feature) => String(feature.fields.get(0)).toUpperCase());
  if (!names.some((name) => /CIRCULAR|CURVE|SURFACE|COLLECTION/.test(name))) return undefined;
  const arcs = `SELECT FID FROM ${table} WHERE OGR_GEOM_WKT LIKE '%CIRCULARSTRING%' LIMIT 1`;
  const result = await source.executeSQLAsync(arcs, undefined, 'OGRSQL');
  return result.features.first() ? NOTE : undefined;
}
