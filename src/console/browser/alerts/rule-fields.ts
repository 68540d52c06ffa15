/** Values of the form of a rule as members of the management API, and back. */

export interface RuleDocument {
  readonly ruleName: string;
  readonly serviceId: string;
  readonly layerId: number;
  readonly zoneId?: number | null;
  readonly triggerType: string;
  readonly severity: string;
  readonly editionRequired?: string;
  readonly conditionsJson: string;
  readonly cooldownSeconds: number;
  readonly isActive: boolean;
  readonly channels: readonly string[];
}

export interface ZoneDocument {
  readonly zoneId: number;
  readonly zoneName: string;
  readonly serviceId: string;
  readonly isActive: boolean;
  readonly srid: number | null;
  readonly wkt: string | null;
  readonly metadata: Readonly<Record<string, string>>;
}

/** A field of the form that the browser refuses before the server sees it. */
export class FieldProblem extends Error {
  constructor(
    readonly field: string,
    message: string,
  ) {
    super(message);
  }
}

type FormField = HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement;

export function findRuleField(form: HTMLFormElement, name: string): FormField {
  return form.elements.namedItem(name) as FormField;
}

export const readField = (form: HTMLFormElement, name: string) => findRuleField(form, name).value.trim();

/** Reads the rule of the form. `types`: JSON types of the fields of the layer. */
export function readRule(
  form: HTMLFormElement,
  types: ReadonlyMap<string, string>,
  isActive: boolean,
): RuleDocument {
  const ruleName = readField(form, 'ruleName');
  if (ruleName === '') throw new FieldProblem('ruleName', 'Enter a name.');
  const layerId = readField(form, 'layerId');
  if (layerId === '') throw new FieldProblem('layerId', 'Choose a layer.');
  const channels = [...form.querySelectorAll<HTMLInputElement>('[name="channels"]:checked')];
  return {
    ...{ ruleName, serviceId: 'default', layerId: Number(layerId), isActive },
    triggerType: readField(form, 'triggerType'),
    severity: readField(form, 'severity'),
    cooldownSeconds: readNumber(form, 'cooldownSeconds', 0),
    channels: channels.map(({ value }) => value),
    conditionsJson: JSON.stringify({ ...readOther(form), ...readConditions(form, types) }),
  };
}

function readNumber(form: HTMLFormElement, name: string, empty: number): number {
  const text = readField(form, name);
  if (text === '' && (findRuleField(form, name) as HTMLInputElement).validity.valid) return empty;
  const value = Number(text);
  if (text === '' || !Number.isFinite(value)) throw new FieldProblem(name, 'Enter a number.');
  return value;
}

function readOther(form: HTMLFormElement): object {
  const text = readField(form, 'other');
  if (text === '') return {};
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
  } catch {
    // The message is the same for other values.
  }
  throw new FieldProblem('other', 'Enter a JSON object, such as {"exitBuffer": 20}.');
}

function readConditions(form: HTMLFormElement, types: ReadonlyMap<string, string>): object {
  const trigger = readField(form, 'triggerType');
  if (trigger === 'dwell') return { dwellSeconds: readNumber(form, 'dwellSeconds', Number.NaN) };
  if (trigger !== 'threshold') return {};
  const [field, operator] = [readField(form, 'field'), readField(form, 'operator')];
  if (field === '') throw new FieldProblem('field', 'Choose a field.');
  if (operator === 'changed') return { field, operator };
  const text = readField(form, 'value');
  const isList = operator === 'in' || operator === 'between';
  const parse = (part: string) => parseValue(part.trim(), types.get(field));
  return { field, operator, value: isList ? text.split(',').map(parse) : parse(text) };
}

function parseValue(text: string, type: string | undefined): unknown {
  if (type === 'number' || type === 'integer') {
    const value = Number(text);
    if (text === '' || !Number.isFinite(value)) throw new FieldProblem('value', 'Enter a number.');
    return value;
  }
  if (type !== 'boolean') return text;
  if (text !== 'true' && text !== 'false') throw new FieldProblem('value', 'Enter true or false.');
  return text === 'true';
}

/** Puts a rule into the form. `other` contains the conditions without a separate field. */
export function fillRule(form: HTMLFormElement, rule: RuleDocument): void {
  const { dwellSeconds, field, operator, value, ...other } = JSON.parse(rule.conditionsJson) as Record<
    string,
    unknown
  >;
  const set = (name: string, one: unknown) => {
    if (one === undefined || one === null) return;
    findRuleField(form, name).value = Array.isArray(one) ? one.join(', ') : String(one);
  };
  set('ruleName', rule.ruleName);
  set('layerId', rule.layerId);
  set('triggerType', rule.triggerType);
  set('zoneId', rule.zoneId);
  set('severity', rule.severity);
  set('cooldownSeconds', rule.cooldownSeconds);
  set('dwellSeconds', dwellSeconds);
  // The options of the field come later, with the schema of the layer.
  findRuleField(form, 'field').dataset['wanted'] = typeof field === 'string' ? field : '';
  set('operator', operator);
  set('value', value);
  if (Object.keys(other).length > 0) {
    set('other', JSON.stringify(other, undefined, 2));
    form.querySelector('[data-more]')?.setAttribute('open', '');
  }
  for (const box of form.querySelectorAll<HTMLInputElement>('[name="channels"]'))
    box.checked = rule.channels.includes(box.value);
}
