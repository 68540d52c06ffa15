import { byData, hasStoredTiles, hasVectorTiles } from '../../../core/catalog/abilities.js';
import {
  buildSnippetItemsUrl,
  createSafeFileName,
  literal,
  type Snippet,
  type SnippetSubject,
  shellWord,
  tilesUrl,
  wholeCoverage,
} from './snippet.js';

/** Commands and scripts: GDAL, Python, R, curl. */
export function programSnippets(subject: SnippetSubject): Snippet[] {
  return byData(subject.collection, {
    features: () => [gdalVector(subject), geoPandas(subject), sf(subject), curlItems(subject)],
    coverage: () => [gdalRaster(subject), rasterio(subject), terra(subject), curlCoverage(subject)],
    storedTiles: () => [curlTile(subject)],
  });
}

function gdalVector({ baseUrl, collection }: SnippetSubject): Snippet {
  const source = shellWord(`OAPIF:${baseUrl}/ogc/features`);
  const layer = shellWord(collection.id);
  return {
    id: 'gdal',
    title: 'GDAL',
    intro: 'In a terminal: shows the structure of the collection, then copies all features to a GeoPackage.',
    language: 'sh',
    code: `ogrinfo -so ${source} ${layer}
ogr2ogr -f GPKG ${shellWord(`${createSafeFileName(collection.id)}.gpkg`)} ${source} ${layer}
`,
  };
}

function gdalRaster(subject: SnippetSubject): Snippet {
  const file = shellWord(`${createSafeFileName(subject.collection.id)}.tif`);
  const source = shellWord(`/vsicurl/${wholeCoverage(subject)}`);
  return {
    id: 'gdal',
    title: 'GDAL',
    intro: 'In a terminal: shows the structure of the raster, then copies its values to a GeoTIFF.',
    language: 'sh',
    code: `gdalinfo ${source}
gdal_translate ${source} ${file}
`,
  };
}

function geoPandas({ baseUrl, collection }: SnippetSubject): Snippet {
  return {
    id: 'python',
    title: 'Python',
    intro: 'Requires GeoPandas: pip install geopandas. Reads all features, page by page.',
    language: 'python',
    code: `import geopandas

frame = geopandas.read_file(${literal(`OAPIF:${baseUrl}/ogc/features`)}, layer=${literal(collection.id)})
print(frame.head())
print(len(frame), "features in", frame.crs)
`,
  };
}

function rasterio(subject: SnippetSubject): Snippet {
  return {
    id: 'python',
    title: 'Python',
    intro: 'Requires rasterio: pip install rasterio. Reads the values of the first band.',
    language: 'python',
    code: `import rasterio

with rasterio.open(${literal(wholeCoverage(subject))}) as dataset:
    values = dataset.read(1, masked=True)
    print(dataset.width, "x", dataset.height, "pixels,", dataset.count, "bands in", dataset.crs)
    print("first band:", values.min(), "to", values.max())
`,
  };
}

function sf({ baseUrl, collection }: SnippetSubject): Snippet {
  return {
    id: 'r',
    title: 'R',
    intro: 'Requires sf: install.packages("sf"). Reads all features, page by page.',
    language: 'r',
    code: `library(sf)

frame <- st_read(${literal(`OAPIF:${baseUrl}/ogc/features`)}, ${literal(collection.id)})
print(frame)
`,
  };
}

function terra(subject: SnippetSubject): Snippet {
  return {
    id: 'r',
    title: 'R',
    intro: 'Requires terra: install.packages("terra"). Opens the remote values and shows their structure.',
    language: 'r',
    code: `library(terra)

values <- rast(${literal(`/vsicurl/${wholeCoverage(subject)}`)})
print(values)
`,
  };
}

function curlItems(subject: SnippetSubject): Snippet {
  return {
    id: 'curl',
    title: 'curl',
    intro: 'In a terminal: the first ten features as GeoJSON.',
    language: 'sh',
    code: `curl --fail ${shellWord(`${buildSnippetItemsUrl(subject)}?f=json&limit=10`)}
`,
  };
}

function curlCoverage(subject: SnippetSubject): Snippet {
  const file = shellWord(`${createSafeFileName(subject.collection.id)}.png`);
  return {
    id: 'curl',
    title: 'curl',
    intro: 'In a terminal: an image of the map.',
    language: 'sh',
    code: `curl --fail --output ${file} ${shellWord(`${subject.baseUrl}/ogc/maps/collections/${subject.collection.layerId}/map?f=png&width=1024`)}
`,
  };
}

function curlTile(subject: SnippetSubject): Snippet {
  const { collection } = subject;
  const format = hasStoredTiles(collection) && !hasVectorTiles(collection) ? collection.format : 'mvt';
  const zoom = hasStoredTiles(collection) ? collection.minZoom : 0;
  const [x, y] = firstTile(collection.extent84, zoom);
  const url = tilesUrl(subject, format)
    .replace('{z}', String(zoom))
    .replace('{x}', String(x))
    .replace('{y}', String(y));
  return {
    id: 'curl',
    title: 'curl',
    intro: 'In a terminal: one tile.',
    language: 'sh',
    code: `curl --fail --output ${shellWord(`${createSafeFileName(collection.id)}.${format}`)} ${shellWord(url)}
`,
  };
}

/** Column and row of the tile in the middle of an extent. */
function firstTile(
  [west, south, east, north]: readonly [number, number, number, number] = [-180, -85, 180, 85],
  zoom: number,
): [number, number] {
  const side = 2 ** zoom;
  const middle = Math.max(-85, Math.min(85, (south + north) / 2)) * (Math.PI / 180);
  const longitude = (west + (east < west ? east + 360 : east)) / 2;
  const within = (value: number) => Math.max(0, Math.min(side - 1, Math.floor(value * side)));
  return [within((longitude + 180) / 360), within((1 - Math.asinh(Math.tan(middle)) / Math.PI) / 2)];
}
