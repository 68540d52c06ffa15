import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Files } from '../../attachments/support.js';
import { type KeyedTown, startKeyedTown, TREES } from './keys.js';

/** Edits by object ids of layers whose keys are no whole numbers. */

// biome-ignore lint/suspicious/noExplicitAny: documents are looked into
type Json = any;

let keyed: KeyedTown;
beforeAll(async () => {
  keyed = await startKeyedTown();
});
afterAll(() => keyed?.stop());

const layer = (name: string) => keyed.town.layers[name]!;
const edit = (name: string, members: Record<string, unknown>): Promise<Json> =>
  keyed.town.post(`${layer(name)}/applyEdits`, { f: 'json', ...members });
const attributesOf = async (name: string, where: string): Promise<Json[]> => {
  const answer = await keyed.town.post(`${layer(name)}/query`, { where, outFields: '*', f: 'json' });
  return answer.features.map(({ attributes }: Json) => attributes);
};
const stored = async (sql: string) => (await keyed.client.query(sql)).rows;
const point = (x: number, y: number) => ({ x, y, spatialReference: { wkid: 4326 } });

describe('applyEdits', () => {
  it('adds features before anybody has read the layer, and says their object ids', async () => {
    const { addResults } = await edit('trees', {
      adds: [
        { attributes: { kind: 'fir' }, geometry: point(1, 1) },
        { attributes: { kind: 'yew', id: '00000000-0000-4000-8000-00000000000a' }, geometry: point(2, 2) },
      ],
    });
    expect(addResults).toMatchObject([{ success: true }, { success: true }]);
    const [fir] = await attributesOf('trees', "kind = 'fir'");
    const [yew] = await attributesOf('trees', "kind = 'yew'");
    expect(addResults.map(({ objectId }: Json) => objectId)).toEqual([fir.OBJECTID, yew.OBJECTID]);
    expect(yew.id).toBe('00000000-0000-4000-8000-00000000000a');
    expect(fir.OBJECTID).not.toBe(yew.OBJECTID);
    const [told] = await stored(
      "SELECT feature_id FROM graticule_events.outbox WHERE attributes->>'kind' = 'fir'",
    );
    expect(told.feature_id).toBe(fir.id);
  });

  it('gives numbers in the transaction of the edit', async () => {
    const { addResults } = await edit('trees', { adds: [{ attributes: { kind: 'box' } }] });
    const tables = await stored(
      "SELECT relname FROM pg_class WHERE relname ~ '^object_ids_[0-9a-f]{16}$' AND relkind = 'r'",
    );
    const numbers = await Promise.all(
      tables.map(({ relname }) =>
        stored(`SELECT number, x.xmin = t.xmin AS together FROM graticule_events.${relname} x
          JOIN trees t ON t.id::text = x.key::text WHERE kind = 'box'`),
      ),
    );
    expect(numbers.flat()).toEqual([{ number: addResults[0].objectId, together: true }]);
  });

  it('changes and deletes by object ids', async () => {
    const [one, two] = await attributesOf('trees', "kind = 'oak'");
    const { updateResults, deleteResults } = await edit('trees', {
      // Some clients send all attributes back.
      updates: [{ attributes: { ...one, height: 1000 } }],
      deletes: `${two.OBJECTID}`,
    });
    expect([updateResults, deleteResults]).toEqual([
      [{ objectId: one.OBJECTID, success: true }],
      [{ objectId: two.OBJECTID, success: true }],
    ]);
    expect(await attributesOf('trees', 'height = 1000')).toEqual([{ ...one, height: 1000 }]);
    expect(await stored(`SELECT height FROM trees WHERE id = '${one.id}'`)).toEqual([{ height: 1000 }]);
    expect(await stored(`SELECT 1 FROM trees WHERE id = '${two.id}'`)).toEqual([]);
  });

  it('knows no feature by a number that no key has, and leaves keys as they are', async () => {
    const signs = await attributesOf('signs', '1=1');
    // The key of another feature is that text.
    expect(signs.map(({ code }) => code)).toContain('7');
    const { updateResults, deleteResults } = await edit('signs', {
      updates: [
        { attributes: { OBJECTID_1: 7, objectid: 'no' } },
        { attributes: { OBJECTID_1: signs[0].OBJECTID_1, code: 'other' } },
      ],
      deletes: '8',
    });
    expect(updateResults.map(({ success }: Json) => success)).toEqual([false, false]);
    expect(updateResults[0].error).toEqual({ code: 1019, description: 'There is no feature 7.' });
    expect(updateResults[1].error.description).toContain('code');
    expect(deleteResults).toMatchObject([{ objectId: 8, success: false }]);
    expect(await attributesOf('signs', '1=1')).toEqual(signs);
  });

  it('takes the keys of texts from the attributes, and needs them', async () => {
    const { addResults } = await edit('signs', {
      adds: [
        { attributes: { code: 'b"2', objectid: 'x' } },
        { attributes: { objectid: 'y' } },
        { attributes: { code: 'é' } },
      ],
    });
    expect(addResults.map(({ success }: Json) => success)).toEqual([true, false, false]);
    const [sign] = await attributesOf('signs', "objectid = 'x'");
    expect(sign).toEqual({ OBJECTID_1: addResults[0].objectId, code: 'b"2', objectid: 'x' });
  });

  it('refuses a key that is no text, and one in another case', async () => {
    const [tree] = await attributesOf('trees', "kind = 'yew'");
    const [sign] = await attributesOf('signs', "code = 'é'");
    const { addResults, updateResults } = await edit('trees', {
      adds: [{ attributes: { kind: 'rowan', id: 42 } }, { attributes: { kind: 'plane', id: null } }],
      updates: [{ attributes: { OBJECTID: tree.OBJECTID, id: tree.id.toUpperCase() } }],
    });
    expect(addResults.map(({ success }: Json) => success)).toEqual([false, true]);
    expect(addResults[0].error.description).toContain('id');
    expect(await stored("SELECT 1 FROM trees WHERE kind = 'rowan'")).toEqual([]);
    expect(updateResults).toEqual([{ objectId: tree.OBJECTID, success: true }]);
    const attributes = { OBJECTID_1: sign.OBJECTID_1, code: 'É' };
    const ofText = await edit('signs', { updates: [{ attributes }] });
    expect(ofText.updateResults).toMatchObject([{ success: false }]);
  });

  it('undoes all where one of several fails', async () => {
    const before = await attributesOf('signs', '1=1');
    const { addResults, updateResults } = await edit('signs', {
      rollbackOnFailure: true,
      adds: [{ attributes: { code: 'undone' } }],
      updates: [{ attributes: { OBJECTID_1: 4711, objectid: 'z' } }],
    });
    expect([...addResults, ...updateResults].map(({ success }) => success)).toEqual([false, false]);
    expect(await attributesOf('signs', '1=1')).toEqual(before);
  });
});

