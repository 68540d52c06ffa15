/** Detection of the geometry columns of a CSV file. */

type Pairs = readonly (readonly [x: string, y: string])[];

/** Names of columns with longitudes and latitudes. */
const DEGREES: Pairs = [
  ['longitude', 'latitude'],
  ['lon', 'lat'],
  ['lng', 'lat'],
  ['long', 'lat'],
  ['decimallongitude', 'decimallatitude'],
  ['longitudedeg', 'latitudedeg'],
  ['gpslongitude', 'gpslatitude'],
  ['geolongitude', 'geolatitude'],
  ['geolon', 'geolat'],
  ['locationlongitude', 'locationlatitude'],
  ['loclong', 'loclat'],
  ['longdd', 'latdd'],
  ['xlong', 'ylat'],
];

/** Names of columns with coordinates, in pairs: one of a pair is never taken with one of another. */
const PAIRS: Pairs = [
  ...DEGREES,
  ['x', 'y'],
  ['coordx', 'coordy'],
  ['xcoord', 'ycoord'],
  ['xcoordinate', 'ycoordinate'],
  ['coordinatex', 'coordinatey'],
  ['pointx', 'pointy'],
  ['geox', 'geoy'],
  ['posx', 'posy'],
  ['easting', 'northing'],
  ['eastings', 'northings'],
  ['east', 'north'],
  ['rechtswert', 'hochwert'],
  ['ostwert', 'nordwert'],
];

/** Names of columns with `latitude, longitude` in one value. */
const BOTH = /^(geopoint(2d)?|latlon|latlng|latlong|latitudelongitude|location|geolocation|coordinates)$/;
const LATITUDE_LONGITUDE = /^\s*\(?\s*(-?\d{1,2}(?:\.\d+)?)\s*,\s*(-?\d{1,3}(?:\.\d+)?)\s*\)?\s*$/;

const WKT =
  /^\s*(POINT|LINESTRING|POLYGON|MULTIPOINT|MULTILINESTRING|MULTIPOLYGON|GEOMETRYCOLLECTION|CURVEPOLYGON|COMPOUNDCURVE|CIRCULARSTRING|MULTICURVE|MULTISURFACE)\s*(Z|M|ZM)?\s*(\(|EMPTY)/i;
/** Byte order and type (OGC 06-103r4, 8.2). */
const WKB = /^\s*(01[0-9A-F]{4}00[02468ACE]0|00[02468ACE]000[0-9A-F]{4})[0-9A-F]{32,}\s*$/i;
const GEOJSON = /^\s*\{.*"(coordinates|geometries)"/s;

/** Names of columns of geometries that the first records leave empty. */
const GEOMETRY = /^(wkt|thegeom|geom|geometry|.*(wkt|geom))$/;

export type CsvGeometry =
  | { encoding: 'WKT' | 'WKB' | 'GeoJSON' | 'latitude, longitude'; column: string }
  | { encoding: 'coordinates'; x: string; y: string };

/** Finds the geometry by the names of columns and the first of their values that are not empty. */
export function findCsvGeometry(
  columns: readonly string[],
  samples: readonly string[],
): CsvGeometry | undefined {
  for (const [i, column] of columns.entries()) {
    const encoding = encodingOfValue(samples[i] ?? '');
    if (encoding) return { encoding, column };
  }
  const pair = coordinateColumns(columns);
  if (pair) return { encoding: 'coordinates', x: pair[0], y: pair[1] };
  const both = columns.findIndex(
    (column, i) => BOTH.test(plain(column)) && LATITUDE_LONGITUDE.test(samples[i] ?? ''),
  );
  if (both >= 0) return { encoding: 'latitude, longitude', column: columns[both]! };
  const empty = columns.find((column, i) => GEOMETRY.test(plain(column)) && !samples[i]);
  return empty === undefined ? undefined : { encoding: 'WKT', column: empty };
}

function encodingOfValue(value: string): 'WKT' | 'WKB' | 'GeoJSON' | undefined {
  if (WKT.test(value)) return 'WKT';
  if (WKB.test(value)) return 'WKB';
  return GEOJSON.test(value) ? 'GeoJSON' : undefined;
}

/** Returns the first pair of the table whose columns both exist. */
export function coordinateColumns(columns: readonly string[]): [x: string, y: string] | undefined {
  const byName = new Map(columns.map((column) => [plain(column), column]));
  for (const [x, y] of PAIRS) {
    const [easting, northing] = [byName.get(x), byName.get(y)];
    if (easting !== undefined && northing !== undefined) return [easting, northing];
  }
  return undefined;
}

/** Whether the names of columns, or the encoding, say that coordinates are degrees. */
export function namesDegrees(geometry: CsvGeometry): boolean {
  if (geometry.encoding !== 'coordinates')
    return geometry.encoding === 'GeoJSON' || geometry.encoding === 'latitude, longitude';
  const [x, y] = [plain(geometry.x), plain(geometry.y)];
  return DEGREES.some(([longitude, latitude]) => longitude === x && latitude === y);
}

/** Returns longitude and latitude of a value that contains both, latitude first. Undefined for other values. */
export function parseLatitudeLongitude(value: string): [longitude: string, latitude: string] | undefined {
  const [, latitude, longitude] = LATITUDE_LONGITUDE.exec(value) ?? [];
  return latitude === undefined || longitude === undefined ? undefined : [longitude, latitude];
}

/** Returns a column name without case, spaces and marks, for comparison: `Point_X` becomes `pointx`. */
function plain(column: string): string {
  return column.toLowerCase().replace(/[\s_.()[\]°-]+/g, '');
}
