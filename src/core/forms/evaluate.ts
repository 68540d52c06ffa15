/** Values of a submission, evaluated against a form. */

import {
  FILE_TYPES,
  type FormDocument,
  type FormField,
  type FormRule,
  GEOMETRY_TYPES,
} from './form-document.js';
import type { FormIssue } from './form-issues.js';
import { FORM_LIMITS } from './limits.js';
import { compilePatternRule } from './pattern-rule.js';

/** Values by field id. A repeatable section has a list of such values by its section id. */
export type FormValues = Readonly<Record<string, unknown>>;

export interface EvaluatedValues {
  /** Values of visible fields, with the defaults of absent ones. */
  readonly values: FormValues;
  readonly issues: readonly FormIssue[];
}

export interface SubmittedValues {
  readonly operation: 'create' | 'update' | 'delete';
  readonly values: FormValues;
  readonly hasGeometry: boolean;
}

/** One instance of fields: the fields outside of repeatable sections, or one instance of such a section. */
interface Instance {
  /** JSON pointer of the values. */
  readonly path: string;
  readonly sent: FormValues;
  readonly fields: readonly FormField[];
  /** Instance whose fields decide about visibility as well. */
  readonly outer: Instance | undefined;
  readonly visible: Map<string, boolean>;
}

/**
 * Evaluates values: which fields are visible, whether their values have the right types, and whether required ones are
 * there. Hidden fields have no value. An update keeps the values of absent fields, so only removed ones can be missing.
 */
export function evaluateForm(form: FormDocument, submitted: SubmittedValues): EvaluatedValues {
  const issues: FormIssue[] = [];
  const report = (code: string, path: string, message: string, fieldId: string | null = null) => {
    if (issues.length < FORM_LIMITS.issues) issues.push({ code, severity: 'error', message, path, fieldId });
  };
  const repeatable = form.sections.filter((section) => section.repeatable);
  const repeated = new Set(repeatable.flatMap(({ fieldIds }) => fieldIds));
  const { values: sent, operation } = submitted;
  const main = createInstance(
    '/values',
    sent,
    form.fields.filter(({ fieldId }) => !repeated.has(fieldId)),
    undefined,
  );
  const context: Evaluation = { submitted, report };
  const values = evaluateInstance(main, context, new Set(repeatable.map(({ sectionId }) => sectionId)));
  for (const { sectionId, fieldIds, minInstances, maxInstances } of repeatable) {
    const list = sent[sectionId];
    if (list === undefined && operation === 'update') continue;
    const instances = readInstances(list, `/values/${sectionId}`, report);
    const least = operation === 'delete' ? 0 : (minInstances ?? 0);
    const most = Math.min(maxInstances ?? FORM_LIMITS.instances, FORM_LIMITS.instances);
    if (instances.length < least || instances.length > most)
      report(
        'instances',
        `/values/${sectionId}`,
        `The section '${sectionId}' has ${instances.length} instances. It can have from ${least} to ${most}.`,
      );
    const fields = form.fields.filter(({ fieldId }) => fieldIds.includes(fieldId));
    const evaluated = instances
      .slice(0, most)
      .map((one, i) =>
        evaluateInstance(createInstance(`/values/${sectionId}/${i}`, one, fields, main), context, new Set()),
      );
    if (evaluated.length > 0) values[sectionId] = evaluated;
  }
  return { values, issues };
}

interface Evaluation {
  readonly submitted: SubmittedValues;
  report(code: string, path: string, message: string, fieldId?: string | null): void;
}

const createInstance = (
  path: string,
  sent: FormValues,
  fields: readonly FormField[],
  outer: Instance | undefined,
): Instance => ({ path, sent, fields, outer, visible: new Map() });

function readInstances(list: unknown, path: string, report: Evaluation['report']): FormValues[] {
  if (list === undefined || list === null) return [];
  const isList = Array.isArray(list) && list.every((one) => typeof one === 'object' && one !== null);
  if (isList) return list as FormValues[];
  report('type', path, 'The values of a repeatable section must be a list of objects.');
  return [];
}

