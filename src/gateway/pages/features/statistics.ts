import type { VectorCollection } from '../../../core/catalog/collection.js';
import { print } from '../../../core/cql2/print.js';
import type { FieldStatistics, StatisticsResult } from '../../../core/features/field-statistics.js';
import { type Clause, ClauseProblem, clauseExpression } from '../../../core/features/filter-clauses.js';
import type { Field } from '../../../core/sources/vector-source.js';
import { html, type Markup } from '../../../core/values/html.js';
import { type Crumb, type PageFrame, page } from '../layout.js';
import { type PageLink, representationLine } from '../links.js';
import { buildItemsUrl } from '../maps/map-data.js';
import { table } from '../table.js';
import { facts, formatCount, shortenText } from '../values.js';
import { type Bar, columnChart } from './column-chart.js';

export interface StatisticsPage extends PageFrame {
  readonly crumbs: readonly Crumb[];
  readonly collection: VectorCollection;
  readonly statistics: StatisticsResult;
  readonly links: readonly PageLink[];
}

/** A page with the charts of all attributes. Pages of collections take its part `data-statistics` over. */
export function renderStatisticsPage(input: StatisticsPage): string {
  const { collection, links } = input;
  const body = html`<h1><bdi>${collection.title}</bdi>: statistics</h1>
${representationLine(links)}
<h2>Attributes</h2>
${statisticsPart(input)}`;
  return page({ ...input, title: `${collection.title}: statistics`, body, alternates: links });
}

const ofAll = ({ featureCount }: VectorCollection) =>
  featureCount === undefined ? '' : `of ${formatCount(featureCount)} `;

function statisticsPart({ baseUrl, collection, statistics }: StatisticsPage): Markup {
  const { read, complete, fields } = statistics;
  const basis = complete
    ? `Statistics of all ${formatCount(read)} features.`
    : `Statistics of the first ${formatCount(read)} ${ofAll(collection)}features.`;
  const parts = fields.map((one) => {
    const field = collection.source.fields.find(({ name }) => name === one.name)!;
    return fieldPart(one, field, buildItemsUrl(collection, baseUrl));
  });
  return html`<div data-statistics><p class="muted">${basis} Select a bar to see its features.</p><div class="stats">${parts}</div></div>`;
}

/** One bar of a chart, and the condition for the values it counts. */
interface Bin {
  readonly label: string;
  readonly count: number;
  readonly clause: Clause;
}

function fieldPart(one: FieldStatistics, field: Field, items: string): Markup {
  const bins = listBins(one, field);
  const name = field.title ?? field.name;
  return html`<section class="stat" aria-label="${name}"><h3><bdi>${name}</bdi></h3>
${facts(listFacts(one))}
${bins.length === 0 ? undefined : chart(one, name, bins)}
${bins.length === 0 ? undefined : binTable(one, field, bins, items)}</section>`;
}

function chart(one: FieldStatistics, name: string, bins: readonly Bin[]): Markup {
  const bars: Bar[] = bins.map((bin) => ({
    label: `${bin.label}: ${formatCount(bin.count)}`,
    value: bin.count,
    data: JSON.stringify(bin.clause),
  }));
  const fullest = bins.reduce((best, bin) => (bin.count > best.count ? bin : best));
  const what = one.kind === 'number' || one.kind === 'time' ? 'Histogram' : 'Frequent values';
  const label = `${what} of ${name}: most features, ${formatCount(fullest.count)}, at ${fullest.label}`;
  return columnChart({ label, bars, first: bins[0]!.label, last: bins.at(-1)!.label });
}

function binTable(one: FieldStatistics, field: Field, bins: readonly Bin[], items: string): Markup {
  const rows = bins.map(({ label, count: n, clause }) => {
    const filter = filterText(clause, field);
    const text = html`<bdi>${label}</bdi>`;
    const target =
      filter === undefined
        ? text
        : html`<a href="${`${items}?f=html&filter=${encodeURIComponent(filter)}`}" data-clause="${JSON.stringify(clause)}">${text}</a>`;
    return html`<tr><th scope="row">${target}</th><td class="num">${formatCount(n)}</td></tr>`;
  });
  const isHistogram = one.kind === 'number' || one.kind === 'time';
  const name = field.title ?? field.name;
  const label = isHistogram ? `Histogram of ${name} as a table` : `Most frequent values of ${name}`;
  return html`<details><summary>${label}</summary>${table(label, [isHistogram ? 'Range' : 'Value', 'Features'], rows)}</details>`;
}

