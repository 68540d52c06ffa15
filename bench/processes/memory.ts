import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { FeatureProcess } from '../../src/core/processes/feature-processes.js';
import type { GeoPackageSource } from '../../src/core/sources/vector-source.js';
import type { ProcessPool } from '../../src/workers/pools/process/pool.js';
import { squares } from '../support/polygons.js';
import { type Figure, option, publishPart, type Ratio, textOption } from '../support/report.js';

/** The most memory that the process of a job has, as its log says, by the number of features. */

const GROUPS = 1000;
const MIB = 2 ** 20;
/** As `processes.memory` has it. */
const MAX_BYTES = 4 * 2 ** 30;
/** Of 5 million features and of 100,000. */
const MAX_GROWTH = 1.5;

const CASES: Record<string, FeatureProcess> = {
  buffer: { kind: 'map', operation: { name: 'buffer', distance: 5 } },
  dissolve: { kind: 'dissolve', by: ['squares_group'], statistics: [] },
  join: {
    ...{ kind: 'join', predicate: 'intersects', mode: 'count', countName: 'count', statistics: [] },
    innerOnly: false,
  },
};

async function newPool(): Promise<ProcessPool> {
  // The pool starts files that are beside it.
  const url = pathToFileURL(resolve('dist/workers/pools/process/pool.js')).href;
  const { ProcessPool: Pool } = (await import(
    url
  )) as typeof import('../../src/workers/pools/process/pool.js');
  return new Pool({ size: 1, maxBytes: MAX_BYTES });
}

async function peakOf(process: FeatureProcess, source: GeoPackageSource, output: string) {
  const pool = await newPool();
  const fields = source.fields.map(({ name }) => name);
  const input = { source, filter: undefined, fields };
  // The pool's processes do not keep this one from its end.
  const awake = setInterval(() => {}, 1000);
  let bytes = 0;
  const begin = performance.now();
  try {
    const overlay = process.kind === 'join' ? { overlay: input } : {};
    const onUsage = ({ memoryBytes }: { memoryBytes: number }) => {
      bytes = Math.max(bytes, memoryBytes);
    };
    const { features } = await pool.run(
      'process.features',
      { process, input, output, ...overlay },
      { onUsage },
    );
    if (features === 0) throw new Error('nothing was made');
    return { mib: bytes / MIB, seconds: (performance.now() - begin) / 1e3 };
  } finally {
    await pool.close();
    clearInterval(awake);
    rmSync(output, { force: true });
  }
}

export async function measureMemory(): Promise<void> {
  const only = textOption('case');
  const most = option('features', 5_000_000);
  const counts = [100_000, 1_000_000, 5_000_000].filter((count) => count <= most);
  const folder = mkdtempSync(join(tmpdir(), 'graticule-bench-'));
  const figures: Figure[] = [];
  const ratios: Ratio[] = [];
  try {
    for (const [name, process] of Object.entries(CASES)) {
      if (only !== undefined && only !== name) continue;
      const peaks: number[] = [];
      for (const count of counts) {
        const { mib, seconds } = await peakOf(process, squares(count, GROUPS), join(folder, 'result.gpkg'));
        peaks.push(mib);
        figures.push({
          name: `${name} of ${count.toLocaleString('en')}`,
          rounds: { 'peak MiB': [mib], 'wall s': [seconds] },
        });
        console.error(figures.at(-1));
      }
      const what = `${name}: peak of ${counts.at(-1)!.toLocaleString('en')} features / of 100,000`;
      ratios.push({ what, rounds: [peaks.at(-1)! / peaks[0]!], most: MAX_GROWTH });
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  publishPart(only === undefined ? 'memory' : `memory, ${only}`, {
    bench: 'processes',
    command: `./run bench processes --part memory${only === undefined ? '' : ` --case ${only}`} --features ${most}`,
    about: `Squares side by side with two attributes, SYNTHETIC, in a GeoPackage without an index: buffers; unions by ${GROUPS.toLocaleString('en')} groups of neighbours; how many squares of the layer each of them meets. The peak is that of the resident memory of the process that does the job, as the log of the job has it.`,
    figures,
    ratios,
  });
}
