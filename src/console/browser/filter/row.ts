import type { FilterData } from '../../../core/catalog/page-data.js';
import {
  type Clause,
  type ClauseOperator,
  type ClauseType,
  listClauseOperators,
  valueCount,
} from '../../../core/features/filter-clauses.js';
import { button, createHtmlElement, select } from './elements.js';
import type { OfferedValue } from './values.js';

const OPERATOR_NAMES: Record<ClauseOperator, string> = {
  '=': 'is',
  '<>': 'is not',
  '<': 'is less than',
  '<=': 'is at most',
  '>': 'is greater than',
  '>=': 'is at least',
  between: 'is between',
  range: 'is from … to below …',
  contains: 'contains',
  starts: 'starts with',
  like: 'is like (%, _)',
  in: 'is one of (one per line)',
  isNull: 'is empty',
  isNotNull: 'is not empty',
  box: 'intersects the bounding box',
};

/** Types of fields whose frequent values are offered. */
const OFFERED: ReadonlySet<ClauseType> = new Set(['string', 'integer']);

const SIDES = ['West', 'South', 'East', 'North'];

export interface RowEvents {
  changed(): void;
  removed(row: ClauseRow): void;
  /** The box that the map shows; undefined while it shows none. */
  getVisibleBox(): Promise<readonly string[] | undefined>;
  letUserDrawBox(): Promise<readonly string[] | undefined>;
  /** Frequent values of a field. */
  listValues(field: string): Promise<readonly OfferedValue[]>;
}

/** Lists of values have distinct ids. */
let lists = 0;

/** One condition: a field, an operator, values. */
export class ClauseRow {
  readonly root = createHtmlElement('fieldset', { class: 'clause' });
  readonly #field: HTMLSelectElement;
  readonly #operator = select('Operator', []);
  readonly #values = createHtmlElement('span', { class: 'clause-values' });
  readonly #fold = createHtmlElement('input', { type: 'checkbox' });
  readonly #foldLabel = createHtmlElement('label', { class: 'clause-fold' }, this.#fold, ' any case');
  #isFilled = false;
  readonly #problem = createHtmlElement('p', { class: 'clause-problem', role: 'alert' });

