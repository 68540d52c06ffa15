import type { VectorCollection } from '../../../core/catalog/collection.js';
import { badParameter } from '../../../core/errors/errors.js';
import type { BinCut, BinsTask, FeatureBin } from '../../../core/features/feature-bins.js';
import { groupColumns, valueField } from '../../../core/features/feature-groups.js';
import type { Field } from '../../../core/sources/vector-source.js';
import { type AnyNumber, toDouble } from '../../../core/values/exact-number.js';
import { isValidInstant, UTC, zonedText } from '../../../core/values/time-zones.js';
import type { OutputStatistic } from '../../../services/geoservices/having-clause.js';
import {
  type Members,
  readChoiceMember,
  readFlagMember,
  readIntegerMember,
  readObjectMember,
  readTextMember,
} from '../members.js';
import {
  isDescending,
  parseUnitLength,
  readBinCount,
  readBinCut,
  readBinShift,
  readCalendarCut,
  requireTimeZone,
  TIMES,
} from './bin-cuts.js';
import { QUERY_FORMATS, type QueryFormat, readFeatureQuery, readRecordLimit } from './query-request.js';
import { describeColumn, type TableField, tableValue } from './statistics-operations.js';
import {
  listComparableFields,
  NAME_PATTERN,
  readOutputStatistics,
  requireDifferent,
  requireStatistic,
} from './statistics-request.js';

/** Parameters of `queryBins`. Each reader throws 400 with the name of the parameter. */

export interface BinsRequest {
  readonly format: QueryFormat;
  readonly task: BinsTask;
  readonly isDescending: boolean;
  readonly offset: number;
  readonly limit: number;
  /** Columns of a bin, in the order of the response. */
  readonly columns: readonly BinColumn[];
}

export interface BinColumn {
  readonly field: TableField;
  value(bin: FeatureBin): unknown;
}

const NUMBERS: ReadonlySet<Field['type']> = new Set(['integer', 'number']);
const SPLITS: ReadonlySet<Field['type']> = new Set(['string', 'integer', 'boolean']);

/** `queryBins`. */
export function binsRequest(layer: VectorCollection, members: Members): BinsRequest {
  const bin = readObjectMember(members, 'bin');
  if (!bin) throw badParameter('bin', 'is required');
  for (const name of ['stackBy', 'onExpression', 'transformation', 'normalizationType'])
    if (bin[name] !== undefined && bin[name] !== null)
      throw badParameter('bin', `'${name}' is not supported`);
  const field = fieldNamed(layer, 'bin', bin['onField']);
  const isTime = TIMES.has(field.type);
  if (!isTime && !NUMBERS.has(field.type))
    throw badParameter('bin', `'${field.name}' has neither numbers nor times`);
  const zone = zoneOfAnswer(members);
  // Days have no zone: theirs is that in which they are counted.
  const cut = readBinCut(bin, isTime, field.type === 'date' ? UTC : (zone ?? UTC));
  const shown = bin['type'] === 'dateBin' ? zone : undefined;
  const limits = [
    limitColumn(chooseAlias(members, 'lowerBoundaryAlias', 'lowerBoundary'), field, 'lower', shown),
    ...(bin['hideUpperBound'] === true
      ? []
      : [limitColumn(chooseAlias(members, 'upperBoundaryAlias', 'upperBoundary'), field, 'upper', shown)]),
  ];
  return readRequest(layer, members, { field, cut, limits, split: readSplit(layer, bin) });
}

/** `queryDateBins`. */
export function dateBinsRequest(layer: VectorCollection, members: Members): BinsRequest {
  const bin = readObjectMember(members, 'bin');
  if (!bin) throw badParameter('bin', 'is required');
  if (readFlagMember(members, 'returnCentroid', false))
    throw badParameter('returnCentroid', 'is not supported');
  const field = fieldNamed(layer, 'binField', members['binField']);
  if (!TIMES.has(field.type))
    throw badParameter(
      'binField',
      `must be a date or time field, but '${field.name}' has the type ${field.type}`,
    );
  const zone = zoneOfAnswer(members);
  const cut = dateCut(bin, members, zone ?? UTC);
  return readRequest(layer, members, { field, cut, limits: [limitColumn('boundary', field, 'lower', zone)] });
}

/** A bin of a calendar, or one that is always as long. */
function dateCut(bin: Members, members: Members, zone: string): BinCut {
  const [calendar, fixed] = [readObjectMember(bin, 'calendarBin'), readObjectMember(bin, 'fixedBin')];
  if ((calendar === undefined) === (fixed === undefined))
    throw badParameter('bin', 'must have either calendarBin or fixedBin');
  const start = readTextMember(members, 'binStart', 40);
  if (calendar) {
    if (start !== undefined) throw badParameter('binStart', 'is only for fixedBin');
    const own = calendar['timezone'] ?? calendar['timeZone'];
    return readCalendarCut(calendar, own === undefined ? zone : requireTimeZone('bin', own));
  }
  const origin = start === undefined ? 0 : Number(start);
  if (!Number.isSafeInteger(origin)) throw badParameter('binStart', 'must be milliseconds since 1970');
  const interval = readBinCount(fixed!, 'number') * parseUnitLength(fixed!['unit'], 'fixedBin');
  return { kind: 'interval', interval, origin: origin + readBinShift(fixed!) };
}

