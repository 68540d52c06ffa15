import type { FeatureProcess } from '../../core/processes/feature-processes.js';
import { PROCESSES } from './catalogue/index.js';
import type { FeaturesFacts, ProcessWork } from './definition.js';
import type { PlanStep } from './plan.js';
import { createFactsLookup, factsAfter } from './plan-facts.js';
import type { CollectionReference, SourceReference } from './source-input.js';
import type { Size } from './sources.js';

/** Maximum input and output of a step. Undefined if they are unknown before it runs. */
export interface StepEstimate {
  readonly stepId: string;
  readonly reads: Size | undefined;
  readonly makes: Size | undefined;
}

export interface CollectionSizes {
  facts(name: string, reference: CollectionReference): FeaturesFacts;
  size(name: string, reference: CollectionReference): Promise<Size | undefined>;
}

type Step = PlanStep<SourceReference>;
type FeaturesWork = Extract<ProcessWork, { kind: 'features' }>;

/** Estimates of the steps, in an order in which each follows the steps that it reads. */
export async function estimatePlan(
  steps: readonly Step[],
  collections: CollectionSizes,
): Promise<StepEstimate[]> {
  const facts = new Map<string, FeaturesFacts | undefined>();
  const sizes = new Map<string, Size | undefined>();
  const estimates: StepEstimate[] = [];
  for (const step of steps) {
    const { work } = PROCESSES.get(step.process)!;
    if (work.kind !== 'features') continue;
    const factsOf = createFactsLookup(step.sources, facts, collections.facts);
    const [input, overlay] = [factsOf(work.input), factsOf(work.overlay)];
    const [reads, others] = [
      await findSize(step, work.input, sizes, collections),
      await findSize(step, work.overlay, sizes, collections),
    ];
    facts.set(step.stepId, factsAfter(work, step.values, input, overlay));
    sizes.set(step.stepId, sizeAfter(work, step, { input, overlay }, { reads, others }));
    estimates.push({ stepId: step.stepId, reads: sum(reads, work, others), makes: sizes.get(step.stepId) });
  }
  return estimates;
}

async function findSize(
  { sources }: Step,
  name: string | undefined,
  sizes: ReadonlyMap<string, Size | undefined>,
  collections: CollectionSizes,
): Promise<Size | undefined> {
  const reference = name === undefined ? undefined : sources[name];
  if (reference?.kind === 'step') return sizes.get(reference.step);
  return reference?.kind === 'collection' ? collections.size(name!, reference) : undefined;
}

function sum(reads: Size | undefined, { overlay }: FeaturesWork, others: Size | undefined): Size | undefined {
  if (overlay === undefined || !reads) return reads;
  return others && { features: reads.features + others.features, bytes: reads.bytes + others.bytes };
}

function sizeAfter(
  work: FeaturesWork,
  { values }: Step,
  { input, overlay }: Record<'input' | 'overlay', FeaturesFacts | undefined>,
  { reads, others }: Record<'reads' | 'others', Size | undefined>,
): Size | undefined {
  if (!input || !reads) return undefined;
  const { process } = work.plan(values, input, overlay);
  const features = mostFeatures(process, reads.features, others?.features);
  if (features === undefined) return undefined;
  const perFeature = bytesEach(reads) + (hasBoth(process) && others ? bytesEach(others) : 0);
  return { features, bytes: Math.round(features * perFeature) };
}

const bytesEach = ({ features, bytes }: Size) => (features === 0 ? 0 : bytes / features);

/** Whether results have the attributes of both sides. */
const hasBoth = ({ kind }: FeatureProcess) => kind === 'intersect' || kind === 'join' || kind === 'nearest';

/** Maximum number of features that a process outputs for these numbers of features and overlay features. */
function mostFeatures(
  process: FeatureProcess,
  count: number,
  others: number | undefined,
): number | undefined {
  switch (process.kind) {
    case 'map':
    case 'dissolve':
      return process.parts ? undefined : count;
    case 'measure':
    case 'calculate':
    case 'summarize':
    case 'deduplicate':
    case 'h3':
    case 'clusters':
    case 'hot-spots':
    case 'snap':
    case 'clip':
    case 'subtract':
      return count;
    case 'nearest':
      return count * process.count;
    case 'join':
      if (process.mode !== 'each') return count;
      return others === undefined ? undefined : count * Math.max(others, process.innerOnly ? 0 : 1);
    case 'intersect':
    case 'distances':
      return others === undefined ? undefined : count * others;
    default:
      return undefined;
  }
}
