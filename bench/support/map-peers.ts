import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { answers } from './server.js';

/** Other servers of maps, as FastCGI processes behind nginx, on one layer of a file. Box in EPSG:4326, x,y. */

export interface MapPeer {
  name: string;
  /** All of its processes. */
  pids: number[];
  url(box: readonly [number, number, number, number], side: number): string;
  stop(): Promise<void>;
}

export interface MapLayer {
  /** What OGR opens; a folder of shapefiles or a GeoPackage. */
  path: string;
  table: string;
  fill: string;
  line: string;
}

const FILL_OPACITY = 255;

function wms(origin: string, extra: string) {
  return (box: readonly number[], side: number) =>
    `${origin}/?${extra}SERVICE=WMS&VERSION=1.1.1&REQUEST=GetMap&LAYERS=layer&STYLES=&SRS=EPSG:4326&BBOX=${box.join(',')}&WIDTH=${side}&HEIGHT=${side}&FORMAT=image/png&TRANSPARENT=TRUE`;
}

/** `mapserv`, with the driver of shapefiles that is its own, or through OGR. */
export async function mapServer(
  name: string,
  { path, table, fill, line }: MapLayer,
  { port, core, shapefile }: { port: number; core: number; shapefile: boolean },
): Promise<MapPeer> {
  const folder = mkdtempSync(join(tmpdir(), 'graticule-mapserver-'));
  const data = shapefile
    ? `DATA "${resolve(path)}"`
    : `CONNECTIONTYPE OGR CONNECTION "${resolve(path)}" DATA "${table}"`;
  writeFileSync(
    join(folder, 'layer.map'),
    `MAP
  NAME "bench" SIZE 512 512 EXTENT -180 -90 180 90 PROJECTION "init=epsg:4326" END
  IMAGETYPE "png32" OUTPUTFORMAT NAME "png32" DRIVER "AGG/PNG" MIMETYPE "image/png" IMAGEMODE RGBA TRANSPARENT ON FORMATOPTION "COMPRESSION=2" END
  WEB METADATA "wms_enable_request" "*" "wms_srs" "EPSG:4326" "wms_onlineresource" "http://127.0.0.1:${port}/" "wms_title" "bench" END END
  LAYER NAME "layer" TYPE POLYGON STATUS ON ${data} PROCESSING "CLOSE_CONNECTION=DEFER"
    PROJECTION "init=epsg:4326" END METADATA "wms_title" "layer" END
    CLASS STYLE COLOR "${fill}" OUTLINECOLOR "${line}" OUTLINEWIDTH 1 END END
  END
END`,
  );
  writeFileSync(join(folder, 'mapserver.conf'), 'CONFIG ENV MS_MAP_PATTERN "." END END');
  const env = { MAPSERVER_CONFIG_FILE: join(folder, 'mapserver.conf') };
  const { pids, stop } = await fastCgi('/usr/bin/mapserv', env, { folder, port, core });
  const url = wms(`http://127.0.0.1:${port}`, `map=${join(folder, 'layer.map')}&`);
  await answers(url([0, 0, 10, 10], 64));
  return { name, pids, url, stop };
}

/** QGIS Server with a project that PyQGIS writes. */
export async function qgisServer(
  { path, table, fill, line }: MapLayer,
  { port, core }: { port: number; core: number },
): Promise<MapPeer> {
  const folder = mkdtempSync(join(tmpdir(), 'graticule-qgis-'));
  const project = join(folder, 'layer.qgs');
  const script = `
from qgis.core import *
app = QgsApplication([], False); app.initQgis()
project = QgsProject.instance(); project.setCrs(QgsCoordinateReferenceSystem('EPSG:4326'))
layer = QgsVectorLayer('${resolve(path)}|layername=${table}', 'layer', 'ogr')
assert layer.isValid()
symbol = QgsFillSymbol.createSimple({'color': '${fill}', 'outline_color': '${line}', 'outline_width': '1', 'outline_width_unit': 'Pixel'})
symbol.setOpacity(${FILL_OPACITY} / 255)
layer.setRenderer(QgsSingleSymbolRenderer(symbol)); project.addMapLayer(layer)
project.writeEntry('WMSCrsList', '/', ['EPSG:4326'])
project.write('${project}'); app.exitQgis()`;
  const made = spawnSync('/usr/bin/python3', ['-c', script], {
    env: { ...process.env, QT_QPA_PLATFORM: 'offscreen' },
  });
  if (made.status !== 0) throw new Error(`PyQGIS: ${made.stderr}`);
  const env = { QGIS_PROJECT_FILE: project, QT_QPA_PLATFORM: 'offscreen', QGIS_SERVER_LOG_LEVEL: '2' };
  const program = '/usr/lib/cgi-bin/qgis_mapserv.fcgi';
  const { pids, stop } = await fastCgi(program, env, { folder, port, core });
  const url = wms(`http://127.0.0.1:${port}`, '');
  await answers(url([0, 0, 10, 10], 64));
  return { name: 'QGIS Server', pids, url, stop };
}

/** One FastCGI process and the nginx before it, on one core. */
async function fastCgi(
  program: string,
  env: Record<string, string>,
  { folder, port, core }: { folder: string; port: number; core: number },
) {
  const socket = join(folder, 'fcgi.sock');
  const fcgi = spawn('taskset', ['-c', String(core), 'spawn-fcgi', '-n', '-s', socket, '--', program], {
    stdio: 'ignore',
    env: { ...process.env, ...env },
  });
  writeFileSync(
    join(folder, 'nginx.conf'),
    `user root; worker_processes 1; master_process off; pid ${folder}/pid; error_log ${folder}/error.log; daemon off;
     events { worker_connections 256; }
     http { access_log off; client_body_temp_path ${folder}/b; proxy_temp_path ${folder}/p; fastcgi_temp_path ${folder}/f; uwsgi_temp_path ${folder}/u; scgi_temp_path ${folder}/s;
       server { listen 127.0.0.1:${port}; location / { include /etc/nginx/fastcgi_params; fastcgi_param SCRIPT_NAME /; fastcgi_pass unix:${socket}; fastcgi_read_timeout 60s; } } }`,
  );
  const nginx = spawn(
    'taskset',
    ['-c', String(core), 'nginx', '-p', folder, '-c', join(folder, 'nginx.conf')],
    {
      stdio: 'ignore',
    },
  );
  await new Promise((resolved) => setTimeout(resolved, 1000));
  const ended = async (child: ChildProcess) => {
    child.kill('SIGKILL');
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  };
  return {
    pids: [fcgi.pid!, nginx.pid!],
    async stop() {
      await Promise.all([ended(fcgi), ended(nginx)]);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
