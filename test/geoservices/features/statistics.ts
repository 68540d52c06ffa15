import decode from 'arcgis-pbf-parser';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { EditableStore } from '../../edits/support.js';
import { startTown, type Town } from '../../replicas/support.js';

// biome-ignore lint/suspicious/noExplicitAny: documents are compared member by member in tests
type Json = any;

/** How a store of the suite says in SQL of its own what the server is asked for. */
export interface StatisticsStore extends EditableStore {
  write(sql: string): Promise<void>;
  /** An instant as milliseconds since 1970. */
  milliseconds(column: string): string;
  /** Deviation of a sample of the rows of `parcels` that pass. */
  deviation(column: string, where: string): string;
  /** The value at a place of the rows that pass, as SQL defines PERCENTILE_CONT and PERCENTILE_DISC. */
  percentile(
    column: string,
    where: string,
    fraction: number,
    order: 'ASC' | 'DESC',
  ): Record<'cont' | 'disc', string>;
}

const ROWS = 240;

/** Values of every type, each of them missing somewhere. */
const rowOf = (i: number) => {
  const value = (every: number, sql: string) => (i % every === 0 ? 'NULL' : sql);
  const day = `20${10 + (i % 9)}-0${1 + (i % 8)}-1${i % 10}`;
  return `('${['Hall', 'tower', 'Østre', "Miller''s"][i % 4]}', ${value(7, String(((i * 37) % 101) / 8))},
    ${value(11, String(i % 5))}, ${value(13, `'${day}'`)}, ${value(17, `'${day}T0${i % 10}:30:00Z'`)},
    ${value(19, i % 2 ? 'TRUE' : 'FALSE')}, 'c${i}')`;
};

const INSERT = `INSERT INTO parcels (name, area, floors, built, seen, active, code) VALUES
  ${Array.from({ length: ROWS }, (_, i) => rowOf(i)).join(',\n')}`;

