import { type Expression, isArray, isBox, isCall, isGeometry, type Operand } from '../cql2/ast.js';
import { LIMITS } from '../kit/limits.js';
import type { VectorSource } from '../sources/vector-source.js';
import { TASK_LIMITS } from './limits.js';
import type { TaskName } from './tasks.js';

/** Members of task inputs that estimates read. */
interface CostedInput {
  readonly source?: VectorSource;
  readonly filter?: Expression;
  readonly limit?: number;
  readonly offset?: number;
  readonly sort?: readonly unknown[];
  readonly atMost?: number;
  readonly fields?: readonly unknown[];
  readonly statistics?: readonly unknown[];
  readonly width?: number;
  readonly height?: number;
  readonly size?: readonly [number, number];
  readonly maxSize?: number;
  readonly pixels?: number;
  readonly extent?: number;
  readonly right?: { readonly source: VectorSource };
  readonly queries?: readonly unknown[];
  readonly batch?: number;
  readonly items?: CostedInput;
}

/** Estimated cost of a task: the evaluations of a condition on a row, and the pixels of an image. */
export interface TaskCost {
  readonly steps: number;
  readonly pixels: number;
}

const NOTHING: TaskCost = { steps: 0, pixels: 0 };
/** Grid units of a pixel of the vector data that maps are drawn from. */
const UNITS_PER_PIXEL = 16;
/** Part of the rows that a window is taken to leave. */
const WINDOW_PART = 1 / 20;
/** Steps for a row that is projected, grouped or compared with other rows. */
const ANALYSIS_STEPS = 8;
const TEXT_STEPS = 4;
/** Steps for one address in the index of a locator: a misspelled address takes 20 to 100 ms. */
const ADDRESS_STEPS = 60_000;

const rowsOf = ({ source }: CostedInput) => source?.rows ?? 0;

/** Rows that are read, and the steps of each. */
function scan(input: CostedInput, perRow = 0): TaskCost {
  const { filter } = input;
  const part = isWindowed(filter) ? WINDOW_PART : 1;
  return { steps: rowsOf(input) * (filterSteps(filter) + perRow * part), pixels: 0 };
}

function page(input: CostedInput): TaskCost {
  const { offset = 0, sort = [] } = input;
  const skipped = Math.min(offset, rowsOf(input));
  const { steps } = scan(input, sort.length > 0 ? 1 : 0);
  return { steps: steps + skipped, pixels: 0 };
}

/** A count ends after a second, whatever it has to read. */
function timedCount(input: CostedInput): TaskCost {
  const { steps } = input.filter === undefined ? NOTHING : scan(input);
  return { steps: Math.min(steps, TASK_LIMITS.timedCountSteps), pixels: 0 };
}

const analysis = (input: CostedInput): TaskCost => {
  const { fields = [], statistics = [], right } = input;
  const steps = ANALYSIS_STEPS + fields.length + statistics.length;
  return scan(input, right ? 4 * steps : steps);
};

const image = ({ width = 0, height = 0 }: CostedInput): TaskCost => ({ steps: 0, pixels: width * height });

function coverage({ size, maxSize = 0, pixels }: CostedInput): TaskCost {
  if (pixels !== undefined) return { steps: 0, pixels };
  const [width, height] = size ?? [0, 0];
  return { steps: 0, pixels: (width || (height ? maxSize : 0)) * (height || (width ? maxSize : 0)) };
}

/** The grid of a map has as many units as its longer side needs. */
const tile = ({ extent = 0 }: CostedInput): TaskCost => ({
  steps: 0,
  pixels: (extent / UNITS_PER_PIXEL) ** 2,
});

/** The operator has chosen what is searched by words, so no address is refused for the rows of its layer. */
function search({ items = {} }: CostedInput): TaskCost {
  const { steps, pixels } = page(items);
  return { steps: Math.min(steps, LIMITS.anonymousSteps), pixels };
}

const addresses = ({ queries = [], batch = queries.length }: CostedInput): TaskCost => ({
  steps: batch * ADDRESS_STEPS,
  pixels: 0,
});

const COSTS: Partial<Record<TaskName, (input: CostedInput) => TaskCost>> = {
  'vector.items': page,
  'vector.count': (input) => (input.filter === undefined ? NOTHING : scan(input)),
  'vector.timedCount': timedCount,
  'vector.losses': (input) => scan(input, 1),
  'vector.extent': (input) => (input.filter === undefined ? NOTHING : scan(input, 1)),
  'vector.groups': analysis,
  'vector.groupCount': analysis,
  'vector.classBreaks': analysis,
  'vector.bins': analysis,
  'vector.top': analysis,
  'vector.h3': analysis,
  'vector.clusters': analysis,
  'vector.spatialJoin': analysis,
  'vector.bufferAggregate': analysis,
  'vector.density': analysis,
  'vector.statistics': analysis,
  'vector.tile': tile,
  'vector.geocode': addresses,
  'vector.geocodeFeatures': search,
  'map.render': image,
  'raster.image': image,
  'raster.coverage': coverage,
};

/** Estimates the cost of a task from its input only. */
export function estimateCost(name: TaskName, input: unknown): TaskCost {
  return COSTS[name]?.(input as CostedInput) ?? NOTHING;
}

/** Whether a task is estimated to keep a thread for a quarter of a second or more, or to take much memory. */
export function isHeavy({ steps, pixels }: TaskCost): boolean {
  return steps > TASK_LIMITS.heavySteps || pixels > TASK_LIMITS.heavyPixels;
}

const stepsOf = new WeakMap<object, number>();

/** Steps that a filter takes for a row. */
function filterSteps(filter: Expression | undefined): number {
  if (typeof filter !== 'object') return 0;
  let steps = stepsOf.get(filter);
  if (steps === undefined) stepsOf.set(filter, (steps = operandSteps(filter)));
  return isWindowed(filter) ? steps * WINDOW_PART : steps;
}

function operandSteps(operand: Operand): number {
  if (typeof operand !== 'object') return 0;
  // A list is searched through an index of its values.
  if (isArray(operand)) return Math.log2(operand.length + 1) / 2;
  if (isGeometry(operand)) return TEXT_STEPS;
  if (!isCall(operand)) return 0;
  const { op, args } = operand;
  const inner = args.reduce<number>((sum, arg) => sum + operandSteps(arg), 0);
  if (op === 'and' || op === 'or' || op === 'not') return inner;
  return inner + (SIMPLE.has(op) ? 1 : TEXT_STEPS);
}

const SIMPLE: ReadonlySet<string> = new Set(['=', '<>', '<', '>', '<=', '>=', 'between', 'in', 'isNull']);

/** Whether a filter lets only features of a bounding box pass, which the spatial index finds. */
function isWindowed(filter: Expression | undefined): boolean {
  if (typeof filter !== 'object') return false;
  const { op, args } = filter;
  if (op === 'and') return args.some((arg) => typeof arg === 'object' && isCall(arg) && isWindowed(arg));
  return op === 's_intersects' && args.some((arg) => typeof arg === 'object' && !isArray(arg) && isBox(arg));
}
