import { Cql2Error, type Expression, parseText, type Scalar } from '../cql2/index.js';
import { isExactNumber } from '../values/exact-number.js';
import { parseJsonExactly } from '../values/json.js';
import type { TriggerType } from './alerts.js';
import type { ZoneRelation } from './tasks.js';

/** RuleConditions of a rule, from the text of its member `conditionsJson`. */
export interface RuleConditions {
  readonly relation: ZoneRelation;
  /** A move across the zone also enters and leaves it. */
  readonly path: boolean;
  /** Metres beyond the zone in which a feature is still inside. */
  readonly exitBuffer: number;
  /** Seconds that a feature must stay on its new side. */
  readonly settleSeconds: number;
  /** Field with the time of a position. Earlier positions than the newest one change nothing. */
  readonly timeField: string | undefined;
  /** Whether the end of an incident is also sent. */
  readonly notifyEnd: boolean;
  /** Only features that match this filter can be inside. */
  readonly filter: Expression | undefined;
  readonly dwellSeconds: number;
  readonly threshold: Threshold | undefined;
}

interface Threshold {
  readonly field: string;
  /** Starts and continues an incident. Undefined: each change of the field is an incident. */
  readonly start: Expression | undefined;
  /** Ends the incident. Undefined: the incident ends if `start` is false. */
  readonly clear: Expression | undefined;
}

export const CONDITIONS_CHARACTERS = 65_536;
/** Characters of a filter in the conditions. */
const FILTER_CHARACTERS = 8192;
const MAX_SECONDS = 31_536_000;
const MAX_METRES = 1_000_000;
const LIST_LENGTH = 1000;

/** Operators of thresholds, in the notations that clients use. */
const OPERATORS: Readonly<Record<string, string>> = {
  ...{ '=': '=', '==': '=', eq: '=', '<>': '<>', '!=': '<>', ne: '<>', neq: '<>' },
  ...{
    '<': '<',
    lt: '<',
    '<=': '<=',
    lte: '<=',
    le: '<=',
    '>': '>',
    gt: '>',
    '>=': '>=',
    gte: '>=',
    ge: '>=',
  },
  ...{ in: 'in', between: 'between', changed: 'changed' },
};
const OPERATOR_NAMES = '=, <>, <, <=, >, >=, in, between and changed';

const COMMON = ['filter', 'notifyEnd', 'settleSeconds', 'timeField'];
const ZONE_MEMBERS = [...COMMON, 'exitBuffer', 'path', 'relation'];
const MEMBERS: Readonly<Record<TriggerType, readonly string[]>> = {
  enter: ZONE_MEMBERS,
  exit: ZONE_MEMBERS,
  dwell: ['dwellSeconds', 'exitBuffer', 'filter', 'notifyEnd', 'relation', 'timeField'],
  threshold: [...COMMON, 'clear', 'field', 'operator', 'value'],
};

/** Error with the problems of conditions. Each problem names the member and the allowed values. */
export class ConditionsError extends Error {
  override readonly name = 'ConditionsError';
  constructor(readonly problems: readonly string[]) {
    super(problems.join(' '));
  }
}

/** Reads conditions. Throws `ConditionsError`. Whether fields exist is checked with the layer. */
export function parseConditions(text: string, trigger: TriggerType): RuleConditions {
  return new ConditionsReader(parseMembers(text), trigger).read();
}

function parseMembers(text: string): Record<string, unknown> {
  if (text.length > CONDITIONS_CHARACTERS)
    throw new ConditionsError([`conditionsJson must have at most ${CONDITIONS_CHARACTERS} characters.`]);
  let value: unknown;
  try {
    value = parseJsonExactly(text, 'all');
  } catch {
    throw new ConditionsError(['conditionsJson must be the text of a JSON object.']);
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value) || isExactNumber(value))
    throw new ConditionsError(['conditionsJson must be the text of a JSON object.']);
  return value as Record<string, unknown>;
}

class ConditionsReader {
  readonly #problems: string[] = [];

  constructor(
    private readonly members: Readonly<Record<string, unknown>>,
    private readonly trigger: TriggerType,
  ) {}

  read(): RuleConditions {
    const allowed = MEMBERS[this.trigger];
    for (const name of Object.keys(this.members))
      if (!allowed.includes(name))
        this.#refuse(
          name,
          `is not a condition of ${this.trigger} rules, which can have ${allowed.join(', ')}`,
        );
    const isThreshold = this.trigger === 'threshold';
    const conditions: RuleConditions = {
      relation: this.#oneOf('relation', ['intersects', 'within']),
      path: this.#boolean('path'),
      exitBuffer: this.#number('exitBuffer', 0, MAX_METRES) ?? 0,
      settleSeconds: this.#number('settleSeconds', 0, MAX_SECONDS) ?? 0,
      timeField: this.#name('timeField'),
      notifyEnd: this.#boolean('notifyEnd'),
      filter: this.#filter(),
      dwellSeconds: this.trigger === 'dwell' ? this.#dwellSeconds() : 0,
      threshold: isThreshold ? this.#threshold() : undefined,
    };
    if (this.#problems.length > 0) throw new ConditionsError(this.#problems);
    return conditions;
  }

