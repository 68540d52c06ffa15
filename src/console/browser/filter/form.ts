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
import { FieldValues } from './values.js';

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
  readonly #downloads = createHtmlElement('p', { class: 'actions' });
  readonly #values: FieldValues;
  readonly #result = createHtmlElement('div', { class: 'filter-result' });
  #timer: ReturnType<typeof setTimeout> | undefined;
  #counting: AbortController | undefined;

  constructor(
    readonly form: HTMLFormElement,
    readonly data: FilterData,
  ) {
    this.#values = new FieldValues(onThisOrigin(buildSibling(data.items, 'statistics'), data.baseUrl));
    form.addEventListener('submit', (event) => event.preventDefault());
    this.#combination.value = data.combination;
    this.#combination.addEventListener('change', () => this.#update());
    const first = data.fields[0]?.name ?? data.geometry;
    const add = button('Add a condition', () => first !== null && this.#append(this.#empty(first)).focus());
    const combination = createHtmlElement('label', {}, 'Features that meet ', this.#combination);
    this.#result.append(
      this.#count,
      codeBlock('Filter in CQL2', this.#text),
      codeBlock('URL of the features', this.#url),
      this.#links,
      this.#downloads,
    );
    if (data.clauses === null)
      form.append(
        createHtmlElement(
          'p',
          { class: 'muted' },
          'The filter of this page has other conditions than this form. Adding a condition replaces it.',
        ),
      );
    form.append(combination, this.#list, createHtmlElement('p', {}, add), this.#result);
    for (const clause of data.clauses ?? []) this.#append(clause);
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
      {
        changed: () => this.#update(),
        removed: (one) => this.#remove(one),
        getVisibleBox,
        letUserDrawBox,
        listValues: (field) => this.#values.list(field),
      },
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
    const { items, selection, view } = this.data;
    this.#text.textContent = filter === '' ? 'no conditions: all features' : filter;
    this.#url.textContent = buildAddress(items, 'json', filter, selection);
    this.#links.replaceChildren(
      linkButton('Show these features', buildAddress(items, 'html', filter, selection, view)),
    );
    this.#showDownloads(filter);
    this.#count.textContent = 'Counting …';
    this.#timer = setTimeout(() => void this.#countMatches(filter), PAUSE_MS);
  }

  /** A link or a button for each format, with an estimate of its size. */
  #showDownloads(filter: string, count?: number): void {
    const { items, baseUrl, selection, exports } = this.data;
    const url = buildSibling(items, 'export');
    // The page itself offers downloads of everything.
    if (filter === '' && selection === '') return this.#downloads.replaceChildren();
    const controls = exports.map(({ f, title, isJob, bytes, base }) => {
      const text = `${title}${sizeText(bytes, base, count)}`;
      const href = buildAddress(url, f, filter, selection);
      if (!isJob) return linkButton(text, href);
      const action = onThisOrigin(href, baseUrl);
      const submit = createHtmlElement('button', { type: 'button' }, text);
      submit.addEventListener('click', () => postTo(action));
      return submit;
    });
    this.#downloads.replaceChildren('Download: ', ...controls);
  }

  async #countMatches(filter: string): Promise<void> {
    const controller = new AbortController();
    this.#counting = controller;
    const { items, baseUrl, collection, selection } = this.data;
    const address = buildQuery(selection, filterParameter(filter));
    const url = onThisOrigin(`${buildSibling(items, 'count')}?${address}`, baseUrl);
    try {
      const answer = await fetch(url, { signal: controller.signal });
      const document = (await answer.json()) as Matches & { detail?: string; title?: string };
      this.#count.textContent = answer.ok ? countText(document) : (document.detail ?? document.title ?? '');
      if (answer.ok) this.#showDownloads(filter, document.numberMatched);
      if (answer.ok) await showMatches(collection, filter);
    } catch (error) {
      if ((error as Error).name !== 'AbortError')
        this.#count.textContent = 'The server cannot count the features at the moment.';
    }
  }
}

/** Response of the count: a number, or a number that is exceeded. */
interface Matches {
  readonly numberMatched?: number;
  readonly moreThan?: number;
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

const NUMBERS = new Intl.NumberFormat('en');

function countText({ numberMatched, moreThan }: Matches): string {
  if (numberMatched === 1) return 'One feature matches.';
  if (numberMatched !== undefined) return `${NUMBERS.format(numberMatched)} features match.`;
  if (moreThan) return `More than ${NUMBERS.format(moreThan)} features match.`;
  return 'The features could not be counted within a second.';
}

/** URL of a resource next to the items. */
const buildSibling = (items: string, name: string) => items.replace(/items$/, name);

function filterParameter(filter: string): string {
  return filter === '' ? '' : `filter=${encodeURIComponent(filter).replaceAll("'", '%27')}`;
}

const buildQuery = (...parts: string[]) => parts.filter((part) => part !== '').join('&');

function buildAddress(url: string, f: string, filter: string, ...others: string[]): string {
  return `${url}?${buildQuery(`f=${f}`, filterParameter(filter), ...others)}`;
}

/** `, about 2.4 MB`. */
function sizeText(bytes: number | null, base: number, count: number | undefined): string {
  if (bytes === null || count === undefined) return '';
  const size = base + bytes * count;
  const unit = Math.min(4, Math.max(0, Math.floor(Math.log10(Math.max(1, size)) / 3)));
  const value = size / 1000 ** unit;
  return `, about ${unit === 0 ? Math.round(value) : Number(value.toPrecision(2))} ${['bytes', 'kB', 'MB', 'GB', 'TB'][unit]}`;
}

/** Sends a form without fields. The filter is itself a form, and forms cannot contain forms. */
function postTo(action: string): void {
  const form = createHtmlElement('form', { method: 'post', action });
  document.body.append(form);
  form.submit();
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