/** Undefined for values that filters have no words for, such as years before the first. */
function filterText(clause: Clause, field: Field): string | undefined {
  try {
    return print(clauseExpression(clause, field.type));
  } catch (error) {
    if (error instanceof ClauseProblem) return undefined;
    throw error;
  }
}

type Fact = readonly [string, Markup | string | number | undefined];

function listFacts(one: FieldStatistics): Fact[] {
  return [['Values', formatCount(one.count)], ['Empty', formatCount(one.nulls)], ...ownFacts(one)];
}

const QUANTILE_NAMES: Record<string, string> = {
  '0.05': '5th percentile',
  '0.25': 'Lower quartile',
  '0.5': 'Median',
  '0.75': 'Upper quartile',
  '0.95': '95th percentile',
};

function ownFacts(one: FieldStatistics): Fact[] {
  switch (one.kind) {
    case 'number':
      return [
        ['Minimum', one.min === null ? undefined : formatNumber(one.min)],
        ['Maximum', one.max === null ? undefined : formatNumber(one.max)],
        ['Mean', one.mean === null ? undefined : formatNumber(one.mean, 6)],
        ['Standard deviation', one.stddev === null ? undefined : formatNumber(one.stddev, 6)],
        ...one.quantiles.map(({ p, value }): Fact => [QUANTILE_NAMES[p]!, formatNumber(value, 6)]),
        [
          'Quantiles',
          one.quantileValues < one.count - one.notFinite
            ? `estimated from ${formatCount(one.quantileValues)} sampled values`
            : undefined,
        ],
        ['Not a finite number', one.notFinite === 0 ? undefined : formatCount(one.notFinite)],
      ];
    case 'text':
      return [
        ['Distinct values', `${one.distinctExact ? '' : 'about '}${formatCount(one.distinct)}`],
        [
          'Count accuracy',
          one.topError === 0
            ? undefined
            : `too low by up to ${formatCount(one.topError)}: rare values are not counted`,
        ],
      ];
    case 'time':
      return [
        ['First', one.min ?? undefined],
        ['Last', one.max ?? undefined],
      ];
    case 'boolean':
      return [];
  }
}

function listBins(one: FieldStatistics, field: Field): Bin[] {
  const { name } = one;
  const equal = (value: string): Clause => ({ field: name, op: '=', values: [value] });
  switch (one.kind) {
    case 'number':
      return one.bins.map(({ from, to, count }) =>
        field.type === 'integer' && to - from === 1
          ? { label: formatNumber(from), count, clause: equal(String(from)) }
          : {
              label: `${formatNumber(from)} to ${formatNumber(to)}`,
              count,
              clause: { field: name, op: 'range', values: [String(from), String(to)] },
            },
      );
    case 'time':
      return one.bins.map(({ from, to, count }) => ({
        label: `${from} to ${to}`,
        count,
        clause: { field: name, op: 'range', values: [from, to] },
      }));
    case 'boolean':
      return [
        { label: 'true', count: one.true, clause: equal('true') },
        { label: 'false', count: one.false, clause: equal('false') },
      ].filter(({ count }) => count > 0);
    case 'text':
      // Values of structures are not compared as texts, and bars of one feature each say nothing.
      return field.type !== 'string' || one.top[0]?.count === 1
        ? []
        : one.top.map(({ value, count }) => ({
            label: value === '' ? '(no letters)' : shortenText(value),
            count,
            clause: equal(value),
          }));
  }
}

/** Digits in groups; very large and very small numbers with a power of ten. */
export function formatNumber(value: number | string, digits = 12): string {
  if (typeof value === 'string') return value;
  const size = Math.abs(value);
  if (size !== 0 && (size >= 1e15 || size < 1e-5)) return String(Number(value.toPrecision(digits)));
  return new Intl.NumberFormat('en', { maximumSignificantDigits: digits }).format(value);
}