it('deleteFeatures selects by the object id, too', async () => {
  const [first, second] = await attributesOf('trees', "kind = 'elm'");
  const { deleteResults } = await keyed.town.post(`${layer('trees')}/deleteFeatures`, {
    where: `OBJECTID IN (${first.OBJECTID}, ${second.OBJECTID}) AND height <> ${second.height}`,
  });
  expect(deleteResults).toEqual([{ objectId: first.OBJECTID, success: true }]);
  const left = await stored(`SELECT id FROM trees WHERE id IN ('${first.id}', '${second.id}')`);
  expect(left).toEqual([{ id: second.id }]);
});

it('features that other surfaces add have object ids at once', async () => {
  const feature = { type: 'Feature', geometry: null, properties: { kind: 'sorb' } };
  expect((await keyed.town.send('POST', 'trees/items', feature)).status).toBe(201);
  const [sorb] = await attributesOf('trees', "kind = 'sorb'");
  expect(sorb.OBJECTID).toBeGreaterThan(TREES);
});

it('attachments belong to features by their object ids', async () => {
  const [tree, other] = await attributesOf('trees', "kind = 'ash'");
  const files = new Files(keyed.town, layer('trees'));
  const { addAttachmentResult } = await files.add(tree.OBJECTID);
  expect(addAttachmentResult).toMatchObject({ success: true });
  expect(await files.infos(tree.OBJECTID)).toMatchObject([{ name: 'photo.png' }]);
  expect(await files.infos(other.OBJECTID)).toEqual([]);
  expect((await files.get('999999/attachments?f=json')).error).toMatchObject({ code: 404 });
  expect((await files.add(999_999)).error).toMatchObject({ code: 404 });
  const found = await files.get(`queryAttachments?f=json&definitionExpression=OBJECTID%3D${tree.OBJECTID}`);
  expect(found.attachmentGroups).toMatchObject([{ parentObjectId: tree.OBJECTID }]);
});

