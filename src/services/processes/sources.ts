import { extname, join } from 'node:path';
import { plainFields } from '../../core/access/field-masks.js';
import { hasCoverage, hasFeatures, isDrawable } from '../../core/catalog/abilities.js';
import {
  type CatalogSnapshot,
  type Collection,
  measureRules,
  type RasterCollection,
  readable,
  type VectorCollection,
} from '../../core/catalog/collection.js';
import { listMosaicMembers, ofMembers } from '../../core/catalog/raster-sources.js';
import { unreadNamed } from '../../core/catalog/unread.js';
import { and, type Expression } from '../../core/cql2/index.js';
import { ApiError, badParameter, notFound } from '../../core/errors/errors.js';
import { TaskFailure } from '../../core/errors/failure.js';
import { defaultCrs } from '../../core/geometry/crs.js';
import type { Principal } from '../../core/http/operation.js';
import { LIMITS } from '../../core/kit/limits.js';
import type { ProcessFeatures } from '../../core/processes/feature-processes.js';
import { PROCESS_LIMITS } from '../../core/processes/limits.js';
import type { RasterSource } from '../../core/rasters/rasters.js';
import type { Field, VectorSource } from '../../core/sources/vector-source.js';
import type { Pools } from '../../core/tasks/tasks.js';
import { describeCrs } from '../../native/index.js';
import { vectorCollection } from '../catalog/publish/collections.js';
import { isZipped } from '../catalog/publish/formats.js';
import { IMPORT_FORMATS } from '../exchange/import-formats.js';
import { featureSizes } from '../features/feature-sizes.js';
import { checkFilter, parseFilter } from '../filters/filters.js';
import { checkContainer } from '../tiles/jobs/describe.js';
import { type TileWork, tileWork } from '../tiles/jobs/work.js';
import type { ArchiveSelection, FeaturesFacts, RasterFacts } from './definition.js';
import type { CollectionReference, SourceReference } from './source-input.js';

/** Features that a process reads, with the facts for its plan. */
export interface FeaturesSource {
  readonly features: ProcessFeatures;
  readonly facts: FeaturesFacts;
  /** Number of features, if known. */
  readonly count: number | undefined;
  /** Sentences on values that were read in another form. */
  readonly notes?: readonly string[];
}

/** A GeoPackage with features, and notes about values in another form. */
interface StagedFile {
  readonly path: string;
  readonly notes: readonly string[];
}

/** Maximum number of features, and their bytes as GeoJSON. */
export interface Size {
  readonly features: number;
  readonly bytes: number;
}

/** A raster that a process reads, and what its plan must know of it. */
export interface RasterInput {
  readonly source: RasterSource;
  readonly crs: string;
  readonly facts: RasterFacts;
}

export interface SourcesDeps {
  pools: Pools;
  /** The catalog as a principal may read it. */
  visible(principal: Principal): CatalogSnapshot;
  /** The file of an output of a job that this principal may read. */
  resultFile(jobId: string, output: string, principal: Principal): Promise<string>;
}

/** Collections that maps can draw. */
export type Drawable = VectorCollection | RasterCollection;

/** The one raster of a collection that a reference names. Throws 400 for one that is not among them. */
function requireSingle(
  { raster: { source }, rasterIds = [] }: RasterCollection,
  { raster }: CollectionReference,
): RasterSource {
  const members = listMosaicMembers(source);
  const member = members?.find(({ id }) => id === String(raster));
  if (!rasterIds.includes(raster!) || (members && !member))
    throw badParameter('raster', `there is no raster ${raster} in the collection`);
  return member ? ofMembers(source, [member]) : source;
}

/** Finds out where features and rasters come from. */
export class ProcessSources {
  constructor(private readonly deps: SourcesDeps) {}

  /** A collection as a principal may read it. Throws what is wrong with the reference. */
  collection(name: string, reference: CollectionReference, principal: Principal): FeaturesSource {
    const collection = this.#named(reference, principal);
    if (!hasFeatures(collection)) throw this.#missing(name, reference, principal, 'features');
    const { source, filter: rows } = readable(collection);
    const own = getFilter(name, reference, collection);
    const filter = and(rows, own);
    const count = filter === undefined ? collection.featureCount : undefined;
    return readSource({ source, filter }, collection.source, count);
  }

