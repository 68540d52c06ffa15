import type { Calculation, EditTask } from '../../core/edits/edits.js';
import { TaskFailure } from '../../core/errors/failure.js';
import { declaredScale } from '../../core/features/column-capacity.js';
import { findField } from '../../core/features/features.js';
import type { VectorSource } from '../../core/sources/vector-source.js';
import { canonicalDigits } from '../../core/values/exact-number.js';
import type { JsonText } from '../../core/values/json-text.js';
import { apply } from './apply.js';
import { isFailure, prepareFeature } from './prepare.js';
import { type EditAttempts, EditRefusal, type EditSession, type NewEvent } from './session.js';

/** Changes all features that pass a calculation, or none. */
export async function applyCalculation(
  session: EditSession,
  task: EditTask,
  calculation: Calculation,
): Promise<EditAttempts> {
  const features = await session.calculate(calculation);
  const { maxFeatures } = calculation;
  if (features.length > maxFeatures)
    throw new TaskFailure(
      'too-large',
      `More than ${maxFeatures} features pass the filter. Use a narrower one.`,
    );
  const events: NewEvent[] = [];
  for (const { id, values } of features) {
    const edit = prepareFeature({ type: 'update', id, feature: { values, replacesJson: true } }, task);
    if (isFailure(edit)) throw new EditRefusal(edit.reason, `Feature ${id}: ${edit.message}`, edit.errors);
    events.push(await apply(session, task, edit));
  }
  return { outcomes: features.map(({ id }) => ({ ok: true, id })), events };
}

/**
 * Returns the values of a feature from the values of the expressions, in their order. Numbers are rounded for integer
 * fields and for decimal fields with a scale, like an assignment in SQL.
 */
export function calculatedValues(
  source: VectorSource,
  { values, expressions }: Calculation,
  results: readonly JsonText[],
): Record<string, JsonText> {
  const computed = Object.keys(expressions).map((name, i) => {
    const field = findField(source, name);
    const scale = field?.type === 'integer' ? 0 : field && declaredScale(field);
    return [name, scale === undefined ? results[i]! : roundText(results[i]!, scale)];
  });
  return { ...values, ...Object.fromEntries(computed) };
}

/** The nearest number with so many decimal places; halves go away from zero. Other values are returned unchanged. */
function roundText(json: JsonText, scale: number): JsonText {
  const digits = canonicalDigits(json);
  const [, sign, whole, tenth] = /^(-?)(\d+)\.(\d)\d*$/.exec(canonicalDigits(`${digits}e${scale}`)) ?? [];
  if (whole === undefined) return json;
  const rounded = BigInt(whole) + (tenth! >= '5' ? 1n : 0n);
  return canonicalDigits(`${rounded === 0n ? '' : sign}${rounded}e${-scale}`);
}