interface Parts {
  readonly field: Pick<Field, 'name' | 'type'>;
  readonly cut: BinCut;
  readonly limits: readonly BinColumn[];
  readonly split?: { readonly field: Field; readonly name: string } | undefined;
}

function readRequest(
  layer: VectorCollection,
  members: Members,
  { field, cut, limits, split }: Parts,
): BinsRequest {
  const outputs = readOutputStatistics(layer, members) ?? [frequency(layer)];
  const columns = [
    ...limits,
    ...(split ? [splitColumn(split.field, split.name)] : []),
    ...statisticColumns(layer, outputs),
  ];
  requireDifferent(columns.map((column) => column.field.name));
  if (readFlagMember(members, 'returnDistinctValues', false))
    throw badParameter('returnDistinctValues', 'is not supported');
  return {
    format: readChoiceMember(members, 'f', { values: QUERY_FORMATS, fallback: 'json' }),
    isDescending: isDescending(members),
    offset: readIntegerMember(members, 'resultOffset') ?? 0,
    limit: readRecordLimit({ resultType: 'standard', resultRecordCount: members['resultRecordCount'] }),
    columns,
    task: {
      ...readFeatureQuery(layer, members),
      field: field.name,
      cut,
      statistics: outputs.map(({ statistic }) => statistic),
      ...(split ? { splitBy: split.field.name } : {}),
    },
  };
}

/** Number of features, which is the default statistic. */
const frequency = (layer: VectorCollection): OutputStatistic => ({
  name: 'frequency',
  statistic: requireStatistic(layer, 'outStatistics', 'count', '*'),
});

function statisticColumns({ source }: VectorCollection, outputs: readonly OutputStatistic[]): BinColumn[] {
  const fields = groupColumns(source, { groupBy: [], statistics: outputs.map(({ statistic }) => statistic) });
  return outputs.map(({ name, statistic }, place) => {
    const field = { ...fields[place]!, name };
    return {
      field: describeColumn({ field, isCount: statistic.type === 'count' }),
      value: ({ values }) => tableValue(values[place], field.type),
    };
  });
}

function splitColumn(field: Field, name: string): BinColumn {
  return {
    field: describeColumn({ field: { ...field, name }, isCount: false }),
    value: ({ split }) => tableValue(split, field.type),
  };
}

/** A boundary of a bin, in the time zone of the response if there is one. */
function limitColumn(
  name: string,
  { type }: Pick<Field, 'type'>,
  end: 'lower' | 'upper',
  zone: string | undefined,
): BinColumn {
  const column = (word: string, shape: (limit: AnyNumber) => unknown): BinColumn => ({
    field: { name, type: `esriFieldType${word}`, alias: name },
    value: (bin) => shape(bin[end]),
  });
  if (type !== 'date' && type !== 'date-time') return column('Double', (limit) => limit);
  const milliseconds = (limit: AnyNumber) => Math.round(toDouble(limit));
  const timed = (text: (limit: number) => string) => (limit: AnyNumber) =>
    isValidInstant(toDouble(limit)) ? text(toDouble(limit)) : null;
  // Days have no zone.
  if (zone === undefined || type === 'date') return column('Date', milliseconds);
  return column(
    'TimestampOffset',
    timed((limit) => zonedText(zone, limit)),
  );
}

function readSplit(layer: VectorCollection, bin: Members): Parts['split'] {
  const split = readObjectMember(bin, 'splitBy');
  if (split === undefined) return undefined;
  if ((split['type'] ?? 'field') !== 'field') throw badParameter('bin', 'must have the splitBy type field');
  const { name } = fieldNamed(layer, 'bin', split['value']);
  const field = layer.source.fields.find((one) => one.name === name);
  if (!field || !SPLITS.has(field.type)) throw badParameter('bin', `cannot be split by the field '${name}'`);
  const alias = split['outAlias'] || name;
  if (typeof alias !== 'string' || !NAME_PATTERN.test(alias))
    throw badParameter('bin', 'outAlias must be a name of letters and digits');
  return { field, name: alias };
}

function fieldNamed(
  layer: VectorCollection,
  parameter: string,
  value: unknown,
): Pick<Field, 'name' | 'type'> {
  const name =
    typeof value === 'string' ? listComparableFields(layer).get(value.trim().toLowerCase()) : undefined;
  if (name === undefined) throw badParameter(parameter, 'must name a field that can be compared');
  return valueField(layer.source, name);
}

function chooseAlias(members: Members, parameter: string, fallback: string): string {
  const name = readTextMember(members, parameter, 128) ?? fallback;
  if (!NAME_PATTERN.test(name)) throw badParameter(parameter, 'must be a name of letters and digits');
  return name;
}

/** `{"ianaTimeZone": "Europe/Berlin"}`. */
function zoneOfAnswer(members: Members): string | undefined {
  const reference = readObjectMember(members, 'outTimeReference');
  return reference && requireTimeZone('outTimeReference', reference['ianaTimeZone']);
}
