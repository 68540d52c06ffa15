import { execFile } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type Remote, startRemote } from './support.js';

const MAPSERV = ['/usr/bin/mapserv', '/usr/lib/cgi-bin/mapserv'].find(existsSync);

/**
 * MapServer as a WFS and WMS, of countries and borders of the demo data or another GeoPackage, in a CRS of metres and one of
 * degrees; and as a WCS, of a grid of heights.
 */
export async function startMapServer(
  folder: string,
  world = resolve('demo/data/world_map.gpkg'),
): Promise<Remote> {
  if (MAPSERV === undefined) throw new Error('MapServer is not installed: cgi-mapserver');
  const map = join(folder, 'world.map');
  const config = join(folder, 'mapserver.conf');
  writeFileSync(config, 'CONFIG\n ENV\n  MS_MAP_PATTERN "."\n END\nEND\n');
  const remote = await startRemote((url, response) => {
    const env = {
      ...process.env,
      MAPSERVER_CONFIG_FILE: config,
      MS_MAPFILE: map,
      REQUEST_METHOD: 'GET',
      QUERY_STRING: url.search.slice(1),
      SERVER_NAME: '127.0.0.2',
    };
    const options = { env, encoding: 'buffer', maxBuffer: 1 << 28 } as const;
    execFile(MAPSERV, [], options, (error, stdout) => {
      if (error) return void response.writeHead(500).end(String(error));
      const end = stdout.indexOf('\r\n\r\n');
      const type = /content-type:\s*(.*)/i.exec(stdout.toString('latin1', 0, end))?.[1] ?? 'text/plain';
      response.writeHead(200, { 'content-type': type.trim() }).end(stdout.subarray(end + 4));
    });
  });
  writeFileSync(map, mapFile(remote.url, world));
  return remote;
}

const layer = (world: string, name: string, table: string, type: string, epsg: number) => `
  LAYER
    NAME "${name}" TYPE ${type} STATUS ON TEMPLATE "x"
    CONNECTIONTYPE OGR CONNECTION "${world}" DATA "${table}"
    PROJECTION "init=epsg:4326" END
    METADATA
      "wfs_title" "${name}" "wfs_srs" "EPSG:${epsg}" "gml_include_items" "all" "gml_featureid" "fid"
    END
    CLASS STYLE COLOR 34 85 204 OUTLINECOLOR 34 85 204 WIDTH 1 END END
  END`;

const coverage = `
  LAYER
    NAME "heights" TYPE RASTER STATUS ON DATA "${resolve('demo/data/olinda_dem_utm25s.tif')}"
    PROJECTION "init=epsg:31985" END
    METADATA
      "wcs_label" "Heights of Olinda" "wcs_rangeset_name" "height" "wcs_rangeset_label" "Height"
      "wcs_formats" "GEOTIFF_16" "wcs_nativeformat" "GEOTIFF_16"
    END
  END`;

const mapFile = (url: string, world: string) => `MAP
  NAME "world" EXTENT -180 -90 180 90 SIZE 100 100
  PROJECTION "init=epsg:4326" END
  IMAGETYPE PNG
  WEB METADATA
    "wms_title" "World" "wms_srs" "EPSG:3857 EPSG:4326" "wcs_label" "World" "wcs_description" "World" "wfs_title" "World" "ows_onlineresource" "${url}/?" "wfs_enable_request" "*" "ows_enable_request" "*"
  END END
  OUTPUTFORMAT
    NAME "GEOTIFF_16" DRIVER "GDAL/GTiff" MIMETYPE "image/tiff" IMAGEMODE INT16 EXTENSION "tif"
  END
  ${coverage}
  ${layer(world, 'countries', 'countries', 'POLYGON', 4326)}
  ${layer(world, 'borders', 'disputed_borders', 'LINE', 3857)}
END
`;
