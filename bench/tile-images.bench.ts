import { fork } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { VectorCollection } from '../src/core/catalog/collection.js';
import type { Box } from '../src/core/geometry/box.js';
import { defaultStyle } from '../src/core/styles/default-style.js';
import type { Pools, TaskInput } from '../src/core/tasks/tasks.js';
import type { VectorTileTask } from '../src/core/tasks/vector-tasks.js';
import { renderImage } from '../src/services/maps/render.js';
import { EnginePool } from '../src/workers/engine/client.js';
import { closeAll } from '../src/workers/providers/geopackage/connection.js';
import { vectorTile } from '../src/workers/tiles/tile.js';
import { buildings, TILE_SIDE, tilesInside, ZOOM } from './support/buildings.js';
import { pin } from './support/core.js';
import { cpuSeconds } from './support/load.js';
import { median, option, publish } from './support/report.js';

/**
 * Image tiles that no cache holds, one at a time and cut from metatiles: from the GeoPackage to the bytes of all tiles of
 * one square of 8 x 8 at four zooms, CPU of this process and of the engine. Both are tied to one core.
 */
const rounds = option('rounds', 5);
const ROWS = 200_000;
const SIDE = 8;
const PIXELS = 256;
const CORE = 1;
const BLOCKS = [1, 2, 4, 8];
const ZOOMS = [ZOOM + 1, ZOOM + 2, ZOOM + 4, ZOOM + 6];

pin(CORE);
const runDir = mkdtempSync(join(tmpdir(), 'graticule-bench-'));
const engine = fork('dist/workers/entries/engine/main.js', [join(runDir, 'engine-1.sock')], {
  env: { ...process.env, UV_THREADPOOL_SIZE: '4', GDAL_NUM_THREADS: '1' },
  execArgv: [],
});
const pool = new EnginePool({ runDir });
await pool.whenReady(30_000);

const source = buildings(ROWS);
const collection = {
  kind: 'vector',
  id: 'buildings',
  layerId: 1,
  source,
  style: defaultStyle('Polygon', 'buildings'),
} as unknown as VectorCollection;
const pools = {
  run: async (name: 'vector.tile' | 'map.render', input: unknown) =>
    name === 'vector.tile'
      ? vectorTile(input as VectorTileTask)
      : pool.run(name, input as TaskInput<'map.render'>),
} as unknown as Pools;
const x = { timing: () => {} };

interface Drawn {
  cpuMs: number;
  /** Until the first tile is there. */
  firstMs: number;
  bytes: number;
  tiles: number;
}

/** Draws the square by blocks of `side` tiles a side. */
async function draw(zoom: number, side: number): Promise<Drawn> {
  const span = TILE_SIDE / 2 ** (zoom - ZOOM);
  const [minx, miny] = tilesInside(ROWS, 1)[0]!;
  const cpu = () =>
    process.cpuUsage().user / 1e3 + process.cpuUsage().system / 1e3 + cpuSeconds(engine.pid!) * 1e3;
  const before = cpu();
  const waits: number[] = [];
  const drawn = { bytes: 0, tiles: 0 };
  for (let row = 0; row < SIDE; row += side) {
    for (let column = 0; column < SIDE; column += side) {
      const [west, north] = [minx + column * span, miny + (SIDE - row) * span];
      const bbox: Box = [west, north - side * span, west + side * span, north];
      const started = performance.now();
      const size = { width: side * PIXELS, height: side * PIXELS };
      const cut = { width: PIXELS, height: PIXELS };
      const common = {
        collections: [collection],
        crs: 'EPSG:3857',
        background: 'transparent',
        format: 'png',
      } as const;
      const { tiles } = await renderImage(x, pools, { ...common, ...size, bbox, cut });
      waits.push(performance.now() - started);
      for (const { data, empty } of tiles!) {
        drawn.bytes += data.byteLength;
        if (!empty) drawn.tiles++;
      }
    }
  }
  return { cpuMs: cpu() - before, firstMs: median(waits), ...drawn };
}

const samples = new Map(ZOOMS.flatMap((zoom) => BLOCKS.map((side) => [`${zoom} ${side}`, [] as Drawn[]])));
for (let round = 0; round <= rounds; round++) {
  for (const zoom of ZOOMS) {
    for (const side of BLOCKS) {
      const sample = await draw(zoom, side);
      // The first round warms up.
      if (round > 0) samples.get(`${zoom} ${side}`)!.push(sample);
    }
  }
}
await pool.close();
engine.kill();
closeAll();
rmSync(runDir, { recursive: true, force: true });

const of = (zoom: number, side: number) => samples.get(`${zoom} ${side}`)!;
const perCpuSecond = ({ cpuMs }: Drawn) => (SIDE * SIDE * 1e3) / cpuMs;
publish({
  bench: 'tile-images',
  command: `./run bench tile-images --rounds ${rounds}`,
  about: `PNG tiles of 256 x 256 pixels, ${ROWS.toLocaleString('en')} SYNTHETIC building polygons in a GeoPackage: the ${SIDE} x ${SIDE} tiles of a square at four zooms, made one by one (1 x 1) and by metatiles; reading, drawing by Mapnik, cutting and encoding; no cache. CPU of the process that reads and of the engine, both on one core. The wait is that of who asks for one tile and gets its metatile.`,
  figures: ZOOMS.flatMap((zoom) =>
    BLOCKS.map((side) => ({
      name: `zoom ${zoom}, ${side} x ${side}`,
      rounds: {
        'tiles/CPU s': of(zoom, side).map(perCpuSecond),
        'wait ms': of(zoom, side).map(({ firstMs }) => firstMs),
        'bytes/tile': of(zoom, side).map(({ bytes, tiles }) => bytes / Math.max(1, tiles)),
      },
    })),
  ),
  ratios: ZOOMS.map((zoom) => ({
    what: `tiles per CPU second at zoom ${zoom}, metatiles of 4 x 4 / single tiles`,
    rounds: of(zoom, 4).map((sample, i) => perCpuSecond(sample) / perCpuSecond(of(zoom, 1)[i]!)),
    goal: 3,
  })),
});
