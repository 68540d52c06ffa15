import type { Calculation, EditTask } from '../../core/edits.js';
import { TaskFailure } from '../../core/failure.js';
import { fieldOf } from '../../core/features.js';
import type { FieldType, VectorSource } from '../../core/vector-source.js';
import { apply } from './apply.js';
import { isFailure, prepareFeature } from './prepare.js';
import { type Attempts, type EditSession, type NewEvent, Refusal } from './session.js';

/** Changes all features that pass a calculation, or none. */
export async function calculate(
  session: EditSession,
  task: EditTask,
  calculation: Calculation,
): Promise<Attempts> {
  const features = await session.calculate(calculation);
  const { most } = calculation;
  if (features.length > most)
    throw new TaskFailure('too-large', `More than ${most} features pass: a narrower filter is needed.`);
  const events: NewEvent[] = [];
  for (const { id, properties } of features) {
    const edit = prepareFeature({ type: 'update', id, feature: { properties } }, task);
    if (isFailure(edit)) throw new Refusal(edit.reason, `Feature ${id}: ${edit.message}`, edit.errors);
    events.push(await apply(session, task, edit));
  }
  return { outcomes: features.map(({ id }) => ({ ok: true, id })), events };
}

/**
 * Properties of a feature out of the values of the expressions, in their order. Numbers are rounded for fields of whole
 * numbers, as an assignment in SQL does.
 */
export function calculatedProperties(
  source: VectorSource,
  { properties, expressions }: Calculation,
  values: readonly unknown[],
): Record<string, unknown> {
  const computed = Object.keys(expressions).map((name, i) => [
    name,
    asValueOf(fieldOf(source, name)?.type, values[i]),
  ]);
  return { ...properties, ...Object.fromEntries(computed) };
}

/** Long whole numbers come as text of their digits, so that none is lost. */
function asValueOf(type: FieldType | undefined, value: unknown): unknown {
  if (type !== 'integer' && type !== 'number') return value;
  const isDigits = typeof value === 'string' && /^-?\d+$/.test(value);
  const number =
    isDigits && (type === 'number' || Number.isSafeInteger(Number(value))) ? Number(value) : value;
  return type === 'integer' && typeof number === 'number' ? rounded(number) : number;
}

/** Halves go away from zero. */
const rounded = (value: number) => Math.sign(value) * Math.round(Math.abs(value));
