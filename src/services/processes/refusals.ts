import { ApiError, badParameter } from '../../core/errors/errors.js';
import type { Principal } from '../../core/http/operation.js';
import { permits } from '../access/permissions.js';
import type { ImportService } from '../exchange/import.js';
import type { Storage } from '../storage/storage.js';
import { PROCESSES } from './catalogue/index.js';
import type { FeaturesFacts, FileImport, InputValues, ProcessDefinition, ProcessWork } from './definition.js';
import type { Execution } from './execution.js';
import { errorWithin, orderSteps, type PlanStep } from './plan.js';
import { createFactsLookup, factsAfter } from './plan-facts.js';
import type { CollectionReference, SourceValue } from './source-input.js';
import type { ProcessSources } from './sources.js';

export interface RefusalsDeps {
  sources: ProcessSources;
  imports: Pick<ImportService, 'refuse'>;
  storage: Pick<Storage, 'publishes'>;
  /** Rejects if a job has no such output, or not for this principal. */
  result(jobId: string, output: string, principal: Principal): Promise<unknown>;
}

/** One process with its inputs: an execution, or a step of one. */
type Call = Pick<Execution, 'values'> & { sources: PlanStep<SourceValue>['sources'] };

/** Refuses executions that would fail. */
export class Refusals {
  readonly #deps: RefusalsDeps;

  constructor(deps: RefusalsDeps) {
    this.#deps = deps;
  }

  /** Throws errors with which the job would fail immediately: missing collections and jobs, unsuitable fields. */
  async check(process: ProcessDefinition, execution: Execution, principal: Principal): Promise<void> {
    if (execution.plan) await this.#refusePlan(execution.plan, principal);
    await this.#refuseCall(process, execution, principal);
    const names = new Set<string>();
    for (const [output, { publish }] of Object.entries(execution.outputs)) {
      if (!publish) continue;
      if (names.has(publish.collection))
        throw badParameter(
          `/outputs/${output}/publish/collection`,
          'is also the name of another output. Use each name once',
        );
      names.add(publish.collection);
      this.#refuseCollection({ table: publish.collection }, principal);
      this.#refuseArchive(output, process, execution);
    }
  }

  /** Throws 400 for archives that this server cannot publish, which are only files for download. */
  #refuseArchive(output: string, { work }: ProcessDefinition, { values }: Execution): void {
    if (work.kind !== 'tiles') return;
    const { container } = work.select(values);
    if (this.#deps.storage.publishes(container)) return;
    throw badParameter(
      `/outputs/${output}/publish`,
      `is only for pmtiles on this server, but this archive is ${container}`,
    );
  }

  #refuseCollection({ table }: Pick<FileImport, 'table'>, principal: Principal): void {
    if (!permits(principal, 'admin:import:write'))
      throw new ApiError(
        'forbidden',
        'publish: the caller may not publish collections. An administrator can grant the right.',
      );
    this.#deps.imports.refuse({ table });
  }

  async #refusePlan({ steps }: NonNullable<Execution['plan']>, principal: Principal): Promise<void> {
    const facts = new Map<string, FeaturesFacts | undefined>();
    for (const step of orderSteps('/inputs/plan/steps', steps)) {
      const process = PROCESSES.get(step.process)!;
      const check = async () => {
        await this.#refuseCall(process, step, principal);
        facts.set(step.stepId, this.#factsOf(process, step, facts, principal));
      };
      await within(`/inputs/plan/steps/${steps.indexOf(step)}`, check);
    }
  }

  /** Facts about the output features of a step before it runs. Throws 400 for values that do not fit its inputs. */
  #factsOf(
    { work }: ProcessDefinition,
    { values, sources }: Call,
    facts: ReadonlyMap<string, FeaturesFacts | undefined>,
    principal: Principal,
  ): FeaturesFacts | undefined {
    if (work.kind !== 'features') return undefined;
    const factsOf = createFactsLookup(
      sources,
      facts,
      (name, reference) => this.#deps.sources.collection(name, reference, principal).facts,
    );
    return factsAfter(work, values, factsOf(work.input), factsOf(work.overlay));
  }

  async #refuseCall(
    { work, refuse }: ProcessDefinition,
    { values, sources }: Call,
    principal: Principal,
  ): Promise<void> {
    refuse?.(values);
    if (work.kind === 'tiles') await this.#deps.sources.measure(work.select(values).collections, principal);
    this.#refuseValues(work, sources, values, principal);
    for (const reference of Object.values(sources)) {
      if (reference.kind === 'result') await this.#deps.result(reference.jobId, reference.output, principal);
    }
  }

  #refuseValues(
    work: ProcessWork,
    sources: Execution['sources'],
    values: InputValues,
    principal: Principal,
  ): void {
    if (work.kind === 'import') this.#refuseCollection(work.read(values), principal);
    if (work.kind === 'tiles') this.#deps.sources.tiles(work.select(values), principal);
    const references = Object.entries(sources).flatMap(([name, one]): [string, CollectionReference][] =>
      one.kind === 'collection' ? [[name, one]] : [],
    );
    if (work.kind === 'raster') {
      for (const [name, reference] of references)
        this.#refuseRaster(work, name, reference, values, principal);
      return;
    }
    const { layers = [] } = (work.kind === 'map' ? values : {}) as { layers?: string[] };
    for (const [i, id] of layers.entries()) this.#deps.sources.drawable(`/inputs/layers/${i}`, id, principal);
    const facts = new Map(
      references.map(([name, one]) => [name, this.#deps.sources.collection(name, one, principal).facts]),
    );
    const input = work.kind === 'features' && facts.get(work.input);
    if (input) work.plan(values, input, facts.get(work.overlay ?? ''));
  }

  #refuseRaster(
    work: Extract<ProcessWork, { kind: 'raster' }>,
    name: string,
    reference: CollectionReference,
    values: InputValues,
    principal: Principal,
  ): void {
    const { features } = work;
    if (features?.input === name)
      features.plan(values, this.#deps.sources.collection(name, reference, principal).facts);
    else work.plan(values, this.#deps.sources.coverage(name, reference, principal).facts);
  }
}

/** Adds the path of a part of the inputs to the errors in that part. */
async function within<T>(at: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof ApiError ? errorWithin(at, error) : error;
  }
}
