import type { GeometryType } from '../../sources/vector-source.js';
import { defaultStyle } from '../default-style.js';
import { exportDrawingInfo } from '../drawing-info/export.js';
import type { StyleLayer } from '../model.js';
import { computeBreaks, type NumericMethod } from './breaks.js';
import type { Classes, ClassLegendEntry } from './classes.js';
import { classLayers } from './layers.js';
import { type PaletteName, paletteColors } from './palettes.js';
import {
  createFieldProfile,
  type FieldProfile,
  type FieldSample,
  MAX_CATEGORIES,
  suitability,
} from './profile.js';

type SuggestMethod = NumericMethod | 'UniqueValue';

export interface SuggestOptions {
  readonly preferredField?: string;
  readonly preferredMethod?: SuggestMethod;
  readonly preferredPalette?: PaletteName;
  /** 2 to 12. */
  readonly classCount: number;
}

export interface StyleSuggestion {
  readonly layers: readonly StyleLayer[];
  readonly drawingInfo: Readonly<Record<string, unknown>>;
  /** Empty names when all features look the same. */
  readonly field: { readonly name: string; readonly type: string; readonly reason: string };
  readonly method: SuggestMethod | undefined;
  readonly palette: PaletteName;
  readonly legend: { readonly title: string; readonly entries: readonly ClassLegendEntry[] };
  readonly observations: readonly string[];
}

/** A style from a sample of a collection's rows. The preferred field is known to be one of the samples. */
export function suggestStyle(
  samples: readonly FieldSample[],
  geometryType: GeometryType,
  options: SuggestOptions,
): StyleSuggestion {
  const observations: string[] = [];
  const choice = chooseField(samples.map(createFieldProfile), options, observations);
  if (!choice) return single(geometryType, observations);
  const { profile, reason } = choice;
  const method = methodFor(profile, options, observations);
  const palette = options.preferredPalette ?? (method === 'UniqueValue' ? 'CartoBold' : paletteFor(profile));
  const classes =
    method === 'UniqueValue'
      ? categories(profile, palette, options, observations)
      : numbers(profile, method, palette, options);
  if (profile.nulls > 0)
    observations.push(`${profile.nulls} of ${profile.rows} rows have no ${profile.name}; they are gray.`);
  const layers = classLayers(geometryType, profile.name, classes);
  return {
    layers,
    drawingInfo: exportDrawingInfo(layers).drawingInfo,
    field: { name: profile.name, type: profile.type, reason },
    method,
    palette,
    legend: { title: profile.name, entries: classes.entries },
    observations,
  };
}

interface Chosen {
  readonly profile: FieldProfile;
  readonly reason: string;
}

function chooseField(
  profiles: readonly FieldProfile[],
  { preferredField }: SuggestOptions,
  observations: string[],
): Chosen | undefined {
  const preferred = profiles.find(({ name }) => name === preferredField);
  if (preferred) {
    if (preferred.distinct.length > 0) return { profile: preferred, reason: 'The request names it.' };
    observations.push(`${preferred.name} has no values in the rows that were looked at.`);
  }
  const judged = profiles.map((profile) => ({ profile, ...suitability(profile) }));
  const best = judged.reduce<(typeof judged)[number] | undefined>(
    (one, other) => (other.score > (one?.score ?? 0) ? other : one),
    undefined,
  );
  if (!best) observations.push('No attribute has different values.');
  return best;
}

function methodFor(
  profile: FieldProfile,
  { preferredMethod }: SuggestOptions,
  observations: string[],
): SuggestMethod {
  const { numbers: values, distinct } = profile;
  const cut = values.length > 0 && distinct.length > 1;
  if (preferredMethod && preferredMethod !== 'UniqueValue' && !cut) {
    observations.push(`${profile.name} has no numbers to cut into classes: its values are shown.`);
    return 'UniqueValue';
  }
  if (preferredMethod) return preferredMethod;
  if (!cut || distinct.length <= MAX_CATEGORIES) return 'UniqueValue';
  const skew = skewness(values);
  observations.push(`The values of ${profile.name} are ${Math.abs(skew) < 1 ? 'evenly spread' : 'skewed'}.`);
  return Math.abs(skew) < 1 ? 'NaturalBreaks' : 'Quantile';
}

/** Skewness of the sample: 0 for symmetric values, above 1 if a few values are much larger. */
function skewness(values: readonly number[]): number {
  const mean = values.reduce((sum, value) => sum + value / values.length, 0);
  const moment = (power: number) =>
    values.reduce((sum, value) => sum + (value - mean) ** power / values.length, 0);
  const deviation = Math.sqrt(moment(2));
  const skew = moment(3) / deviation ** 3;
  return Number.isFinite(skew) ? skew : 0;
}

/** Values on both sides of zero have a middle. */
function paletteFor({ numbers: values }: FieldProfile): PaletteName {
  return values[0]! < 0 && values.at(-1)! > 0 ? 'RdBu' : 'Viridis';
}

function numbers(
  { numbers: values }: FieldProfile,
  method: NumericMethod,
  palette: PaletteName,
  { classCount }: SuggestOptions,
): Classes {
  const breaks = computeBreaks(method, values, classCount);
  const limits = [values[0]!, ...breaks, values.at(-1)!];
  const colors = paletteColors(palette, breaks.length + 1);
  const entries = colors.map((color, i): ClassLegendEntry => {
    const [minValue, maxValue] = [limits[i]!, limits[i + 1]!];
    return { label: `${minValue} – ${maxValue}`, color, minValue, maxValue };
  });
  return { breaks, entries };
}

function categories(
  { distinct }: FieldProfile,
  palette: PaletteName,
  { classCount, preferredMethod }: SuggestOptions,
  observations: string[],
): Classes {
  const most = preferredMethod === 'UniqueValue' ? Math.max(classCount, 2) : MAX_CATEGORIES;
  const classes = distinct.slice(0, Math.min(most, MAX_CATEGORIES));
  if (classes.length < distinct.length) {
    observations.push(
      `The ${classes.length} most frequent of ${distinct.length} values have a colour; the others are gray.`,
    );
  }
  const colors = paletteColors(palette, classes.length);
  return { breaks: undefined, entries: classes.map(([label], i) => ({ label, color: colors[i]! })) };
}

function single(geometryType: GeometryType, observations: readonly string[]): StyleSuggestion {
  const { layers } = defaultStyle(geometryType, 'suggested');
  return {
    layers,
    drawingInfo: exportDrawingInfo(layers).drawingInfo,
    field: { name: '', type: '', reason: 'No attribute has different values.' },
    method: undefined,
    palette: 'Viridis',
    legend: { title: '', entries: [] },
    observations,
  };
}
