import { afterAll, beforeAll, expect, it } from 'vitest';
import type { EditableStore } from '../../edits/support.js';
import { ring, startTown, type Town } from '../../replicas/support.js';

// biome-ignore lint/suspicious/noExplicitAny: documents are compared member by member in tests
type Json = any;

const parcel = (attributes: Json, at = 0) => ({ attributes, geometry: ring(at, at) });

/** Calculations and appends of a FeatureServer, of one sort of store. */
export function bulkEdits(open: () => EditableStore | Promise<EditableStore>): void {
  let store: EditableStore;
  let town: Town;
  let layer: number;
  beforeAll(async () => {
    store = await open();
    town = await startTown(store);
    layer = town.layers['parcels']!;
  });
  afterAll(async () => {
    await town?.server.stop();
    await store?.release();
  });

  const post = (verb: string, members: Json, headers?: Record<string, string>) =>
    town.post(`${layer}/${verb}`, members, headers);
  const rows = async (fields: string, where = '1=1') => {
    const { features } = await post('query', { where, outFields: fields, returnGeometry: false });
    return features.map(({ attributes: { fid: _fid, ...others } }: Json) => others);
  };
  const events = async () => (await store.query(`SELECT * FROM ${store.outbox}`)).length;

  it('appends features, by the names of fields or by a mapping', async () => {
    const edits = {
      layers: [
        {
          layerDefinition: { name: 'Source' },
          featureSet: {
            spatialReference: { wkid: 3857 },
            features: [parcel({ NAME: 'a', floors: 1, other: 'x' }), parcel({ NAME: 'b', floors: 2 }, 500)],
          },
        },
      ],
    };
    expect(await post('append', { edits })).toEqual({
      ...{ status: 'Completed', numFeaturesAppended: 2, numFeaturesUpdated: 0, numFeaturesFailed: 0 },
    });
    const fieldMappings = [{ name: 'name', source: 'title' }];
    const mapped = await post('append', {
      ...{ edits: { features: [parcel({ title: 'c', floors: 9 })] }, fieldMappings },
      returnEditResults: true,
    });
    expect(mapped).toMatchObject({ numFeaturesAppended: 1, addResults: [{ success: true }] });
    expect(await rows('name,floors')).toEqual([
      { name: 'a', floors: 1 },
      { name: 'b', floors: 2 },
      { name: 'c', floors: null },
    ]);
    expect(await events()).toBe(3);
  });

  it('changes features of a key, and leaves out what it is told to', async () => {
    const features = [parcel({ name: 'a', floors: 5, active: 1 }, 900), parcel({ name: 'd', floors: 4 })];
    const upsert = { edits: { features }, upsert: true, upsertMatchingField: 'NAME' };
    const inserts = { skipUpdates: true, skipInserts: true };
    expect(await post('append', { ...upsert, ...inserts })).toMatchObject({ numFeaturesAppended: 0 });
    const appended = await post('append', { ...upsert, appendFields: ['floors'], updateGeometry: false });
    expect(appended).toMatchObject({ numFeaturesAppended: 1, numFeaturesUpdated: 1, numFeaturesFailed: 0 });
    expect(await rows('name,floors,active', "name IN ('a', 'd')")).toEqual([
      { name: 'a', floors: 5, active: null },
      { name: 'd', floors: 4, active: null },
    ]);
    const { features: all } = await post('query', { where: "name = 'a'" });
    expect(all[0].geometry.rings[0][0]).toEqual([0, 0]);
    const twice = {
      edits: { features: [features[0], features[0]] },
      upsert: true,
      upsertMatchingField: 'name',
    };
    expect((await post('append', twice)).error).toMatchObject({ code: 400 });
  });

  it('knows keys however they are written', async () => {
    const [{ attributes }] = (await post('query', { where: "name = 'd'", outFields: 'fid' })).features;
    const text = { attributes: { fid: String(attributes.fid), floors: 44 } };
    const changed = await post('append', { edits: [text], upsert: true, updateGeometry: false });
    expect(changed).toMatchObject({ numFeaturesAppended: 0, numFeaturesUpdated: 1 });
    const wrong = await post('append', { edits: [{ attributes: { fid: 'x' } }], upsert: true });
    expect(wrong.error).toMatchObject({ code: 400, message: expect.stringContaining('fid') });
  });

  it('keeps what succeeds unless it is told to undo all', async () => {
    const edits = { features: [parcel({ name: 'e' }), parcel({ name: 'x'.repeat(30) })] };
    const undone = await post('append', { edits, rollbackOnFailure: true });
    expect(undone).toMatchObject({ numFeaturesAppended: 0, numFeaturesFailed: 2 });
    expect(await post('append', { edits })).toMatchObject({ numFeaturesAppended: 1, numFeaturesFailed: 1 });
  });

  it('appends to several layers of a service', async () => {
    const edits = {
      layers: [
        { layerDefinition: { name: 'P' }, featureSet: { features: [parcel({ name: 'f' })] } },
        {
          layerDefinition: { id: town.layers['spots'] },
          featureSet: { features: [{ attributes: { name: 's' }, geometry: { x: 1, y: 2, z: 3 } }] },
        },
      ],
    };
    const { error } = await town.post('append', { edits });
    expect(error.message).toContain('edits');
    const layerMappings = [{ id: layer, sourceTableName: 'P' }];
    expect(await town.post('append', { edits, layerMappings })).toMatchObject({
      ...{ numFeaturesAppended: 1, layers: [{ id: layer, numFeaturesAppended: 1 }] },
    });
  });

  it('computes fields of all features that pass', async () => {
    const before = await events();
    const expressions = [
      { field: 'Floors', sqlExpression: '(floors + 2) / 2' },
      { field: 'area', sqlExpression: 'floors / 0' },
      { field: 'active', value: 1 },
      { field: 'seen', value: Date.UTC(2026, 0, 2) },
      { field: 'name', sqlExpression: "CONCAT(upper(name), '!')" },
    ];
    const where = "name IN ('a', 'b', 'c')";
    expect(await post('calculate', { where, calcExpression: expressions })).toEqual({
      success: true,
      updatedFeatureCount: 3,
    });
    // 3.5 is rounded as an assignment in SQL rounds it.
    expect(await rows('name,floors,active,seen', "name LIKE '%!'")).toEqual([
      { name: 'A!', floors: 4, active: 1, seen: Date.UTC(2026, 0, 2) },
      { name: 'B!', floors: 2, active: 1, seen: Date.UTC(2026, 0, 2) },
      { name: 'C!', floors: null, active: 1, seen: Date.UTC(2026, 0, 2) },
    ]);
    expect(await events()).toBe(before + 3);
    const nothing = await post('calculate', { where: "name = 'nobody'", calcExpression: expressions });
    expect(nothing).toEqual({ success: true, updatedFeatureCount: 0 });
  });

  it('replaces JSON whole', async () => {
    const where = "name = 'd'";
    for (const value of ['{"keep":1,"none":2}', '{"a":9007199254740993,"keep":null}']) {
      const calcExpression = [{ field: 'tags', value }];
      expect((await post('calculate', { where, calcExpression })).success).toBe(true);
    }
    const [{ tags }] = (await store.query(
      "SELECT CAST(tags AS text) AS tags FROM parcels WHERE name = 'd'",
    )) as [{ tags: string }];
    expect(tags.replaceAll(' ', '')).toBe('{"a":9007199254740993,"keep":null}');
  });

  it('computes long whole numbers', async () => {
    const long = [
      { field: 'floors', sqlExpression: '1764200000000000 + 1' },
      { field: 'area', sqlExpression: '1764200000000000 + 1' },
    ];
    expect((await post('calculate', { where: "name = 'd'", calcExpression: long })).success).toBe(true);
    expect(await rows('floors,area', "name = 'd'")).toEqual([
      { floors: 1_764_200_000_000_001, area: 1_764_200_000_000_001 },
    ]);
    await post('calculate', { where: "name = 'd'", calcExpression: [{ field: 'floors', value: 4 }] });
  });

  it('copies times and truths', async () => {
    const calcExpression = [{ field: 'seen', sqlExpression: "TIMESTAMP '2026-03-04 05:06:07'" }];
    await post('calculate', { where: "name = 'd'", calcExpression });
    const again = [
      { field: 'seen', sqlExpression: 'seen' },
      { field: 'active', sqlExpression: 'floors > 3' },
    ];
    await post('calculate', { where: "name = 'd'", calcExpression: again });
    expect(await rows('seen,active', "name = 'd'")).toEqual([
      { seen: Date.UTC(2026, 2, 4, 5, 6, 7), active: 1 },
    ]);
  });

  it('changes nothing where one feature cannot take its value', async () => {
    const all = await rows('*');
    const tooLong = [{ field: 'name', sqlExpression: "CONCAT(name, 'xxxxxxxxxxxxxxxxxxx')" }];
    expect((await post('calculate', { calcExpression: tooLong })).error).toMatchObject({
      ...{ code: 400, message: expect.stringContaining('name') },
    });
    expect(await rows('*')).toEqual(all);
  });

  it.each([
    ['no list', { calcExpression: [] }],
    ['an object id', { calcExpression: [{ field: 'fid', value: 1 }] }],
    ['no field', { calcExpression: [{ field: 'nothing', value: 1 }] }],
    [
      'twice',
      {
        calcExpression: [
          { field: 'floors', value: 1 },
          { field: 'FLOORS', value: 1 },
        ],
      },
    ],
    ['another kind', { calcExpression: [{ field: 'floors', sqlExpression: 'name' }] }],
    ['SQL', { calcExpression: [{ field: 'floors', sqlExpression: '1; DROP TABLE parcels' }] }],
    ['a query', { calcExpression: [{ field: 'name', sqlExpression: '(SELECT name FROM parcels)' }] }],
    ['too much', { calcExpression: Array.from({ length: 101 }, () => ({ field: 'floors', value: 1 })) }],
    ['neither', { calcExpression: [{ field: 'floors' }] }],
  ])('refuses to calculate: %s', async (_title, members) => {
    const { error } = await post('calculate', members);
    expect([error.code, error.message]).toEqual([400, expect.stringContaining('calcExpression')]);
  });

  it.each([
    ['edits', { f: 'json' }],
    ['appendItemId', { appendItemId: 'abc' }],
    ['appendUploadFormat', { edits: [], appendUploadFormat: 'shapefile' }],
    ['appendFields', { edits: [], appendFields: ['nothing'] }],
    ['upsertMatchingField', { edits: [], upsert: true, upsertMatchingField: 'geom' }],
    ['useGlobalIds', { edits: [], useGlobalIds: true }],
    ['edits', { edits: [parcel({})], upsert: true, upsertMatchingField: 'name' }],
  ])('refuses to append: %s', async (name, members) => {
    const { error } = await post('append', members);
    expect([error.code, error.message]).toEqual([400, expect.stringContaining(name)]);
  });

  it('needs the right to write', async () => {
    const calcExpression = [{ field: 'floors', value: 1 }];
    expect((await post('calculate', { calcExpression }, {})).error.code).toBe(499);
    expect((await post('append', { edits: [parcel({ name: 'n' })] }, {})).error.code).toBe(499);
  });
}