  /** Size of the features of a collection that match the filter. Undefined if it could not be measured. */
  async size(
    name: string,
    reference: CollectionReference,
    principal: Principal,
    signal: AbortSignal,
  ): Promise<Size | undefined> {
    const { pools } = this.deps;
    const { features, count } = this.collection(name, reference, principal);
    // An estimate is an extra that no job fails for.
    const number =
      count ??
      (await pools
        .run('vector.count', features, { signal, deadlineMs: PROCESS_LIMITS.estimateMs })
        .catch(() => {
          signal.throwIfAborted();
          return undefined;
        }));
    if (number === undefined) return undefined;
    if (number === 0) return { features: 0, bytes: 0 };
    const sizes = await featureSizes(pools, this.#named(reference, principal) as VectorCollection);
    return sizes && { features: number, bytes: Math.round(number * sizes.geojson) };
  }

  /** A raster as a principal may read it. Throws what is wrong with the reference. */
  coverage(name: string, reference: CollectionReference, principal: Principal): RasterInput {
    const collection = this.#named(reference, principal);
    if (!hasCoverage(collection)) throw this.#missing(name, reference, principal, 'rasters');
    const { crs } = collection.raster;
    const source =
      reference.raster === undefined ? collection.raster.source : requireSingle(collection, reference);
    return { source, crs, facts: { crs: crsFacts(crs) } };
  }

  /** A collection, or the raster that another job has made. */
  async raster(
    name: string,
    reference: SourceReference,
    principal: Principal,
    signal: AbortSignal,
  ): Promise<RasterInput> {
    if (reference.kind === 'collection') return this.coverage(name, reference, principal);
    if (reference.kind === 'remote' || reference.kind === 'step')
      throw new TaskFailure('invalid-input', `inputs.${name}: is not a raster.`);
    const path =
      reference.kind === 'result'
        ? await this.deps.resultFile(reference.jobId, reference.output, principal)
        : reference.path;
    const source: RasterSource = { kind: 'file', path };
    const { crs } = await this.deps.pools.run('raster.inspect', { source }, { signal });
    return { source, crs, facts: { crs: crsFacts(crs) } };
  }

  /** A collection by its number or its id, as the caller sees it. */
  find(id: string, principal: Principal): Collection | undefined {
    return this.#named({ id }, principal);
  }

  /** Waits until the extents of collections are known that the caller sees only a part of. */
  async measure(ids: readonly string[], principal: Principal): Promise<void> {
    await measureRules(ids.map((id) => this.find(id, principal)));
  }

  /** A collection that maps draw, by its id. Throws 400 naming the input. */
  drawable(at: string, id: string, principal: Principal): Drawable {
    const collection = this.#named({ id }, principal);
    if (isDrawable(collection)) return collection;
    throw badParameter(at, `'${id.slice(0, 100)}' is not a collection that maps can draw`);
  }

  /** The tiles of an archive. Throws 400 for unknown or incompatible parameters, and 413 for too many tiles. */
  tiles({ container, ...selection }: ArchiveSelection, principal: Principal): TileWork {
    const work = tileWork(selection, this.deps.visible(principal));
    checkContainer(container, work);
    if (work.total <= PROCESS_LIMITS.processTiles) return work;
    const message = `The archive would have ${work.total} tiles. The limit is ${PROCESS_LIMITS.processTiles}. Use a smaller maxZoom or bbox.`;
    throw new ApiError('payload-too-large', message);
  }

  /** Features to draw, wherever they come from. */
  async layer(
    name: string,
    reference: SourceReference,
    principal: Principal,
    folder: string,
    signal: AbortSignal,
  ): Promise<{ collection: Drawable; filter?: Expression }> {
    if (reference.kind === 'collection') {
      const { features } = this.collection(name, reference, principal);
      const collection = this.drawable(`/inputs/${name}`, reference.id, principal);
      return { collection, filter: features.filter };
    }
    const { path } = await this.#file(reference, principal, join(folder, `input-${name}`), signal);
    const [layer] = await this.deps.pools.run('vector.inspect', { kind: 'geopackage', path }, { signal });
    if (!layer) throw notFound('result', path);
    const versions = { version: path, origin: path };
    return { collection: vectorCollection(layer, path, versions)(name, 0) as Drawable };
  }

  /** Wherever they come from; GeoJSON becomes a table in `folder`. */
  async resolve(
    name: string,
    reference: SourceReference,
    principal: Principal,
    folder: string,
    signal: AbortSignal,
  ): Promise<FeaturesSource> {
    if (reference.kind === 'collection') return this.collection(name, reference, principal);
    const { path, notes } = await this.#file(reference, principal, join(folder, `input-${name}`), signal);
    return { ...(await this.table(path, signal)), notes };
  }

  /** The table of a GeoPackage that a process has made. */
  async table(path: string, signal: AbortSignal): Promise<FeaturesSource> {
    const [layer] = await this.deps.pools.run('vector.inspect', { kind: 'geopackage', path }, { signal });
    if (!layer) throw notFound('result', path);
    return readSource({ source: layer.source, filter: undefined }, layer.source, layer.featureCount);
  }

  /** A collection by its number or id. An id can also be numeric. */
  #named({ id }: Pick<CollectionReference, 'id'>, principal: Principal): Collection | undefined {
    const catalog = this.deps.visible(principal);
    return (/^\d{1,10}$/.test(id) ? catalog.byLayerId(Number(id)) : undefined) ?? catalog.byId(id);
  }

