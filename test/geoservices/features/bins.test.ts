import decode from 'arcgis-pbf-parser';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type BothStores, startBothStores } from '../../replicas/both-stores.js';

// biome-ignore lint/suspicious/noExplicitAny: documents are compared member by member in tests
type Json = any;

const HOUR = 3_600_000;

/** About every ninth hour of two years, with all changes of clocks, and values missing. */
const rowOf = (i: number) => {
  const at = new Date(Date.UTC(2016, 11, 30, 22, 30) + i * 9 * HOUR + (i % 7) * 1_234_567).toISOString();
  const value = (every: number, sql: string) => (i % every === 0 ? 'NULL' : sql);
  return `('${['Hall', 'tower', "Miller''s"][i % 3]}', ${value(7, String(((i * 37) % 101) / 8))},
    ${value(11, String(i % 5))}, ${value(13, `'${at.slice(0, 10)}'`)}, ${value(17, `'${at}'`)})`;
};
const INSERT = `INSERT INTO parcels (name, area, floors, built, seen) VALUES
  ${Array.from({ length: 1950 }, (_, i) => rowOf(i + 1)).join(',\n')}`;

describe('features in bins', () => {
  let both: BothStores;
  beforeAll(async () => {
    both = await startBothStores(INSERT);
  });
  afterAll(() => both?.stop());

  const ask = (operation: string, members: Json): Promise<Json> => both.ask(operation, members);
  const rowsOf = async (operation: string, members: Json): Promise<Json[]> => {
    const answer = await ask(operation, members);
    if (answer.error) throw new Error(JSON.stringify(answer.error));
    return answer.features.map((feature: Json) => feature.attributes);
  };
  const bins = (type: string, onField: string, parameters: object, others = {}) => ({
    bin: { type, onField, parameters, ...others },
  });
  const sql = async (text: string) =>
    (await both.database.query(text)).map((row) =>
      Object.fromEntries(
        Object.entries(row).map(([name, value]) => [
          name,
          Number.isNaN(Number(value)) ? value : Number(value),
        ]),
      ),
    );

  it('of one width between the ends of the values', async () => {
    const rows = await rowsOf('queryBins', bins('autoIntervalBin', 'area', { numberOfBins: 6 }));
    const counts = await sql(`SELECT least(width_bucket(area, 0, 12.5, 6), 6) - 1 AS bin, count(*) AS n
      FROM parcels WHERE area IS NOT NULL GROUP BY 1 ORDER BY 1`);
    expect(rows.map(({ frequency }) => frequency)).toEqual(counts.map(({ n }) => n));
    expect(rows.map(({ lowerBoundary }) => lowerBoundary)).toEqual(
      [0, 1, 2, 3, 4, 5].map((i) => expect.closeTo((i * 12.5) / 6, 9)),
    );
    expect(rows.at(-1).upperBoundary).toBe(12.5);
  });

  it('of an interval, with empty ones, statistics and a condition', async () => {
    const rows = await rowsOf('queryBins', {
      ...bins('fixedIntervalBin', 'AREA', { interval: 4, start: -4, end: 12 }),
      where: 'floors > 2',
      outStatistics: [
        { statisticType: 'count', onStatisticField: 'fid', outStatisticFieldName: 'n' },
        { statisticType: 'avg', onStatisticField: 'area', outStatisticFieldName: 'mean' },
        {
          statisticType: 'PERCENTILE_CONT',
          onStatisticField: 'area',
          outStatisticFieldName: 'half',
          statisticParameters: { value: 0.5 },
        },
      ],
      binOrder: 'DESC',
      lowerBoundaryAlias: 'low',
      upperBoundaryAlias: 'high',
    });
    // The last bin has its upper limit, too.
    const reference =
      await sql(`SELECT least(floor(area / 4), 2) * 4 AS low, least(floor(area / 4), 2) * 4 + 4 AS high,
      count(*) AS n, avg(area) AS mean, percentile_cont(0.5) WITHIN GROUP (ORDER BY area) AS half
      FROM parcels WHERE floors > 2 AND area <= 12 GROUP BY 1, 2 ORDER BY 1 DESC`);
    expect(rows).toEqual([
      ...reference.map((row) => ({ ...row, mean: expect.closeTo(row['mean'] as number, 9) })),
      { low: -4, high: 0, n: 0, mean: null, half: null },
    ]);
  });

  it('between boundaries, of numbers and of times', async () => {
    const numbers = await rowsOf(
      'queryBins',
      bins('fixedBoundariesBin', 'floors', { boundaries: [0, 1, 3] }),
    );
    const [{ few, many }] = (await sql(`SELECT count(*) FILTER (WHERE floors = 0) AS few,
      count(*) FILTER (WHERE floors BETWEEN 1 AND 3) AS many FROM parcels`)) as Json[];
    expect(numbers).toEqual([
      { lowerBoundary: 0, upperBoundary: 1, frequency: few },
      { lowerBoundary: 1, upperBoundary: 3, frequency: many },
    ]);
    const [from, to] = [Date.UTC(2017, 5, 1, 12), Date.UTC(2018, 0, 1)];
    const times = await rowsOf('queryBins', bins('fixedBoundariesBin', 'seen', { boundaries: [from, to] }));
    const [{ n }] = (await sql(`SELECT count(*) AS n FROM parcels
      WHERE seen BETWEEN '2017-06-01T12:00:00Z' AND '2018-01-01T00:00:00Z'`)) as Json[];
    expect(times).toEqual([{ lowerBoundary: from, upperBoundary: to, frequency: n }]);
  });

  it('of each value of a field, between ends of its own', async () => {
    const split = { splitBy: { type: 'field', value: 'name', outAlias: 'kind' } };
    const rows = await rowsOf('queryBins', {
      ...bins('autoIntervalBin', 'area', { numberOfBins: 2 }, split),
      where: "name <> 'tower' OR area > 8",
    });
    const reference = await sql(`SELECT name AS kind, bin, count(*) AS frequency FROM (
      SELECT name, width_bucket(area, (min(area) OVER w + max(area) OVER w) / 2, 1e9, 1) AS bin FROM parcels
      WHERE area IS NOT NULL AND (name <> 'tower' OR area > 8) WINDOW w AS (PARTITION BY name)) x
      GROUP BY 1, 2 ORDER BY name COLLATE "C", bin`);
    expect(rows.map(({ kind, frequency }) => ({ kind, frequency }))).toEqual(
      reference.map(({ kind, frequency }) => ({ kind, frequency })),
    );
    expect(rows.find(({ kind }) => kind === 'tower').lowerBoundary).toBeGreaterThan(8);
  });

  const zones = ['UTC', 'America/New_York', 'Australia/Lord_Howe', 'Asia/Kathmandu', 'America/Sao_Paulo'];
  const reference = (unit: string, zone: string, shift = '0') =>
    sql(`SELECT (extract(epoch FROM date_trunc('${unit}', seen - interval '${shift}', '${zone}') + interval '${shift}')
      * 1000)::float8 AS boundary, count(*) AS frequency FROM parcels WHERE seen IS NOT NULL GROUP BY 1 ORDER BY 1`);
  const full = (rows: Json[]) => rows.filter(({ frequency }) => frequency > 0);

  it.each(zones)('of the calendar of %s', async (timezone) => {
    for (const unit of ['day', 'month', 'quarter', 'year']) {
      const bin = { calendarBin: { unit, timezone } };
      const rows = await rowsOf('queryDateBins', { binField: 'seen', bin });
      expect([unit, full(rows)]).toEqual([unit, await reference(unit, timezone)]);
    }
  });

  it('of weeks that begin on Mondays, in texts of the zone', async () => {
    const zone = 'America/New_York';
    const rows = await rowsOf('queryBins', {
      ...bins('dateBin', 'seen', { unit: 'week', number: 1 }, { firstDayOfWeek: 1 }),
      outTimeReference: { ianaTimeZone: zone },
    });
    const weeks = await reference('week', zone);
    expect(rows.map(({ lowerBoundary }) => Date.parse(lowerBoundary))).toEqual(
      weeks.map((one) => one['boundary']),
    );
    expect(rows.map(({ frequency }) => frequency)).toEqual(weeks.map((one) => one['frequency']));
    expect(rows[0].lowerBoundary).toBe('2016-12-26T00:00:00.000-05:00');
    expect(rows.find(({ lowerBoundary }) => lowerBoundary.startsWith('2017-03-13')).lowerBoundary).toMatch(
      /-04:00$/,
    );
  });

  it('of hours after an offset, and of fixed lengths', async () => {
    const bin = { fixedBin: { number: 12, unit: 'hour', offset: { number: 3, unit: 'hour' } } };
    const rows = await rowsOf('queryDateBins', { binField: 'seen', bin, resultRecordCount: 10_000 });
    const half =
      await sql(`SELECT (extract(epoch FROM date_bin('12 hours', seen, '1970-01-01T03:00:00Z')) * 1000)::float8
      AS boundary, count(*) AS frequency FROM parcels WHERE seen IS NOT NULL GROUP BY 1 ORDER BY 1`);
    expect(full(rows)).toEqual(half);
    const calendar = { calendarBin: { unit: 'day', offset: { number: 6, unit: 'hour' } } };
    expect(full(await rowsOf('queryDateBins', { binField: 'seen', bin: calendar }))).toEqual(
      await reference('day', 'UTC', '6 hours'),
    );
  });

  it('of days without a zone, cut by their ends or whole', async () => {
    const parameters = { unit: 'month', number: 1, start: '2017-01-10', end: '2017-03-15' };
    const members = {
      ...bins('dateBin', 'built', parameters),
      outTimeReference: { ianaTimeZone: 'Asia/Tokyo' },
    };
    const limits = (rows: Json[]) =>
      rows.map(({ lowerBoundary, upperBoundary }) => [lowerBoundary, upperBoundary]);
    const cut = await rowsOf('queryBins', members);
    const days = ['2017-01-10', '2017-02-01', '2017-03-01', '2017-03-15'].map((day) => Date.parse(day));
    expect(limits(cut)).toEqual([days.slice(0, 2), days.slice(1, 3), days.slice(2)]);
    const [{ n }] = (await sql(
      "SELECT count(*) AS n FROM parcels WHERE built BETWEEN '2017-01-10' AND '2017-03-15'",
    )) as Json[];
    expect(cut.reduce((sum, { frequency }) => sum + frequency, 0)).toBe(n);
    const whole = bins('dateBin', 'built', { ...parameters, returnFullIntervalBin: true });
    const months = ['2017-01-01', '2017-02-01', '2017-03-01', '2017-04-01'].map((day) => Date.parse(day));
    expect(limits(await rowsOf('queryBins', whole))).toEqual([
      months.slice(0, 2),
      months.slice(1, 3),
      months.slice(2),
    ]);
  });

  it('comes by pages, and as Protocol Buffers', async () => {
    const members = { binField: 'seen', bin: { calendarBin: { unit: 'month' } } };
    const all = await rowsOf('queryDateBins', members);
    const page = await ask('queryDateBins', { ...members, resultOffset: 3, resultRecordCount: 4 });
    expect(page).toMatchObject({ exceededTransferLimit: true, fields: [{ type: 'esriFieldTypeDate' }, {}] });
    expect(page.features.map((one: Json) => one.attributes)).toEqual(all.slice(3, 7));
    const [town] = both.towns;
    const search = new URLSearchParams({ binField: 'seen', bin: JSON.stringify(members.bin), f: 'pbf' });
    const response = await fetch(
      `${town!.server.url}/rest/services/default/FeatureServer/${town!.layers['parcels']}/queryDateBins?${search}`,
      { headers: { 'x-api-key': town!.server.adminKey } },
    );
    const { featureCollection } = decode(new Uint8Array(await response.arrayBuffer()));
    expect(featureCollection.features.map(({ properties }: Json) => properties)).toEqual(all);
  });

  it('is nothing where nothing is', async () => {
    const members = { ...bins('autoIntervalBin', 'area', { numberOfBins: 3 }), where: 'fid < 0' };
    expect(await rowsOf('queryBins', members)).toEqual([]);
    const ends = bins('autoIntervalBin', 'area', { numberOfBins: 1, start: 0, end: 1 });
    expect(await rowsOf('queryBins', { ...ends, where: 'fid < 0' })).toMatchObject([{ frequency: 0 }]);
    const one = await rowsOf('queryBins', {
      ...bins('autoIntervalBin', 'area', { numberOfBins: 3 }),
      where: 'area = 2',
    });
    expect(one).toMatchObject([{ lowerBoundary: 2, upperBoundary: 2 }]);
  });

  it.each([
    ['bin', {}],
    ['bin', { bin: '[]' }],
    ['bin', bins('otherBin', 'area', {})],
    ['bin', bins('autoIntervalBin', 'area', {})],
    ['bin', bins('autoIntervalBin', 'area', { numberOfBins: 1e9 })],
    ['bin', bins('autoIntervalBin', 'name', { numberOfBins: 3 })],
    ['bin', bins('autoIntervalBin', 'area; DROP TABLE parcels', { numberOfBins: 3 })],
    ['bin', bins('autoIntervalBin', 'area', { numberOfBins: 3, start: 2, end: 1 })],
    ['bin', bins('fixedIntervalBin', 'area', { interval: 0 })],
    ['bin', bins('fixedIntervalBin', 'area', { interval: '1e999' })],
    ['bin', bins('fixedBoundariesBin', 'area', { boundaries: [1, 1] })],
    ['bin', bins('fixedBoundariesBin', 'area', { boundaries: [1, 'x'] })],
    ['bin', bins('dateBin', 'area', { unit: 'day' })],
    ['bin', bins('dateBin', 'seen', { unit: 'eon' })],
    ['bin', bins('dateBin', 'seen', { unit: 'day', snapToData: 'first' })],
    ['bin', bins('dateBin', 'seen', { unit: 'day', offset: { number: 1, unit: 'month' } })],
    ['bin', bins('dateBin', 'seen', { unit: 'day', start: 'yesterday' })],
    ['bin', bins('autoIntervalBin', 'area', { numberOfBins: 3 }, { stackBy: { value: 'name' } })],
    ['bin', bins('autoIntervalBin', 'area', { numberOfBins: 3 }, { splitBy: { value: 'seen' } })],
    [
      'outTimeReference',
      { ...bins('dateBin', 'seen', { unit: 'day' }), outTimeReference: { ianaTimeZone: 'No/Where' } },
    ],
    ['lowerBoundaryAlias', { ...bins('dateBin', 'seen', { unit: 'day' }), lowerBoundaryAlias: '";--' }],
    ['binOrder', { ...bins('dateBin', 'seen', { unit: 'day' }), binOrder: 'UP' }],
  ])('refuses a wrong %s: %j', async (name, members) => {
    const { error } = await ask('queryBins', members);
    expect(error).toMatchObject({ code: 400, message: expect.stringMatching(new RegExp(`^${name}: `)) });
  });

  it('refuses more bins than an answer may have', async () => {
    const narrow = await ask('queryBins', bins('dateBin', 'seen', { unit: 'second' }));
    expect(narrow.error).toMatchObject({
      code: 400,
      message: expect.stringContaining('more than 10000 bins'),
    });
    const nothing = await ask('queryBins', bins('fixedIntervalBin', 'area', { interval: 1e-300 }));
    expect(nothing.error).toMatchObject({
      code: 400,
      message: expect.stringContaining('more than 10000 bins'),
    });
    const split = { splitBy: { value: 'floors' } };
    const many = await ask('queryBins', bins('autoIntervalBin', 'area', { numberOfBins: 9000 }, split));
    expect(many.error).toMatchObject({ code: 400, message: expect.stringContaining('more than 10000 bins') });
  });
});