describe('attachments of a feature that is deleted', () => {
  const files = () => new Files(keyed.town, layer('signs'));
  const add = async (code: string) =>
    (await edit('signs', { adds: [{ attributes: { code } }] })).addResults[0];

  it('are deleted with it, and those of no other feature', async () => {
    const [other] = await attributesOf('signs', "code = 'é'");
    // Its key is the number of the other one.
    const code = `${other.OBJECTID_1}`;
    const { objectId } = await add(code);
    await files().add(objectId);
    await files().add(other.OBJECTID_1);
    await edit('signs', { deletes: `${objectId}` });
    expect(await files().infos(other.OBJECTID_1)).toHaveLength(1);
    // The key comes back, and its number with it.
    expect(await add(code)).toEqual({ objectId, success: true });
    expect(await files().infos(objectId)).toEqual([]);
  });

  it('are deleted by surfaces that know its key', async () => {
    const { objectId } = await add('gone');
    await files().add(objectId);
    expect((await keyed.town.send('DELETE', 'signs/items/gone')).status).toBe(204);
    expect(await add('gone')).toEqual({ objectId, success: true });
    expect(await files().infos(objectId)).toEqual([]);
  });
});

describe('append and calculate', () => {
  const ask = (verb: string, members: Record<string, unknown>, name = 'trees'): Promise<Json> =>
    keyed.town.post(`${layer(name)}/${verb}`, { f: 'json', ...members });

  it('know the object ids of a layer that nobody has read', async () => {
    const calcExpression = [{ field: 'name', value: 'first' }];
    expect(await ask('calculate', { where: 'OBJECTID = 1', calcExpression }, 'posts')).toEqual({
      ...{ success: true, updatedFeatureCount: 1 },
    });
    expect(await attributesOf('posts', "name = 'first'")).toMatchObject([{ OBJECTID: 1 }]);
  });

  it('know features by their keys and by their object ids', async () => {
    const id = '00000000-0000-4000-8000-0000000000ff';
    const added = await ask('append', {
      edits: [{ attributes: { kind: 'teak', id }, geometry: point(3, 3) }],
    });
    expect(added).toMatchObject({ numFeaturesAppended: 1, numFeaturesFailed: 0 });
    const upsert = { upsert: true, upsertMatchingField: 'id', updateGeometry: false };
    const changed = await ask('append', { edits: [{ attributes: { id, height: 7 } }], ...upsert });
    expect(changed).toMatchObject({ numFeaturesUpdated: 1, numFeaturesAppended: 0 });
    const [teak] = await attributesOf('trees', "kind = 'teak'");
    expect(teak).toMatchObject({ id, height: 7 });
    const where = `OBJECTID = ${teak.OBJECTID}`;
    const calcExpression = [{ field: 'height', sqlExpression: 'height + OBJECTID' }];
    expect(await ask('calculate', { where, calcExpression })).toEqual({
      ...{ success: true, updatedFeatureCount: 1 },
    });
    expect((await attributesOf('trees', where))[0].height).toBe(7 + teak.OBJECTID);
    const { error } = await ask('calculate', { where, calcExpression: [{ field: 'id', value: 'x' }] });
    expect(error.code).toBe(400);
  });
});
