import { ApiError } from '../../../core/errors/errors.js';
import type { JobRow } from '../../../stores/jobs/jobs.js';
import type { RegisteredRaster } from '../../../stores/rasters/rasters.js';
import type { JobEngine, SubmitOptions } from '../../jobs/engine.js';
import type { JobContext } from '../../jobs/kinds.js';
import { formatObjectPlace, type ObjectPlace } from '../../storage/places.js';
import { findObject, type GridDeps, type GridScan, NOT_READ, scanGrid } from './grid-scan.js';
import type { RegisteredRasters, Registrant } from './registered-rasters.js';

export type MultidimFormat = 'CloudOptimizedHdf5' | 'NetCdf4' | 'Grib';

/** Endings of the files of a format. */
export const EXTENSIONS: Readonly<Record<MultidimFormat, readonly string[]>> = {
  CloudOptimizedHdf5: ['.h5', '.hdf5', '.he5', '.hdf'],
  NetCdf4: ['.nc', '.nc4', '.cdf'],
  Grib: ['.grib', '.grib2', '.grb', '.grb2'],
};

/** Stored facts about the registration and the scan of a coverage. */
interface MultidimAbout extends ObjectPlace {
  format: MultidimFormat;
  /** Requested variables. Empty: all variables of the first grid. */
  wanted: string[];
  variables: string[];
  variableCount: number;
}

export interface NewMultidim extends Omit<MultidimAbout, 'variables' | 'variableCount'> {
  layerId: number;
  name: string;
  description: string | null;
  createLayer: boolean;
}

type ScanSource = ObjectPlace & Pick<MultidimAbout, 'format' | 'wanted'>;

export type MultidimCoverage = RegisteredRaster<MultidimAbout>;

const KIND = 'multidim-scan';
/** Warnings of one scan that are kept. */
const MAX_WARNINGS = 20;

/** netCDF, HDF5 and GRIB files with more axes than x and y. */
export class MultidimCoverages {
  constructor(
    readonly registered: RegisteredRasters,
    private readonly deps: GridDeps & { jobs: JobEngine },
  ) {
    deps.jobs.register({
      kind: KIND,
      title: 'Scan a multidimensional coverage',
      console: 'ExtractTransformLoad',
      operationType: 1,
      resumable: true,
      isLong: true,
      ofFolder: true,
      run: (context: JobContext<{ id: number }>) => this.#rescan(context),
    });
  }

  list(layerId: number): Promise<MultidimCoverage[]> {
    return this.registered.list<MultidimAbout>('multidim', layerId);
  }

  /** Throws `not-found`. */
  get(id: number): Promise<MultidimCoverage> {
    return this.registered.get<MultidimAbout>('multidim', id);
  }

  /**
   * Registers a multidimensional file. Throws `not-found` for the layer, `conflict`, and `invalid-request` for an
   * unreadable or unsuitable file.
   */
  async register(
    { layerId, name, description, createLayer, ...object }: NewMultidim,
    { right, by }: Registrant,
  ): Promise<MultidimCoverage> {
    const dataKey = formatObjectPlace(object);
    await this.registered.requireLayer(layerId, createLayer);
    await this.registered.refuseTwice('multidim', layerId, dataKey);
    const { read, sources } = await this.#readNew(object, { right, layerId });
    const { parts, variables, variableCount } = read;
    const [raster] = parts;
    this.registered.requireFit(layerId, raster);
    const registration: MultidimAbout = { ...object, variables, variableCount };
    const acquired = raster?.acquired ?? null;
    const row = { layerId, name, description, dataKey, registration, grids: parts, acquired };
    return this.registered.add<MultidimAbout>({ kind: 'multidim', ...row }, { sources, by });
  }

  /** Starts a job that reads its metadata again. Throws `not-found`. */
  async refresh(id: number, options: SubmitOptions): Promise<JobRow> {
    await this.get(id);
    const { job } = await this.deps.jobs.submit(KIND, { id }, { resources: [`multidim:${id}`], ...options });
    return job;
  }

  /** Throws `not-found`, also for a job of another kind. */
  async job(jobId: string): Promise<JobRow> {
    const job = await this.deps.jobs.get(jobId);
    if (job.kind !== KIND)
      throw new ApiError('not-found', `jobId: there is no scan job '${jobId.slice(0, 100)}'.`);
    return job;
  }

  /** Throws `not-found`. */
  remove(id: number): Promise<void> {
    return this.registered.remove('multidim', id);
  }

  async #readNew(object: ScanSource, layer: Pick<Registrant, 'right'> & { layerId: number }) {
    if (object.format === 'Grib') return { read: NOT_READ, sources: [] };
    return this.registered.readNew(object, layer, {
      find: () => findObject(object, this.deps),
      read: (path) => scanGrid(path, object.wanted, this.deps),
    });
  }

  async #scan({ format, wanted, ...object }: ScanSource): Promise<GridScan> {
    if (format === 'Grib') return NOT_READ;
    return scanGrid((await findObject(object, this.deps)).path, wanted, this.deps);
  }

  async #rescan(context: JobContext<{ id: number }>): Promise<{ id: number }> {
    const { input } = context;
    const { registration, layerId } = await this.get(input.id);
    const scan = () => this.#scan(registration);
    const contents = await context.step('scan', 'Reading its variables and axes', scan);
    const { parts, variables, variableCount, problems } = contents;
    for (const problem of problems.slice(0, MAX_WARNINGS)) await context.warn(problem);
    this.registered.requireFit(layerId, parts[0]);
    const now = { ...registration, variables, variableCount };
    await this.registered.change('multidim', input.id, {
      registration: now,
      grids: parts,
      scannedAt: Date.now(),
    });
    return { id: input.id };
  }
}