  #refuse(name: string, what: string): undefined {
    this.#problems.push(`conditionsJson: ${name.slice(0, 60)} ${what}.`);
    return undefined;
  }

  #dwellSeconds(): number {
    const { dwellSeconds: seconds } = this.members;
    if (typeof seconds === 'number' && seconds > 0 && seconds <= MAX_SECONDS) return seconds;
    this.#refuse('dwellSeconds', `is required: seconds greater than 0, and at most ${MAX_SECONDS}`);
    return 0;
  }

  #boolean(name: string): boolean {
    const value = this.members[name] ?? false;
    if (typeof value !== 'boolean') this.#refuse(name, 'must be true or false');
    return value === true;
  }

  #number(name: string, least: number, most: number): number | undefined {
    const value = this.members[name];
    if (value === undefined) return undefined;
    if (typeof value === 'number' && value >= least && value <= most) return value;
    return this.#refuse(name, `must be a number from ${least} to ${most}`);
  }

  #oneOf<const V extends string>(name: string, values: readonly [V, ...V[]]): V {
    const value = this.members[name] ?? values[0];
    const found = values.find((one) => one === value);
    if (found === undefined) this.#refuse(name, `must be ${values.join(' or ')}`);
    return found ?? values[0];
  }

  #name(name: string): string | undefined {
    const value = this.members[name];
    if (value === undefined || (typeof value === 'string' && value !== ''))
      return value as string | undefined;
    return this.#refuse(name, 'must be the name of a field');
  }

  #filter(): Expression | undefined {
    const value = this.members.filter;
    if (value === undefined) return undefined;
    if (typeof value !== 'string' || value.length > FILTER_CHARACTERS)
      return this.#refuse('filter', `must be CQL2 text of at most ${FILTER_CHARACTERS} characters`);
    try {
      return parseText(value);
    } catch (error) {
      if (!(error instanceof Cql2Error)) throw error;
      return this.#refuse('filter', `must be CQL2 text: ${error.message}`);
    }
  }

  #threshold(): Threshold | undefined {
    const field = this.#name('field');
    if (field === undefined) return this.#refuse('field', 'is required: the name of a field');
    const { operator, value, clear } = this.members;
    const isChange = operator === 'changed';
    if (isChange && (value !== undefined || clear !== undefined || this.members.settleSeconds !== undefined))
      return this.#refuse('operator', 'changed takes no value, no clear and no settleSeconds');
    const start = isChange ? undefined : this.#comparison(field, operator, value, '');
    return { field, start, clear: clear === undefined ? undefined : this.#clear(field, clear) };
  }

  #clear(field: string, clear: unknown): Expression | undefined {
    if (typeof clear !== 'object' || clear === null || Array.isArray(clear))
      return this.#refuse('clear', 'must be an object with operator and value');
    const { operator, value, ...rest } = clear as Record<string, unknown>;
    const [other] = Object.keys(rest);
    if (other !== undefined)
      return this.#refuse(`clear.${other}`, 'is not a member: clear has operator and value');
    if (operator === 'changed')
      return this.#refuse('clear.operator', 'must be another operator than changed');
    return this.#comparison(field, operator, value, 'clear.');
  }

  #comparison(field: string, operator: unknown, value: unknown, prefix: string): Expression | undefined {
    const op =
      typeof operator === 'string' && Object.hasOwn(OPERATORS, operator) ? OPERATORS[operator] : undefined;
    if (op === undefined) return this.#refuse(`${prefix}operator`, `is required: one of ${OPERATOR_NAMES}`);
    const property = { property: field };
    if (op === 'in' || op === 'between') {
      const most = op === 'in' ? LIST_LENGTH : 2;
      const least = op === 'in' ? 1 : 2;
      if (!Array.isArray(value) || value.length < least || value.length > most || !value.every(isScalarValue))
        return this.#refuse(
          `${prefix}value`,
          op === 'in' ? `must be a list of 1 to ${most} values` : 'must be a list of two values',
        );
      if (op === 'between' && isDescending(value))
        return this.#refuse(`${prefix}value`, 'must have the smaller value first');
      return op === 'in' ? { op, args: [property, value] } : { op, args: [property, ...value] };
    }
    if (!isScalarValue(value))
      return this.#refuse(`${prefix}value`, 'is required: a number, a text, true or false');
    return { op, args: [property, value] };
  }
}

const isNumber = (value: Scalar) => typeof value === 'number' || isExactNumber(value);

/** Whether no number is between two numbers. */
const isDescending = ([first, second]: readonly Scalar[]) =>
  isNumber(first!) && isNumber(second!) && Number(first) > Number(second);

const isScalarValue = (value: unknown): value is Scalar =>
  typeof value === 'number' ||
  typeof value === 'string' ||
  typeof value === 'boolean' ||
  isExactNumber(value);