  #missing(name: string, reference: CollectionReference, principal: Principal, what: string): ApiError {
    return unreadNamed(this.deps.visible(principal), reference.id) ?? noCollection(name, reference, what);
  }

  /** A GeoPackage with the features. */
  async #file(
    reference: Exclude<SourceReference, CollectionReference>,
    principal: Principal,
    stem: string,
    signal: AbortSignal,
  ): Promise<StagedFile> {
    const { pools, resultFile } = this.deps;
    if (reference.kind === 'result')
      return { path: await resultFile(reference.jobId, reference.output, principal), notes: [] };
    if (reference.kind === 'spool') return { path: reference.path, notes: [] };
    const output = `${stem}.gpkg`;
    if (reference.kind === 'file' && !reference.isFeatureSet) {
      const { notes } = await pools.run('process.stage', { path: reference.path, output }, { signal });
      return { path: output, notes };
    }
    if (reference.kind === 'file')
      return this.#translate(reference.path, output, 'The features that were sent', signal);
    if (reference.kind === 'remote') return this.#fetch(reference.url, stem, output, signal);
    throw new Error(`the step ${reference.step} was not bound to its results`);
  }

  /** Downloads features. Only hosts that are permitted for remote data receive requests. */
  async #fetch(url: string, stem: string, output: string, signal: AbortSignal): Promise<StagedFile> {
    const { pools } = this.deps;
    const extension = extname(new URL(url).pathname).toLowerCase();
    // If the name does not identify the format, the file is read as GeoJSON.
    const isPlain = Object.hasOwn(IMPORT_FORMATS, extension) && !isZipped(extension);
    // The name differs from the output file, which can have the same extension.
    const path = `${stem}-sent${isPlain ? extension : '.geojson'}`;
    const bounds = { maxBytes: PROCESS_LIMITS.processFileBytes, timeoutMs: LIMITS.downloadMs };
    await pools.run('ingest.download', { url, path, ...bounds }, { signal });
    return this.#translate(path, output, `The file at ${url}`, signal);
  }

  /** Converts a file of any importable format into a table. */
  async #translate(path: string, output: string, what: string, signal: AbortSignal): Promise<StagedFile> {
    const task = {
      path,
      output,
      table: REMOTE_TABLE,
      isUnpacked: false,
      limitMs: LIMITS.importReadMs,
    };
    const stage = await this.deps.pools.run('ogr.stage', task, { signal });
    if ('problem' in stage)
      throw new TaskFailure('invalid-input', `${what}: there are no features that can be read.`);
    return { path: output, notes: stage.notes ?? [] };
  }
}

function noCollection(name: string, { id }: CollectionReference, what: string): ApiError {
  return badParameter(`/inputs/${name}/collection`, `'${id.slice(0, 100)}' is not a collection of ${what}`);
}

const REMOTE_TABLE = 'remote';

/**
 * Features and facts of a source. `shown` is the source as described to the caller. Masked values are read in masked
 * form. Plans see only the unmasked fields, because conditions and calculations would reveal the stored values.
 */
function readSource(
  query: Pick<ProcessFeatures, 'source' | 'filter'>,
  shown: VectorSource,
  count: number | undefined,
): FeaturesSource {
  const read = (fields: readonly Field[]) => fields.map(({ name }) => name);
  const plain = plainFields(shown.fields);
  return {
    features: { ...query, fields: read(shown.fields) },
    facts: {
      source: { ...shown, fields: [...plain] },
      fields: read(plain),
      crs: crsFacts(shown.crs),
    },
    count,
  };
}

/** Coordinates without a place on Earth are metres of a plane. */
export function crsFacts(crs: string): FeaturesFacts['crs'] {
  try {
    const { isGeographic, metresPerUnit } = describeCrs(crs);
    return { isGeographic, metresPerUnit };
  } catch {
    return { isGeographic: false, metresPerUnit: 1 };
  }
}

function getFilter(
  name: string,
  { filter, filterLang: language }: CollectionReference,
  collection: VectorCollection,
) {
  if (filter === undefined) return undefined;
  const at = `/inputs/${name}/filter`;
  const { source } = collection;
  const schema = { ...source, fields: [...plainFields(source.fields)], filterCrs: defaultCrs(collection) };
  return checkFilter(at, parseFilter(at, { text: filter, language }), schema);
}
