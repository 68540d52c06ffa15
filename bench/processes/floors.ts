import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { FeatureProcess } from '../../src/core/processes/feature-processes.js';
import type { RasterProcess } from '../../src/core/rasters/raster-processes.js';
import { processGeometries } from '../../src/native/processing.js';
import { SQLITE_SETTINGS } from '../../src/workers/exchange/ogr/translation.js';
import { type Dataset, gdal } from '../../src/workers/gdal/gdal.js';
import { processRaster } from '../../src/workers/processes/rasters/process.js';
import { reader } from '../../src/workers/providers/geopackage/connection.js';
import { cogArguments } from '../../src/workers/rasters/cog/cog-process.js';
import { closeIdleRasters } from '../../src/workers/rasters/handles.js';
import { type BuildingCrs, buildings } from '../support/buildings.js';
import { option, publishPart } from '../support/report.js';
import { Costs, costOf } from './costs.js';
import { execute } from './features.js';

/** Processes, reading and writing included, beside the same calls of GEOS or GDAL on what is in memory. */

const CRS: BuildingCrs = 3857;
const BATCH = 1024;
const MOST = 1.25;

interface Contest {
  name: string;
  ours(): Promise<unknown>;
  floor(): unknown;
  /** The same by GDAL's utility from file to file. */
  utility?(): Promise<void>;
}

type Mapping = Extract<FeatureProcess, { kind: 'map' }>['operation'];

function featureContests(folder: string, count: number): Contest[] {
  const source = buildings(count, CRS);
  const blobs = reader(source.path)
    .prepare(`SELECT ${source.geometryColumn} FROM "${source.table}"`)
    .pluck()
    .all() as Uint8Array[];
  const planes = { crs: source.crs, target: source.crs, srsId: CRS };
  const contest = (name: string, operation: Mapping): Contest => ({
    name,
    ours: () => execute({ kind: 'map', operation }, source, join(folder, 'result.gpkg')),
    floor() {
      for (let i = 0; i < blobs.length; i += BATCH)
        processGeometries(blobs.slice(i, i + BATCH), operation, planes);
    },
  });
  return [
    contest('buffer by 5 m', { name: 'buffer', distance: 5 }),
    contest('simplify by 1 m', { name: 'simplify-topology', distance: 1 }),
  ];
}

/** Hills of whole metres in pixels of 10 m. */
function fillHills(dataset: Dataset, side: number): void {
  dataset.geoTransform = [0, 10, 0, side * 10, 0, -10];
  dataset.srs = gdal.SpatialReference.fromEPSG(CRS);
  const row = new Float32Array(side);
  for (let y = 0; y < side; y++) {
    for (let x = 0; x < side; x++)
      row[x] = 500 + 300 * Math.sin(x / 90) * Math.cos(y / 70) + ((x * y) % 7) / 10;
    dataset.bands.get(1).pixels.write(0, y, side, 1, row);
  }
}

function rasterContests(folder: string, side: number): Contest[] {
  gdal.config.set('GDAL_PAM_ENABLED', 'NO');
  for (const [name, value] of SQLITE_SETTINGS) gdal.config.set(name, value);
  const path = join(folder, 'raster.tif');
  const file = gdal.open(path, 'w', 'GTiff', side, side, 1, 'Float32', ['TILED=YES', 'COMPRESS=DEFLATE']);
  fillHills(file, side);
  file.close();
  const memory = gdal.open('', 'w', 'MEM', side, side, 1, 'Float32');
  fillHills(memory, side);
  const ours = async (process: RasterProcess) => {
    const output = join(folder, `result.${process.kind === 'contour' ? 'gpkg' : 'tif'}`);
    const task = { process, sources: [{ kind: 'file', path } as const], band: 1, output, maxBytes: Infinity };
    await processRaster(task, `${output}.part`, () => {});
    rmSync(output);
  };
  return [
    {
      name: 'hillshade',
      ours: () => ours({ kind: 'terrain', mode: 'hillshade', options: [] }),
      async floor() {
        (await gdal.demAsync('', memory, 'hillshade', ['-of', 'MEM', '-compute_edges'])).close();
      },
      async utility() {
        const [source, target] = [gdal.open(path), join(folder, 'utility.tif')];
        (
          await gdal.demAsync(target, source, 'hillshade', [...cogArguments('AVERAGE'), '-compute_edges'])
        ).close();
        source.close();
        rmSync(target);
      },
    },
    {
      name: 'contour every 20 m',
      ours: () => ours({ kind: 'contour', interval: 20, base: 0 }),
      async floor() {
        const target = gdal.drivers.get('Memory').create('', 0, 0, 0, gdal.GDT_Byte);
        const layer = target.layers.create('lines', memory.srs, gdal.wkbLineString);
        layer.fields.add(new gdal.FieldDefn('elevation', gdal.OFTReal));
        await gdal.contourGenerateAsync({
          ...{ src: memory.bands.get(1), dst: layer, interval: 20, offset: 0, elevField: 0 },
        });
        target.close();
      },
    },
  ];
}

export async function measureFloors(): Promise<void> {
  const [rounds, features, side] = [option('rounds', 3), option('features', 100_000), option('side', 3000)];
  const folder = mkdtempSync(join(tmpdir(), 'graticule-bench-'));
  const costs = new Costs();
  try {
    const contests = [...featureContests(folder, features), ...rasterContests(folder, side)];
    for (let round = 0; round <= rounds; round++) {
      for (const { name, ours, floor, utility } of contests) {
        const least = await costOf(floor);
        const own = await costOf(ours);
        const other = utility && (await costOf(utility));
        // The first round warms up.
        if (round === 0) continue;
        costs.note(`${name}, in memory`, least);
        costs.note(`${name}, process`, own);
        costs.compare(`${name}: process / in memory, CPU`, own.cpu / least.cpu, { most: MOST });
        if (!other) continue;
        costs.note(`${name}, GDAL from file to file`, other);
        costs.compare(`${name}: process / GDAL from file to file, CPU`, own.cpu / other.cpu);
      }
    }
  } finally {
    closeIdleRasters();
    rmSync(folder, { recursive: true, force: true });
  }
  publishPart('floors', {
    bench: 'processes',
    command: './run bench processes --part floors',
    about: `${features.toLocaleString('en')} buildings of 21 positions in the mean in a GeoPackage, and a raster of ${side} by ${side} heights as 32 bit floats, tiled and deflated, SYNTHETIC. A process reads the file, computes and writes a file (a GeoPackage with all attributes, or a cloud optimized GeoTIFF), in one process. In memory are the same calls of GEOS, by our addon, on geometries that are there, a thousand at a time, results thrown away; and of GDAL ${gdal.version} on and into rasters and layers in memory.`,
    figures: costs.figures,
    ratios: costs.ratios,
  });
}