/** Statistics, groups and distinct values, of one sort of store. */
export function statisticsSuite(open: () => StatisticsStore | Promise<StatisticsStore>): void {
  let store: StatisticsStore;
  let town: Town;
  let layer: number;
  beforeAll(async () => {
    store = await open();
    await store.write(INSERT);
    town = await startTown(store);
    layer = town.layers['parcels']!;
  });
  afterAll(async () => {
    await town?.server.stop();
    await store?.release();
  });

  const query = (members: Json, headers?: Record<string, string>): Promise<Json> =>
    town.post(`${layer}/query`, members, headers);
  const attributes = async (members: Json) => {
    const answer = await query(members);
    if (answer.error) throw new Error(JSON.stringify(answer.error));
    return answer.features.map((feature: Json) => feature.attributes);
  };
  const statistic = (statisticType: string, onStatisticField: string, outStatisticFieldName?: string) => ({
    ...{ statisticType, onStatisticField },
    ...(outStatisticFieldName === undefined ? {} : { outStatisticFieldName }),
  });
  const numbers = (rows: Json[]) =>
    rows.map((row) =>
      Object.fromEntries(
        Object.entries(row).map(([name, value]) => [
          name,
          typeof value === 'string' && /^-?\d+(\.\d+)?$/.test(value) ? Number(value) : value,
        ]),
      ),
    );

  it('computes what SQL computes', async () => {
    const where = 'floors > 1';
    const [answer] = await attributes({
      where,
      outStatistics: [
        statistic('count', 'area', 'n'),
        ...['sum', 'min', 'max', 'avg', 'stddev', 'var'].map((type) => statistic(type, 'area', type)),
        statistic('sum', 'floors', 'floors'),
        statistic('sum', 'active', 'actives'),
        statistic('count', 'fid', 'all'),
      ],
    });
    const deviation = store.deviation('area', where);
    const [row] = numbers(
      await store.query(`SELECT count(area) AS n, sum(area) AS sum, min(area) AS min, max(area) AS max,
        avg(area) AS avg, ${deviation} AS stddev, ${deviation} * ${deviation} AS var, sum(floors) AS floors,
        count(CASE WHEN active THEN 1 END) AS actives, count(*) AS "all" FROM parcels WHERE ${where}`),
    );
    expect(Object.keys(answer)).toEqual([
      ...['n', 'sum', 'min', 'max', 'avg', 'stddev', 'var', 'floors', 'actives', 'all'],
    ]);
    expect(answer.n).toBeGreaterThan(50);
    for (const [name, value] of Object.entries(row!))
      expect([name, answer[name]]).toEqual([name, expect.closeTo(value as number, 8)]);
  });

  it('tells of its fields as Esri does', async () => {
    const answer = await query({
      where: '1=1',
      groupByFieldsForStatistics: 'NAME',
      outStatistics: [
        statistic('count', 'fid', 'n'),
        statistic('AVG', 'area'),
        statistic('max', 'seen', 'last'),
      ],
    });
    expect(answer).toMatchObject({ displayFieldName: '', features: [{}, {}, {}, {}] });
    expect(answer.exceededTransferLimit).toBeUndefined();
    expect(answer.fields).toMatchObject([
      { name: 'name', type: 'esriFieldTypeString', alias: 'name' },
      { name: 'n', type: 'esriFieldTypeInteger', alias: 'n' },
      { name: 'AVG_area', type: 'esriFieldTypeDouble', alias: 'AVG_area' },
      { name: 'last', type: 'esriFieldTypeDate', alias: 'last' },
    ]);
    const [{ last }] = numbers(
      await store.query(`SELECT ${store.milliseconds('max(seen)')} AS last FROM parcels WHERE name = 'Hall'`),
    ) as Json[];
    expect(answer.features.find((one: Json) => one.attributes.name === 'Hall').attributes.last).toBe(last);
  });

  it.each([
    [0.5, 'ASC'],
    [0.5, 'DESC'],
    [0.9, 'ASC'],
    [0.9, 'DESC'],
    [0.25, 'ASC'],
    [0, 'DESC'],
    [1, 'ASC'],
  ] as const)('has the percentile %d %s', async (value, orderBy) => {
    for (const where of ['1=1', 'floors = 3', 'fid = 2', 'fid < 6', 'fid < 0']) {
      const of = (statisticType: string, name: string) => ({
        ...statistic(statisticType, 'area', name),
        statisticParameters: { value, orderBy },
      });
      const [answer] = await attributes({
        where,
        outStatistics: [of('PERCENTILE_CONT', 'cont'), of('PERCENTILE_DISC', 'disc')],
      });
      const { cont, disc } = store.percentile('area', where, value, orderBy);
      const [row] = (await store.query(`SELECT ${cont} AS cont, ${disc} AS disc`)) as Json[];
      expect([where, answer]).toEqual([
        where,
        row.cont === null ? row : { cont: expect.closeTo(row.cont, 9), disc: row.disc },
      ]);
    }
  });

  describe('groups', () => {
    it('are those of several fields, with booleans, days and missing values', async () => {
      const answer = await attributes({
        where: 'floors < 4 OR floors IS NULL',
        groupByFieldsForStatistics: 'floors, active,built',
        outStatistics: [statistic('count', '*', 'n'), statistic('sum', 'area', 'area')],
        resultRecordCount: 10_000,
      });
      const rows = numbers(
        await store.query(`SELECT floors, CASE WHEN active THEN 1 WHEN NOT active THEN 0 END AS active,
          CAST(built AS text) AS built, count(*) AS n, sum(area) AS area FROM parcels
          WHERE floors < 4 OR floors IS NULL GROUP BY 1, active, built
          ORDER BY floors NULLS LAST, active NULLS LAST, built NULLS LAST`),
      );
      expect(answer.length).toBeGreaterThan(60);
      const times = rows.map((row: Json) => ({ ...row, built: row.built && Date.parse(row.built) }));
      expect(answer).toEqual(times);
    });

    it('are of instants, as milliseconds', async () => {
      const answer = await attributes({
        groupByFieldsForStatistics: 'seen',
        outStatistics: [statistic('count', 'fid', 'n')],
        orderByFields: 'n DESC',
      });
      const rows = numbers(
        await store.query(`SELECT ${store.milliseconds('seen')} AS seen, count(fid) AS n FROM parcels
          GROUP BY seen ORDER BY n DESC, 1 NULLS LAST`),
      );
      expect(answer).toEqual(rows);
    });

    it('come in an order, by pages', async () => {
      const all = numbers(
        await store.query(`SELECT floors, name, max(area) AS top FROM parcels GROUP BY floors, name
          ORDER BY top DESC NULLS FIRST, floors NULLS LAST, name ${store.outbox.includes('.') ? 'COLLATE "C"' : ''}`),
      );
      const pages: Json[] = [];
      for (let more = true; more; ) {
        const page = await query({
          groupByFieldsForStatistics: 'floors,name',
          outStatistics: [statistic('max', 'area', 'Top')],
          orderByFields: 'top DESC',
          resultOffset: pages.length,
          resultRecordCount: 7,
        });
        expect(page.features.length).toBeLessThanOrEqual(7);
        pages.push(...page.features.map((one: Json) => one.attributes));
        more = page.exceededTransferLimit === true;
      }
      expect(pages).toEqual(all.map(({ top, ...others }) => ({ ...others, Top: top })));
    });

    it('are counted', async () => {
      const members = {
        groupByFieldsForStatistics: 'floors,name',
        outStatistics: [statistic('count', 'fid', 'n')],
        returnCountOnly: true,
      };
      const [{ n }] = numbers(
        await store.query('SELECT count(*) AS n FROM (SELECT DISTINCT floors, name FROM parcels) x'),
      ) as Json[];
      expect(await query(members)).toEqual({ count: n });
      const some = await query({ ...members, having: 'COUNT(fid) > 9' });
      const [{ m }] = numbers(
        await store.query(
          'SELECT count(*) AS m FROM (SELECT 1 FROM parcels GROUP BY floors, name HAVING count(fid) > 9) x',
        ),
      ) as Json[];
      expect(m).toBeLessThan(n);
      expect(some).toEqual({ count: m });
    });

    it.each([
      ['SUM(area) > 150', 'sum(area) > 150'],
      ['COUNT(*) >= 45 AND AVG("area") < 6.5', 'count(*) >= 45 AND avg(area) < 6.5'],
      ["Total > 150 or NAME = N'Hall'", "sum(area) > 150 OR name = 'Hall'"],
      ["MAX(seen) > DATE '2018-06-01' AND name <> 'x'", "max(seen) > '2018-06-01'"],
      ['MAX(floors) - MIN(floors) >= 4', 'max(floors) - min(floors) >= 4'],
      ['NOT (total BETWEEN 100 AND 160)', 'NOT sum(area) BETWEEN 100 AND 160'],
    ])('pass the condition %s', async (having, sql) => {
      const answer = await attributes({
        groupByFieldsForStatistics: 'name,active',
        outStatistics: [statistic('sum', 'area', 'total')],
        having,
      });
      const rows =
        await store.query(`SELECT name, CASE WHEN active THEN 1 WHEN NOT active THEN 0 END AS active,
        sum(area) AS total FROM parcels GROUP BY name, active HAVING ${sql}
        ORDER BY name ${store.outbox.includes('.') ? 'COLLATE "C"' : ''}, active NULLS LAST`);
      expect(answer.length).toBeGreaterThan(0);
      expect(answer).toEqual(rows);
    });

    it('are features without geometries in GeoJSON', async () => {
      const answer = await query({
        f: 'geojson',
        groupByFieldsForStatistics: 'name',
        outStatistics: [statistic('count', 'fid', 'n')],
        resultRecordCount: 1,
      });
      expect(answer).toMatchObject({
        ...{ type: 'FeatureCollection', properties: { exceededTransferLimit: true } },
        features: [{ type: 'Feature', geometry: null, properties: { name: 'Hall', n: 60 } }],
      });
    });
  });

  it('are the same as Protocol Buffers', async () => {
    const members = {
      groupByFieldsForStatistics: 'name,active,seen',
      outStatistics: JSON.stringify([statistic('avg', 'area', 'a'), statistic('min', 'fid', 'least')]),
    };
    const url = `${town.server.url}/rest/services/default/FeatureServer/${layer}/query`;
    const search = new URLSearchParams({ ...members, f: 'pbf' });
    const response = await fetch(`${url}?${search}`, { headers: { 'x-api-key': town.server.adminKey } });
    expect(response.headers.get('content-type')).toBe('application/x-protobuf');
    const { featureCollection } = decode(new Uint8Array(await response.arrayBuffer()));
    const groups = featureCollection.features.map(({ properties }: Json) => properties);
    expect(groups).toEqual(await attributes(members));
    expect(groups.length).toBeGreaterThan(100);
  });

  describe('distinct values', () => {
    it('are those of the fields, in an order', async () => {
      const answer = await query({
        where: 'active = 1',
        outFields: 'name,Floors',
        returnDistinctValues: true,
        returnGeometry: false,
        orderByFields: 'floors DESC,name DESC',
      });
      const rows = await store.query(
        `SELECT DISTINCT name, floors FROM parcels WHERE active
        ORDER BY floors DESC NULLS FIRST, name ${store.outbox.includes('.') ? 'COLLATE "C"' : ''} DESC`
          .replace('DISTINCT name, floors', 'name, floors')
          .replace('WHERE active', 'WHERE active GROUP BY name, floors'),
      );
      expect(answer.features.map((one: Json) => one.attributes)).toEqual(numbers(rows));
      expect(answer.fields.map(({ name }: Json) => name)).toEqual(['name', 'floors']);
      expect(answer.features.length).toBeGreaterThan(9);
    });

    it('are counted', async () => {
      const members = { outFields: 'floors', returnDistinctValues: true, returnCountOnly: true };
      expect(await query(members)).toEqual({ count: 6 });
      expect(await query({ ...members, where: 'floors < 2' })).toEqual({ count: 2 });
      expect(await query({ outFields: '*', returnDistinctValues: true, returnCountOnly: true })).toEqual({
        count: ROWS,
      });
    });

    it('have no geometries', async () => {
      const answer = await query({ outFields: 'name', returnDistinctValues: true, returnGeometry: true });
      expect(answer.error).toMatchObject({ code: 400, message: expect.stringMatching(/^returnGeometry/) });
    });
  });

  describe('conditions of features', () => {
    it.each([
      ['active = 1', 'active'],
      ['ACTIVE <> 1', 'NOT active'],
      ['Active IN (0, 1)', 'active IS NOT NULL'],
      ["NAME = N'Østre' AND Floors > 1", "name = 'Østre' AND floors > 1"],
      ["built < date '2015-01-01'", "built < '2015-01-01'"],
      ["seen >= DATE '2015-01-01 06:30:00'", "seen >= '2015-01-01T06:30:00Z'"],
      ['built < CURRENT_DATE', 'built IS NOT NULL'],
      ["seen > CURRENT_TIMESTAMP - INTERVAL '200000' DAY", 'seen IS NOT NULL'],
      ['seen > current_timestamp + 1', '1 = 0'],
    ])('%s', async (where, sql) => {
      const [{ n }] = numbers(await store.query(`SELECT count(*) AS n FROM parcels WHERE ${sql}`)) as Json[];
      expect(await query({ where, returnCountOnly: true })).toEqual({ count: n });
    });

    it('ids may be JSON', async () => {
      for (const objectIds of ['3,5', '[3,5]', [3, 5], ['3', '5']])
        expect(await query({ objectIds, returnIdsOnly: true })).toMatchObject({ objectIds: [3, 5] });
      for (const objectIds of ['[3,"x"]', '[3', { a: 1 }]) {
        const { error } = await query({ objectIds, returnIdsOnly: true });
        expect(error).toMatchObject({ code: 400, message: expect.stringMatching(/^objectIds/) });
      }
    });
  });

  describe('the first features of groups', () => {
    const topFilter = { groupByFields: 'name', topCount: 3, orderByFields: 'area DESC' };
    const ask = (members: Json, headers?: Record<string, string>): Promise<Json> =>
      town.post(`${layer}/queryTopFeatures`, members, headers);
    const ranked = (where: string) => `SELECT fid FROM (SELECT fid, row_number() OVER (PARTITION BY name
      ORDER BY area DESC NULLS FIRST, fid) AS k FROM parcels WHERE ${where}) x WHERE k <= 3 ORDER BY fid`;

    it('are features, ids and counts', async () => {
      const where = 'floors > 1';
      const ids = numbers(await store.query(ranked(where))).map(({ fid }) => fid);
      expect(ids).toHaveLength(12);
      expect((await ask({ where, topFilter, returnIdsOnly: true })).objectIds).toEqual(ids);
      expect(await ask({ where, topFilter, returnCountOnly: true })).toEqual({ count: 12 });
      const { features } = await ask({ where, topFilter, outFields: 'name,area', orderByFields: 'fid DESC' });
      expect(features.map((one: Json) => one.attributes.fid)).toEqual([...ids].reverse());
      const several = { ...topFilter, groupByFields: ['name', 'ACTIVE'], topCount: 1 };
      expect(await ask({ topFilter: several, returnCountOnly: true })).toEqual({
        count: (await store.query('SELECT DISTINCT name, active FROM parcels')).length,
      });
      expect((await ask({ where: 'fid < 0', topFilter })).features).toEqual([]);
    });

    it.each([
      [undefined],
      ['x'],
      [{ ...topFilter, groupByFields: '' }],
      [{ ...topFilter, groupByFields: 'tags' }],
      [{ ...topFilter, groupByFields: 'name); DROP TABLE parcels; --' }],
      [{ ...topFilter, topCount: 0 }],
      [{ ...topFilter, topCount: '1; DROP TABLE parcels' }],
      [{ ...topFilter, orderByFields: 'area; DROP TABLE parcels' }],
      [{ ...topFilter, orderByFields: '' }],
      [{ ...topFilter, orderByFields: [1] }],
    ])('not of %j', async (wrong) => {
      const { error } = await ask(wrong === undefined ? {} : { topFilter: wrong });
      expect(error).toMatchObject({ code: 400, message: expect.stringMatching(/^topFilter: /) });
      expect(numbers(await store.query('SELECT count(*) AS n FROM parcels'))).toEqual([{ n: ROWS }]);
    });
  });

  describe('refuses', () => {
    const one = [statistic('count', 'fid', 'n')];
    const rows = () => store.query('SELECT count(*) AS n FROM parcels');
    it.each([
      ['outStatistics', { outStatistics: 'count(*)' }],
      ['outStatistics', { outStatistics: '[]' }],
      ['outStatistics', { outStatistics: '[{"statisticType":"count"' }],
      ['outStatistics', { outStatistics: [statistic('median', 'area', 'a')] }],
      ['outStatistics', { outStatistics: [statistic('constructor', 'area', 'a')] }],
      ['outStatistics', { outStatistics: [statistic('sum', 'name', 'a')] }],
      ['outStatistics', { outStatistics: [statistic('avg', 'built', 'a')] }],
      ['outStatistics', { outStatistics: [statistic('max', 'tags', 'a')] }],
      ['outStatistics', { outStatistics: [statistic('max', 'geom', 'a')] }],
      ['outStatistics', { outStatistics: [statistic('sum', 'area); DROP TABLE parcels; --', 'a')] }],
      ['outStatistics', { outStatistics: [statistic('sum', 'area*2', 'a')] }],
      ['outStatistics', { outStatistics: [statistic('sum); DROP TABLE parcels; --', 'area', 'a')] }],
      [
        'outStatistics',
        { outStatistics: [statistic('sum', 'area', 'a" FROM parcels; DROP TABLE parcels; --')] },
      ],
      ['outStatistics', { outStatistics: [statistic('sum', 'area', 'a'), statistic('max', 'area', 'A')] }],
      ['outStatistics', { outStatistics: [statistic('PERCENTILE_CONT', 'area', 'a')] }],
      [
        'outStatistics',
        {
          outStatistics: [
            { ...statistic('PERCENTILE_CONT', 'area', 'a'), statisticParameters: { value: '0) --' } },
          ],
        },
      ],
      [
        'outStatistics',
        {
          outStatistics: [
            {
              ...statistic('PERCENTILE_DISC', 'area', 'a'),
              statisticParameters: { value: 2, orderBy: 'ASC' },
            },
          ],
        },
      ],
      [
        'groupByFieldsForStatistics',
        { outStatistics: one, groupByFieldsForStatistics: 'name; DROP TABLE parcels' },
      ],
      ['groupByFieldsForStatistics', { outStatistics: one, groupByFieldsForStatistics: '1' }],
      ['groupByFieldsForStatistics', { outStatistics: one, groupByFieldsForStatistics: 'name,' }],
      ['groupByFieldsForStatistics', { groupByFieldsForStatistics: 'name' }],
      ['having', { having: 'COUNT(fid) > 1' }],
      ['having', { outStatistics: one, having: 'n > 1; DROP TABLE parcels' }],
      ['having', { outStatistics: one, having: 'n > (SELECT 1)' }],
      ['having', { outStatistics: one, having: "n = 'a' OR 1=1 --" }],
      ['having', { outStatistics: one, having: 'area > 1' }],
      ['having', { outStatistics: one, having: 'SUM(name) > 1' }],
      ['having', { outStatistics: one, having: 'SUM(area + 1) > 1' }],
      ['having', { outStatistics: one, having: 'SUM(SUM(area)) > 1' }],
      ['having', { outStatistics: one, having: 'pg_sleep(1) IS NULL' }],
      ['having', { outStatistics: one, having: '"" IS NULL' }],
      ['having', { outStatistics: one, having: 'geometry IS NULL' }],
      ['having', { outStatistics: one, having: 's0 > 1' }],
      ['orderByFields', { outStatistics: one, orderByFields: 'area' }],
      ['orderByFields', { outStatistics: one, orderByFields: 'n; DROP TABLE parcels' }],
      ['orderByFields', { outStatistics: one, orderByFields: 's0' }],
      ['orderByFields', { outFields: 'name', returnDistinctValues: true, orderByFields: 'floors' }],
      ['outFields', { outFields: 'tags', returnDistinctValues: true }],
      ['outFields', { returnDistinctValues: true }],
      ['returnIdsOnly', { outStatistics: one, returnIdsOnly: true }],
      ['returnExtentOnly', { outStatistics: one, returnExtentOnly: true }],
    ])('%s: %j', async (name, members) => {
      const { error } = await query(members);
      expect(error).toMatchObject({ code: 400, message: expect.stringMatching(new RegExp(`^${name}: `)) });
      expect(numbers(await rows())).toEqual([{ n: ROWS }]);
    });
  });

  describe('for who may not see everything', () => {
    let headers: Record<string, string>;
    beforeAll(async () => {
      const created = async (path: string, body: Json) => {
        const answer = await town.admin('POST', path, body);
        expect([path, answer.status, answer.body]).toEqual([path, 201, expect.anything()]);
        return answer.body.data;
      };
      const scope = { service: 'default', layer: 'parcels', role: 'partial' };
      await created('/roles', { name: 'partial' });
      await created('/field-mask-policies', { ...scope, attribute: 'area' });
      await created('/field-mask-policies', { ...scope, attribute: 'code', treatment: 'hash' });
      await created('/rls-policies', { ...scope, filter: 'floors = 2' });
      const { key } = await created('/api-keys', { name: 'partial', permissions: ['role:partial'] });
      headers = { 'x-api-key': key };
    });

    it('masked values are neither computed with, grouped, compared nor ordered', async () => {
      const n = [statistic('count', 'fid', 'n')];
      for (const field of ['area', 'code', 'AREA'])
        for (const [name, members] of [
          ['outStatistics', { outStatistics: [statistic('max', field, 'a')] }],
          ['outStatistics', { outStatistics: [statistic('count', field, 'a')] }],
          ['groupByFieldsForStatistics', { outStatistics: n, groupByFieldsForStatistics: field }],
          ['having', { outStatistics: n, having: `MAX(${field}) > 1` }],
          ['having', { outStatistics: n, having: `COUNT(${field}) > 1` }],
          ['orderByFields', { outStatistics: n, orderByFields: field }],
          ['outFields', { outFields: field, returnDistinctValues: true }],
        ] as const) {
          const { error } = await query(members, headers);
          expect([members, error]).toEqual([members, expect.objectContaining({ code: 400 })]);
          expect(error.message).toMatch(new RegExp(`^${name}: `));
        }
      const topFilter = { groupByFields: 'name', topCount: 1, orderByFields: 'floors' };
      for (const masked of [{ groupByFields: 'code' }, { orderByFields: 'area DESC' }]) {
        const members = { topFilter: { ...topFilter, ...masked } };
        const { error } = await town.post(`${layer}/queryTopFeatures`, members, headers);
        expect(error).toMatchObject({ code: 400, message: expect.stringMatching(/^topFilter: /) });
      }
      const all = await query({ outFields: '*', returnDistinctValues: true }, headers);
      const names = all.fields.map(({ name }: Json) => name);
      expect(names).toContain('name');
      expect(names).not.toContain('area');
      expect(names).not.toContain('code');
    });

    it('rows that a rule hides are in no group', async () => {
      const members = {
        groupByFieldsForStatistics: 'floors',
        outStatistics: [statistic('count', 'fid', 'n')],
      };
      const answer = await query(members, headers);
      const [{ n }] = numbers(
        await store.query('SELECT count(*) AS n FROM parcels WHERE floors = 2'),
      ) as Json[];
      expect(answer.features).toEqual([{ attributes: { floors: 2, n } }]);
      expect(await query({ ...members, returnCountOnly: true }, headers)).toEqual({ count: 1 });
      const topFilter = { groupByFields: 'floors', topCount: ROWS, orderByFields: 'name' };
      const path = `${layer}/queryTopFeatures`;
      expect(await town.post(path, { topFilter, returnCountOnly: true }, headers)).toEqual({ count: n });
    });
  });
}
