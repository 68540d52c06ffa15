import { fieldFailure } from '../errors/errors.js';
import type { FieldError } from '../errors/field-errors.js';

/** A member of a body that breaks a rule that no schema can say: `name` is its JSON pointer. */
export type BodyProblem = Readonly<FieldError>;

/** Problem of a member: a JSON pointer without its leading slash. */
export const problem = (member: string, detail: string): BodyProblem => ({ name: `/${member}`, detail });

/** Throws `invalid-body` that names every problem. */
export function requireSound(problems: readonly (BodyProblem | undefined)[]): void {
  const errors = problems.filter((one) => one !== undefined);
  if (errors.length > 0) refuse(...errors);
}

export function refuse(...errors: readonly BodyProblem[]): never {
  throw fieldFailure('invalid-body', errors.slice(0, 20));
}
