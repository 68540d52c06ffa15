import { ApiError } from '../errors/errors.js';

/** A member of a body that is wrong in a way that no schema can say: `name` is its JSON pointer. */
export interface BodyProblem {
  readonly name: string;
  readonly detail: string;
}

/** Problem of a member: a JSON pointer without its leading slash. */
export const problem = (member: string, detail: string): BodyProblem => ({ name: `/${member}`, detail });

/** Throws `invalid-body` that names every problem. */
export function requireSound(problems: readonly (BodyProblem | undefined)[]): void {
  const errors = problems.filter((one) => one !== undefined);
  if (errors.length > 0) refuse(...errors);
}

export function refuse(...errors: readonly BodyProblem[]): never {
  const [first] = errors;
  throw new ApiError('invalid-body', `${first?.name} ${first?.detail}`, { errors: errors.slice(0, 20) });
}
