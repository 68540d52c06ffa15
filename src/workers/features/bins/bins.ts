import { and, type Expression, equals, type Scalar } from '../../../core/cql2/index.js';
import { TaskFailure } from '../../../core/errors/failure.js';
import type { BinsResult, BinsTask, FeatureBin } from '../../../core/features/feature-bins.js';
import type { FeatureRow } from '../../../core/features/features.js';
import { FEATURE_LIMITS } from '../../../core/features/limits.js';
import { LIMITS } from '../../../core/kit/limits.js';
import { type AnyNumber, exactInteger, readNumber } from '../../../core/values/exact-number.js';
import type { FeatureStore } from '../../providers/feature-store.js';
import type { Cancellation } from '../../threads/cancellation.js';
import { binLimits, integerEnds, type ValueRange } from './limits.js';

type Groups = NonNullable<FeatureStore['groups']>;
type Value = FeatureRow['values'][number];

/** Statistics of bins: where the values end, limits between these, and the groups that the store counts between limits. */
export async function bins(task: BinsTask, groups: Groups, cancellation?: Cancellation): Promise<BinsResult> {
  const splits = await listSplits(task, groups, cancellation);
  const all: FeatureBin[] = [];
  for (const { value, query } of splits) {
    for (const bin of await listBins(query, groups, cancellation)) all.push({ ...bin, split: value });
    if (all.length > LIMITS.bins)
      throw new TaskFailure(
        'too-large',
        `There are more than ${LIMITS.bins} bins. Use fewer splits or larger bins.`,
      );
  }
  return { bins: all };
}

interface Split {
  readonly value: Value;
  readonly query: BinsTask;
}

async function listSplits(task: BinsTask, groups: Groups, cancellation?: Cancellation): Promise<Split[]> {
  const { splitBy } = task;
  if (splitBy === undefined) return [{ value: null, query: task }];
  const { rows, more } = await groups(
    {
      ...buildQuery(task),
      groupBy: [splitBy],
      statistics: [],
      sort: [],
      limit: FEATURE_LIMITS.binSplits,
      offset: 0,
    },
    cancellation,
  );
  if (more)
    throw new TaskFailure(
      'too-large',
      `splitBy: '${splitBy}' has more than ${FEATURE_LIMITS.binSplits} values. Use another field.`,
    );
  return rows.map(([value = null]) => {
    const filter = and(task.filter, equals(splitBy, findScalar(value)));
    return { value, query: { ...task, filter } };
  });
}

const buildQuery = ({ source, filter }: BinsTask) => ({ source, filter });

const findScalar = (value: Value): Scalar | null => (typeof value === 'bigint' ? exactInteger(value) : value);

/** Rows whose value is in no bin form a separate group, which is not requested. */
const IN_BINS: Expression = { op: 'not', args: [{ op: 'isNull', args: [{ property: 'g0' }] }] };

async function listBins(
  task: BinsTask,
  groups: Groups,
  cancellation?: Cancellation,
): Promise<Omit<FeatureBin, 'split'>[]> {
  const range = await findRange(task, groups, cancellation);
  const limits = binLimits(task.cut, range);
  if (limits.length < 2) return [];
  requireApart(task, limits, range);
  const { rows } = await groups(
    {
      ...buildQuery(task),
      groupBy: [{ field: task.field, limits }],
      statistics: task.statistics,
      having: IN_BINS,
      sort: [],
      limit: limits.length,
      offset: 0,
    },
    cancellation,
  );
  const valuesOf = new Map(rows.map(([bin, ...values]) => [Number(bin), values]));
  const nothing = task.statistics.map(({ type }) => (type === 'count' ? 0 : null));
  return limits
    .slice(1)
    .map((upper, bin) => ({ lower: limits[bin]!, upper, values: valuesOf.get(bin) ?? nothing }));
}

/** Returns the range of the values. Undefined if limits do not depend on it, and if there are no values. */
async function findRange(
  task: BinsTask,
  groups: Groups,
  cancellation?: Cancellation,
): Promise<ValueRange | undefined> {
  const { cut, field } = task;
  if (cut.kind === 'limits' || (cut.start !== undefined && cut.end !== undefined)) return undefined;
  const statistics = [
    { type: 'min' as const, field },
    { type: 'max' as const, field },
  ];
  const { rows } = await groups(
    { ...buildQuery(task), groupBy: [], statistics, sort: [], limit: 1, offset: 0 },
    cancellation,
  );
  const [least = null, greatest = null] = rows[0] ?? [];
  return least === null || greatest === null ? undefined : [computeLimit(least), computeLimit(greatest)];
}

/** Throws for bins of integers beyond 2^53 that have fewer values between their ends. */
function requireApart(
  { cut, field }: BinsTask,
  limits: readonly AnyNumber[],
  range: ValueRange | undefined,
): void {
  if (cut.kind !== 'count' || !range || limits.length > cut.count) return;
  if (!integerEnds(cut.start ?? range[0], cut.end ?? range[1])) return;
  throw new TaskFailure(
    'invalid-input',
    `The values of '${field}', ${limits[0]} to ${limits.at(-1)}, are too close together for ${cut.count} bins, whose limits are integers. Use fewer bins or group by the field.`,
  );
}

/** Instants are text, and decimals that a double cannot represent are also text. */
function computeLimit(value: NonNullable<Value>): AnyNumber {
  if (typeof value === 'bigint') return exactInteger(value);
  const number = typeof value === 'string' ? readNumber(value) : Number(value);
  return number ?? Date.parse(String(value));
}
