import type { FilterData } from '../../../core/catalog/page-data.js';
import { print } from '../../../core/cql2/print.js';
import {
  type Clause,
  ClauseProblem,
  type ClauseType,
  clauseExpression,
  combineClauses,
  listClauseOperators,
} from '../../../core/features/filter-clauses.js';
import { onThisOrigin } from '../page.js';
import { getVisibleBox, letUserDrawBox } from './box.js';
import { button, createHtmlElement, select } from './elements.js';
import { showMatches } from './matches.js';
import { ClauseRow } from './row.js';

/** Milliseconds after the last key press before the count is requested. */
const PAUSE_MS = 300;

/** Conditions, the CQL2 text that they make, the number of matches, and where these are had. */
export class FilterForm {
  readonly #rows: ClauseRow[] = [];
  readonly #list = createHtmlElement('div', { class: 'clauses' });
  readonly #combination = select('Features that meet', [
    ['and', 'all conditions'],
    ['or', 'any condition'],
  ]);
  readonly #text = createHtmlElement('code', { 'data-filter-text': '' });
  readonly #url = createHtmlElement('code', { 'data-filter-url': '' });
  readonly #count = createHtmlElement('p', { class: 'filter-count', role: 'status' });
  readonly #links = createHtmlElement('p', { class: 'actions' });
  readonly #result = createHtmlElement('div', { class: 'filter-result' });
  #timer: ReturnType<typeof setTimeout> | undefined;
  #counting: AbortController | undefined;

  constructor(
    readonly form: HTMLFormElement,
    readonly data: FilterData,
  ) {
    form.addEventListener('submit', (event) => event.preventDefault());
    this.#combination.addEventListener('change', () => this.#update());
    const first = data.fields[0]?.name ?? data.geometry;
    const add = button('Add a condition', () => first !== null && this.#append(this.#empty(first)).focus());
    const combination = createHtmlElement('label', {}, 'Features that meet ', this.#combination);
    this.#result.append(
      this.#count,
      codeBlock('Filter in CQL2', this.#text),
      codeBlock('URL of the features', this.#url),
      this.#links,
    );
    form.append(combination, this.#list, createHtmlElement('p', {}, add), this.#result);
    this.#update();
  }

  /** Adds a condition and shows it. */
  add(clause: Clause): void {
    const row = this.#append(clause);
    row.root.scrollIntoView({ block: 'center' });
    row.focus();
  }

  #empty(field: string): Clause {
    return { field, op: listClauseOperators(this.#typeOf(field))[0]!, values: [] };
  }

  #append(clause: Clause): ClauseRow {
    const row = new ClauseRow(
      this.data,
      { changed: () => this.#update(), removed: (one) => this.#remove(one), getVisibleBox, letUserDrawBox },
      clause,
    );
    this.#rows.push(row);
    this.#list.append(row.root);
    this.#update();
    return row;
  }

  #remove(row: ClauseRow): void {
    this.#rows.splice(this.#rows.indexOf(row), 1);
    row.root.remove();
    this.form.querySelector<HTMLButtonElement>(':scope > p > button')?.focus();
    this.#update();
  }

  readonly #typeOf = (field: string): ClauseType =>
    this.data.fields.find(({ name }) => name === field)?.type ?? 'geometry';

  /** The CQL2 text; undefined while a condition is not finished. */
  #filter(): string | undefined {
    let isWhole = true;
    for (const row of this.#rows) {
      const problem = row.isBlank ? '' : findProblem(row.clause(), this.#typeOf(row.clause().field));
      row.complain(problem ?? '');
      if (problem !== undefined) isWhole = false;
    }
    if (!isWhole) return undefined;
    const clauses = this.#rows.map((row) => row.clause());
    const expression = combineClauses(clauses, this.#typeOf, this.#combination.value as 'and' | 'or');
    return expression === undefined ? '' : print(expression);
  }

  #update(): void {
    const filter = this.#filter();
    this.#counting?.abort();
    clearTimeout(this.#timer);
    this.#result.classList.toggle('is-unfinished', filter === undefined);
    if (filter === undefined) {
      this.#count.textContent = 'A condition is incomplete.';
      return;
    }
    const { items, formats } = this.data;
    this.#text.textContent = filter === '' ? 'no conditions: all features' : filter;
    this.#url.textContent = buildAddress(items, 'json', filter);
    this.#links.replaceChildren(
      linkButton('List and map', buildAddress(items, 'html', filter)),
      ...formats.map(({ f, title }) => linkButton(title, buildAddress(items, f, filter))),
    );
    this.#count.textContent = 'Counting …';
    this.#timer = setTimeout(() => void this.#countMatches(filter), PAUSE_MS);
  }

  async #countMatches(filter: string): Promise<void> {
    const controller = new AbortController();
    this.#counting = controller;
    const { items, baseUrl, collection } = this.data;
    const url = onThisOrigin(buildAddress(items, 'json', filter), baseUrl);
    try {
      const answer = await fetch(`${url}&limit=1`, { signal: controller.signal });
      const document = (await answer.json()) as { numberMatched?: number; detail?: string; title?: string };
      this.#count.textContent = answer.ok
        ? countText(document.numberMatched)
        : (document.detail ?? document.title ?? '');
      if (answer.ok) await showMatches(collection, filter);
    } catch (error) {
      if ((error as Error).name !== 'AbortError')
        this.#count.textContent = 'The server cannot count the features at the moment.';
    }
  }
}

function findProblem(clause: Clause, type: ClauseType): string | undefined {
  try {
    clauseExpression(clause, type);
    return undefined;
  } catch (error) {
    if (error instanceof ClauseProblem) return error.message;
    throw error;
  }
}

function countText(matched: number | undefined): string {
  if (matched === undefined) return 'The number of matches is unknown.';
  if (matched === 1) return 'One feature matches.';
  return `${new Intl.NumberFormat('en').format(matched)} features match.`;
}

function buildAddress(items: string, f: string, filter: string): string {
  const condition = filter === '' ? '' : `&filter=${encodeURIComponent(filter).replaceAll("'", '%27')}`;
  return `${items}?f=${f}${condition}`;
}

function linkButton(text: string, href: string): HTMLAnchorElement {
  return createHtmlElement('a', { class: 'button', href }, text);
}

function codeBlock(label: string, code: HTMLElement): HTMLElement {
  const copy = button('Copy', async () => {
    try {
      await navigator.clipboard.writeText(code.textContent ?? '');
      copy.textContent = 'Copied';
    } catch {
      getSelection()?.selectAllChildren(code);
      copy.textContent = 'Selected: press Ctrl+C';
    }
    setTimeout(() => (copy.textContent = 'Copy'), 3000);
  });
  copy.setAttribute('aria-label', `Copy: ${label}`);
  copy.dataset.copyFilter = '';
  const pre = createHtmlElement('pre', { tabindex: '0', role: 'region', 'aria-label': label }, code);
  return createHtmlElement(
    'div',
    {},
    createHtmlElement('p', { class: 'code-label' }, label),
    createHtmlElement('div', { class: 'code' }, pre, copy),
  );
}