/** Evaluates the fields of an instance. `others` are names of values that are not fields. */
function evaluateInstance(
  instance: Instance,
  context: Evaluation,
  others: ReadonlySet<string>,
): Record<string, unknown> {
  const { sent, fields, path } = instance;
  const { submitted, report } = context;
  const known = new Set(fields.map(({ fieldId }) => fieldId));
  for (const name of Object.keys(sent))
    if (!known.has(name) && !others.has(name))
      report('field-unknown', `${path}/${name}`, `The form has no field '${name.slice(0, 64)}' here.`);
  const values: Record<string, unknown> = {};
  if (submitted.operation === 'delete') return values;
  for (const field of fields) {
    const { fieldId } = field;
    if (!isVisible(instance, field)) continue;
    const problem = findProblem(field, sent[fieldId], submitted);
    if (problem) {
      report(problem[0], `${path}/${fieldId}`, `${field.label}: ${problem[1]}`, fieldId);
      continue;
    }
    const value = readValue(instance, field, submitted.operation);
    if (value !== undefined) values[fieldId] = value;
  }
  return values;
}

/** Value of a visible field: the sent one, otherwise its default for a new feature. */
function readValue(
  { sent }: Instance,
  { fieldId, defaultValue, type }: FormField,
  operation: SubmittedValues['operation'],
): unknown {
  if (type === 'note' || GEOMETRY_TYPES.has(type) || FILE_TYPES.has(type)) return undefined;
  const value = sent[fieldId];
  if (value !== undefined) return isEmpty(value) ? null : value;
  return operation === 'create' && defaultValue !== null ? defaultValue : undefined;
}

const isEmpty = (value: unknown) =>
  value === undefined || value === null || value === '' || (Array.isArray(value) && value.length === 0);

/** Returns true if the condition of a field is met. A field of a cycle is hidden. */
function isVisible(instance: Instance, field: FormField): boolean {
  const known = instance.visible.get(field.fieldId);
  if (known !== undefined) return known;
  instance.visible.set(field.fieldId, false);
  const { visibility } = field;
  const shown = visibility === null || compare(findValue(instance, visibility.dependsOnFieldId), visibility);
  instance.visible.set(field.fieldId, shown);
  return shown;
}

/** Returns the value of a field, undefined for a hidden one. */
function findValue(instance: Instance, fieldId: string): unknown {
  const field = instance.fields.find((one) => one.fieldId === fieldId);
  if (!field) return instance.outer ? findValue(instance.outer, fieldId) : undefined;
  if (!isVisible(instance, field)) return undefined;
  const value = instance.sent[fieldId];
  if (value === undefined) return field.defaultValue ?? undefined;
  return isEmpty(value) ? undefined : value;
}

function compare(value: unknown, { operator, value: other }: NonNullable<FormField['visibility']>): boolean {
  const isAnswered = !isEmpty(value);
  switch (operator) {
    case 'answered':
      return isAnswered;
    case 'notAnswered':
      return !isAnswered;
    case 'equals':
      return isAnswered && value === other;
    case 'notEquals':
      return value !== other;
    case 'contains':
      return Array.isArray(value)
        ? value.includes(other)
        : typeof value === 'string' && value.includes(String(other));
    default: {
      const order = isAnswered ? compareOrder(value, other) : undefined;
      if (order === undefined) return false;
      if (operator === 'lessThan') return order < 0;
      if (operator === 'lessThanOrEqual') return order <= 0;
      return operator === 'greaterThan' ? order > 0 : order >= 0;
    }
  }
}

/** Negative if the first value is smaller. Undefined for values without an order. */
function compareOrder(a: unknown, b: unknown): number | undefined {
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  if (typeof a !== 'string' || typeof b !== 'string') return undefined;
  const [first, second] = [Date.parse(a), Date.parse(b)];
  return Number.isNaN(first) || Number.isNaN(second) ? undefined : first - second;
}

type Problem = readonly [code: string, message: string];

/** Returns the first problem of the value of a visible field. */
function findProblem(field: FormField, value: unknown, submitted: SubmittedValues): Problem | undefined {
  const { type, required, readOnly, defaultValue } = field;
  if (type === 'note') return isEmpty(value) ? undefined : ['value-unexpected', 'a note has no value.'];
  if (GEOMETRY_TYPES.has(type)) {
    if (!isEmpty(value)) return ['value-unexpected', 'send the geometry in the member geometry.'];
    const isMissing = required && submitted.operation === 'create' && !submitted.hasGeometry;
    return isMissing ? ['required', 'the geometry is missing.'] : undefined;
  }
  if (FILE_TYPES.has(type)) {
    if (!isEmpty(value) || (required && submitted.operation === 'create'))
      return ['files-unsupported', 'the server does not take files of submissions yet.'];
    return undefined;
  }
  if (isEmpty(value)) {
    const isKept = value === undefined && (submitted.operation === 'update' || defaultValue !== null);
    return required && !isKept ? ['required', 'a value is required.'] : undefined;
  }
  if (readOnly && value !== defaultValue) return ['read-only', 'the value cannot be changed.'];
  return (
    findTypeProblem(field, value) ??
    findDomainProblem(field, value) ??
    findRuleProblem(field.validation, value)
  );
}

