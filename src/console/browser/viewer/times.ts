import type { LayerTime } from '../../../core/catalog/page-data.js';
import { onThisOrigin } from '../page.js';

/** Maximum number of steps of the slider. */
const MAX_STEPS = 1000;
/** Units that a range without known instants is divided into, the finest first. */
const WANTED_STEPS = 120;
const HOUR = 3_600_000;

type Unit = 'hour' | 'day' | 'month' | 'year';

/** Milliseconds since the epoch of the steps of a slider, ascending: all that the layers have. */
export async function listTimeSteps(times: readonly LayerTime[], baseUrl: string): Promise<number[]> {
  const all = await Promise.all(times.map((time) => listInstants(time, baseUrl)));
  const steps = [...new Set(all.flat())].filter(Number.isFinite).sort((a, b) => a - b);
  return thinned(steps);
}

function thinned(steps: number[]): number[] {
  const every = Math.ceil(steps.length / MAX_STEPS);
  return every > 1 ? steps.filter((_, i) => i % every === 0) : steps;
}

async function listInstants(time: LayerTime, baseUrl: string): Promise<number[]> {
  if (time.kind === 'instants') return time.instants.map(Date.parse);
  const [first, last] = await Promise.all([findEnd(time, '+', baseUrl), findEnd(time, '-', baseUrl)]);
  if (first === undefined || last === undefined) return [];
  return division(first, last);
}

/** The minimum or maximum of a property: that of the first feature in ascending or descending order. */
async function findEnd(
  { name, items }: Extract<LayerTime, { kind: 'property' }>,
  order: '+' | '-',
  baseUrl: string,
): Promise<number | undefined> {
  const query = new URLSearchParams({
    f: 'json',
    limit: '1',
    sortby: `${order}${name}`,
    filter: `"${name.replaceAll('"', '""')}" IS NOT NULL`,
  });
  const response = await fetch(`${onThisOrigin(items, baseUrl)}?${query}`);
  if (!response.ok) return undefined;
  const { features } = (await response.json()) as { features: { properties: Record<string, unknown> }[] };
  const value = Date.parse(String(features[0]?.properties[name]));
  return Number.isNaN(value) ? undefined : value;
}

/** Beginnings of the hours, days, months or years between two instants: the finest that are not too many. */
export function division(first: number, last: number): number[] {
  const span = last - first;
  const unit: Unit =
    span <= WANTED_STEPS * HOUR
      ? 'hour'
      : span <= WANTED_STEPS * 24 * HOUR
        ? 'day'
        : span <= WANTED_STEPS * 30 * 24 * HOUR
          ? 'month'
          : 'year';
  const steps: number[] = [];
  for (let at = computeBegin(first, unit); at <= last && steps.length < MAX_STEPS; at = after(at, unit))
    steps.push(at);
  return steps;
}

function computeBegin(instant: number, unit: Unit): number {
  const date = new Date(instant);
  const month = unit === 'year' ? 0 : date.getUTCMonth();
  const day = unit === 'year' || unit === 'month' ? 1 : date.getUTCDate();
  return Date.UTC(date.getUTCFullYear(), month, day, unit === 'hour' ? date.getUTCHours() : 0);
}

function after(instant: number, unit: Unit): number {
  if (unit === 'hour') return instant + HOUR;
  if (unit === 'day') return instant + 24 * HOUR;
  const date = new Date(instant);
  const months = unit === 'month' ? 1 : 12;
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + months, 1);
}

/** The time from the start of one step to the end of another, as a `datetime` value. */
export function formatDatetime(steps: readonly number[], from: number, to: number): string {
  const next = steps[to + 1];
  return `${instant(steps[from]!)}/${next === undefined ? '..' : instant(next - 1)}`;
}

function instant(milliseconds: number): string {
  return new Date(milliseconds).toISOString().replace('.000Z', 'Z');
}

/** An instant for readers, with as much as the steps differ in. */
export function shownInstant(milliseconds: number, steps: readonly number[]): string {
  const text = new Date(milliseconds).toISOString();
  const all = (pattern: RegExp) => steps.every((step) => pattern.test(new Date(step).toISOString()));
  if (!all(/T00:00:00/)) return `${text.slice(0, 10)} ${text.slice(11, 16)}`;
  return all(/-01-01T/) ? text.slice(0, 4) : all(/-01T/) ? text.slice(0, 7) : text.slice(0, 10);
}

/**
 * The instant that a raster shows, in RFC 3339: the newest one within a `datetime` interval, or of all. Undefined for
 * layers of features, and if there is none.
 */
export function findDrawnInstant(time: LayerTime | null, datetime: string | undefined): string | undefined {
  if (time?.kind !== 'instants') return undefined;
  const [start = '..', end = start] = datetime?.split('/') ?? [];
  const [first, last] = [
    start === '..' ? -Infinity : Date.parse(start),
    end === '..' ? Infinity : Date.parse(end),
  ];
  return time.instants.findLast((one) => Date.parse(one) >= first && Date.parse(one) <= last);
}

/** The label of an unselected time: layers of features show all times, and each raster shows one. */
export function describeUnselected(times: readonly LayerTime[], steps: readonly number[]): string {
  const isRaster = times.map(({ kind }) => kind === 'instants');
  if (!isRaster.includes(true)) return 'All times';
  const newest = new Set(times.flatMap((time) => findDrawnInstant(time, undefined) ?? []));
  const [only] = newest;
  const rasters = newest.size === 1 ? shownInstant(Date.parse(only!), steps) : 'Newest time of each layer';
  return isRaster.includes(false) ? `All times; rasters: ${rasters.toLowerCase()}` : rasters;
}