  constructor(
    readonly data: FilterData,
    readonly events: RowEvents,
    clause: Clause,
  ) {
    const fields = data.fields.map(({ name, title }) => [name, title] as const);
    const places = data.geometry === null ? [] : [[data.geometry, 'Place'] as const];
    this.#field = select('Attribute', [...fields, ...places]);
    this.#field.value = clause.field;
    const remove = button('Remove', () => events.removed(this));
    this.root.append(
      createHtmlElement('legend', { class: 'hidden-text' }, 'Condition'),
      this.#field,
      this.#operator,
      this.#values,
      this.#foldLabel,
      remove,
      this.#problem,
    );
    this.#fillOperators(clause.op);
    this.#fillValues(clause.values);
    this.#fold.checked = clause.casei ?? false;
    this.#field.addEventListener('change', () => {
      this.#isFilled = false;
      this.#fillOperators();
      this.#fillValues([]);
      events.changed();
    });
    this.#operator.addEventListener('change', () => {
      this.#fillValues(this.clause().values);
      events.changed();
    });
    this.#isFilled = clause.values.length > 0;
    this.root.addEventListener('input', ({ target }) => {
      if (target === this.#field || target === this.#operator) return;
      this.#isFilled = true;
      events.changed();
    });
  }

  clause(): Clause {
    const inputs = [...this.#values.querySelectorAll<HTMLInputElement>('input, select, textarea')];
    const values =
      this.#operator.value === 'in'
        ? (inputs[0]?.value.split('\n').filter((line) => line !== '') ?? [])
        : inputs.map(({ value }) => value);
    return {
      field: this.#field.value,
      op: this.#operator.value as ClauseOperator,
      values,
      casei: !this.#foldLabel.hidden && this.#fold.checked,
    };
  }

  /** Whether the row has an input for a value but no value yet. */
  get isBlank(): boolean {
    return !this.#isFilled && this.#values.querySelector('input, textarea') !== null;
  }

  /** Shows an error; an empty text removes it. */
  complain(text: string): void {
    if (this.#problem.textContent !== text) this.#problem.textContent = text;
  }

  focus(): void {
    this.#field.focus();
  }

  get #type(): ClauseType {
    return this.data.fields.find(({ name }) => name === this.#field.value)?.type ?? 'geometry';
  }

  #fillOperators(op?: ClauseOperator): void {
    this.#operator.replaceChildren(
      ...listClauseOperators(this.#type).map((one) =>
        createHtmlElement('option', { value: one }, OPERATOR_NAMES[one]),
      ),
    );
    if (op) this.#operator.value = op;
  }

  #fillValues(values: readonly string[]): void {
    const op = this.#operator.value as ClauseOperator;
    const number = valueCount(op);
    this.#foldLabel.hidden = this.#type !== 'string' || number === 0;
    if (number === 'many') this.#values.replaceChildren(manyValues(values));
    else if (op === 'box') this.#values.replaceChildren(...this.#boxInputs(values));
    else
      this.#values.replaceChildren(
        ...Array.from({ length: number }, (_, i) => this.#input(values[i], number, i)),
      );
  }

  #input(value: string | undefined, number: number, i: number): HTMLElement {
    const label = number === 1 ? 'Value' : ['From', 'To'][i]!;
    const choices =
      this.#type === 'boolean'
        ? ['true', 'false']
        : this.data.fields.find(({ name }) => name === this.#field.value)?.values;
    if (choices && number === 1 && !['contains', 'starts', 'like'].includes(this.#operator.value)) {
      const node = select(
        label,
        choices.map((one) => [one, one] as const),
      );
      if (value !== undefined) node.value = value;
      return node;
    }
    const node = createHtmlElement('input', {
      'aria-label': label,
      autocomplete: 'off',
      ...inputType(this.#type),
    });
    if (number === 1 && OFFERED.has(this.#type)) this.#offerValues(node);
    node.value = this.#type === 'date-time' ? (value ?? '').replace(/Z$/, '') : (value ?? '');
    return node;
  }

  /** Frequent values are offered while the reader types. They are loaded when the field is focused. */
  #offerValues(node: HTMLInputElement): void {
    const field = this.#field.value;
    const fill = async () => {
      const values = await this.events.listValues(field);
      if (values.length === 0) return;
      const list = createHtmlElement('datalist', { id: `values-${++lists}` });
      list.append(
        ...values.map(({ value, count }) =>
          createHtmlElement('option', {
            value,
            label: `${value} (${new Intl.NumberFormat('en').format(count)})`,
          }),
        ),
      );
      node.after(list);
      node.setAttribute('list', list.id);
    };
    node.addEventListener('focus', () => void fill(), { once: true });
  }

  #boxInputs(values: readonly string[]): HTMLElement[] {
    const inputs = SIDES.map((side, i) => {
      const node = createHtmlElement('input', {
        'aria-label': `${side}, degrees`,
        placeholder: side,
        inputmode: 'decimal',
      });
      node.value = values[i] ?? '';
      return node;
    });
    const take = async (box: Promise<readonly string[] | undefined>) => {
      const values = await box;
      if (!values) return;
      for (const [i, input] of inputs.entries()) input.value = values[i]!;
      this.#isFilled = true;
      this.events.changed();
    };
    return [
      ...inputs,
      button('Map extent', () => void take(this.events.getVisibleBox())),
      button('Draw on the map', () => void take(this.events.letUserDrawBox())),
    ];
  }
}

function manyValues(values: readonly string[]): HTMLElement {
  const node = createHtmlElement('textarea', {
    'aria-label': 'Values, one per line',
    rows: '3',
    spellcheck: 'false',
  });
  node.value = values.join('\n');
  return node;
}

function inputType(type: ClauseType): Record<string, string> {
  if (type === 'integer' || type === 'number') return { inputmode: 'decimal' };
  if (type === 'date') return { type: 'date' };
  return type === 'date-time'
    ? { type: 'datetime-local', step: '1', title: 'In UTC' }
    : { spellcheck: 'false' };
}
