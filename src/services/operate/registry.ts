import { ApiError } from '../../core/errors/errors.js';
import { prefixField } from '../../core/errors/field-errors.js';
import { requireSound } from '../../core/http/body-problems.js';
import { compileOnUse, type SchemaCheck } from '../../core/http/schema-check.js';
import { type Actuator, formatActuator } from '../actions/actuator.js';

/** All actuators of this server, by name and version. */
export class ActuatorRegistry {
  readonly #actuators = new Map<string, { actuator: Actuator; check: SchemaCheck }>();

  get list(): readonly Actuator[] {
    return [...this.#actuators.values()].map(({ actuator }) => actuator);
  }

  add(actuator: Actuator): void {
    const key = formatActuator(actuator);
    if (this.#actuators.has(key)) throw new Error(`the actuator ${key} is registered twice`);
    this.#actuators.set(key, { actuator, check: compileOnUse(actuator.parameters) });
  }

  /** The actuator of exactly this version. */
  find(name: string, version: number): Actuator | undefined {
    return this.#actuators.get(formatActuator({ name, version }))?.actuator;
  }

  /** The newest version of an actuator. Throws `invalid-body`. */
  require(name: string): Actuator {
    const versions = this.list.filter((one) => one.name === name);
    const newest = versions.toSorted((a, b) => b.version - a.version)[0];
    if (newest) return newest;
    const names = [...new Set(this.list.map((one) => one.name))].sort();
    throw new ApiError(
      'invalid-body',
      `actuator: there is no actuator '${name.slice(0, 100)}'. Use one of ${names.join(', ')}.`,
    );
  }

  /** Throws `invalid-body` for parameters that do not match the schema of the actuator. */
  requireParameters(actuator: Actuator, parameters: unknown): void {
    const { check } = this.#actuators.get(formatActuator(actuator))!;
    requireSound(check(parameters).map((error) => prefixField('/parameters', error)));
  }
}