function findTypeProblem({ type }: FormField, value: unknown): Problem | undefined {
  const is = IS_TYPE[type];
  if (is === undefined || is[0](value)) return undefined;
  return ['type', `must be ${is[1]}, not ${JSON.stringify(value)?.slice(0, 60)}.`];
}

const isDate = (value: unknown) =>
  typeof value === 'string' &&
  /^\d{4}-\d{2}-\d{2}$/.test(value) &&
  new Date(`${value}T00:00:00Z`).toJSON()?.startsWith(value) === true;
const isText = (value: unknown) => typeof value === 'string' && value.length <= FORM_LIMITS.textLength;
const isCode = (value: unknown) => ['string', 'number', 'boolean'].includes(typeof value);

const IS_TYPE: Partial<Record<FormField['type'], readonly [(value: unknown) => boolean, string]>> = {
  text: [isText, `a string of at most ${FORM_LIMITS.textLength} characters`],
  barcode: [isText, `a string of at most ${FORM_LIMITS.textLength} characters`],
  integer: [(value) => Number.isSafeInteger(value), 'an integer'],
  decimal: [(value) => typeof value === 'number' && Number.isFinite(value), 'a number'],
  date: [isDate, "a date, for example '2026-01-31'"],
  time: [
    (value) => typeof value === 'string' && /^([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d{1,6})?)?$/.test(value),
    "a time, for example '12:30:00'",
  ],
  dateTime: [
    (value) =>
      typeof value === 'string' &&
      /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?(Z|[+-]\d{2}:\d{2})$/.test(value) &&
      !Number.isNaN(Date.parse(value)),
    "a time with an offset, for example '2026-01-31T12:30:00Z'",
  ],
  select_one: [isCode, 'the code of a choice'],
  select_multiple: [
    (value) =>
      Array.isArray(value) &&
      value.length <= FORM_LIMITS.choices &&
      value.every(isCode) &&
      new Set(value).size === value.length,
    'a list of different codes',
  ],
  calculate: [(value) => typeof value === 'number' || isText(value), 'a number or a string'],
};

function findDomainProblem({ domain, type }: FormField, value: unknown): Problem | undefined {
  if (domain === null) return undefined;
  const { choices, min, max } = domain;
  if (domain.type === 'codedValue' && choices) {
    const codes = new Set(choices.map(({ code }) => code));
    const given = type === 'select_multiple' ? (value as unknown[]) : [value];
    const wrong = given.find((code) => !codes.has(code));
    return wrong === undefined ? undefined : ['domain', `${JSON.stringify(wrong)} is not a choice.`];
  }
  if (domain.type !== 'range') return undefined;
  const isBelow = min !== null && (compareOrder(value, min) ?? 0) < 0;
  const isAbove = max !== null && (compareOrder(value, max) ?? 0) > 0;
  if (!isBelow && !isAbove) return undefined;
  return ['domain', `must be from ${min ?? 'any value'} to ${max ?? 'any value'}, not ${String(value)}.`];
}

function findRuleProblem(rules: readonly FormRule[], value: unknown): Problem | undefined {
  for (const { type, parameters, message } of rules) {
    const { value: limit, pattern } = (parameters ?? {}) as { value?: unknown; pattern?: unknown };
    const length = typeof value === 'string' ? [...value].length : 0;
    const fails = {
      minLength: () => length < Number(limit),
      maxLength: () => length > Number(limit),
      min: () => (compareOrder(value, limit) ?? 0) < 0,
      max: () => (compareOrder(value, limit) ?? 0) > 0,
      pattern: () => {
        const expression = compilePatternRule(pattern);
        return typeof expression !== 'string' && typeof value === 'string' && !expression.test(value);
      },
    }[type];
    if (fails()) return ['rule', message ?? `violates the rule ${type} (${String(pattern ?? limit)}).`];
  }
  return undefined;
}
