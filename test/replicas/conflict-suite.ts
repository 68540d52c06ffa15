import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type EditableStore, parcel, square } from '../edits/support.js';
import { Device, ring, sent, startTown, type Town } from './support.js';

// biome-ignore lint/suspicious/noExplicitAny: documents are compared member by member in tests
type Json = any;

/** Edits of two sides, and what operators decide, over each store that can be edited. */
export function conflictSuite(name: string, open: () => Promise<EditableStore>): void {
  describe(`conflicts of replicas of ${name}`, () => {
    let store: EditableStore;
    let town: Town;

    beforeAll(async () => {
      store = await open();
      town = await startTown(store);
    });
    afterAll(async () => {
      await town?.server.stop();
      await store?.release();
    });

    /** A feature that a device has, and what the device and somebody else do to it. */
    async function meeting(onServer: (id: number) => Promise<unknown>, onClient: (id: number) => Json) {
      const { body } = await town.send('POST', 'parcels/items', parcel(7, 46, { name: 'base', floors: 1 }));
      const id = Number(body.id);
      const device = await Device.create(town);
      await onServer(id);
      const answer = await device.sync(onClient(id));
      const path = `/services/default/replicas/${device.id}/conflicts`;
      const list = (await town.admin('GET', path)).body.data.conflicts as Json[];
      return { id, device, answer, path, list, conflict: list[0] };
    }
    const patch = (properties: object, geometry?: object) => async (id: number) => {
      const body = { type: 'Feature', properties, ...(geometry ? { geometry } : {}) };
      expect((await town.send('PATCH', `parcels/items/${id}`, body)).status).toBe(200);
    };
    const remove = async (id: number) =>
      expect((await town.send('DELETE', `parcels/items/${id}`)).status).toBe(204);
    const update = (attributes: object, geometry?: object) => (id: number) => ({
      updates: [sent({ fid: id, ...attributes }, geometry)],
    });
    const deletion = (id: number) => ({ deletes: [id] });
    const stored = async (id: number) => (await town.send('GET', `parcels/items/${id}`)).body;
    const resolve = (path: string, { conflictId }: Json, body: object | string) =>
      town.admin('POST', `${path}/${conflictId}/resolve`, body);
    const detail = async (path: string, { conflictId }: Json) =>
      (await town.admin('GET', `${path}/${conflictId}`)).body.data;

    describe('types', () => {
      it('attribute: the server keeps its state, and all three are told', async () => {
        const { id, device, answer, path, conflict } = await meeting(
          patch({ floors: 2, note: 'server' }),
          update({ floors: 3, name: 'client' }),
        );
        expect(answer.updateResults).toEqual([
          { objectId: id, success: false, error: { code: 1003, description: expect.any(String) } },
        ]);
        expect((await stored(id)).properties).toMatchObject({ name: 'base', floors: 2, note: 'server' });
        expect(device.features.get(id).attributes).toMatchObject({ name: 'base', floors: 2 });
        expect(conflict).toMatchObject({
          ...{ serviceId: 'default', replicaId: device.id, layerId: device.layer, objectId: id },
          ...{ conflictType: 'attribute', status: 'pending', clientEditApplied: false },
          ...{ clientEditOutcomeUnknown: false, clientEditSuperseded: false },
        });
        const all = await detail(path, conflict);
        expect(all.baseState.attributes).toMatchObject({ name: 'base', floors: 1 });
        expect(all.clientState.attributes).toMatchObject({ name: 'client', floors: 3 });
        expect(all.serverState.attributes).toMatchObject({ name: 'base', floors: 2, note: 'server' });
        const change = (field: string) => all.fieldChanges.find((one: Json) => one.field === field);
        expect(change('floors')).toEqual({
          ...{ field: 'floors', baseValue: 1, clientValue: 3, serverValue: 2 },
          ...{ changedOnClient: true, changedOnServer: true },
        });
        expect(change('name')).toMatchObject({ changedOnClient: true, changedOnServer: false });
        expect(change('note')).toMatchObject({ changedOnClient: false, changedOnServer: true });
        expect(all.geometryChanged).toBe(false);
      });

      it('geometry', async () => {
        const { conflict, path } = await meeting(
          patch({}, { type: 'Polygon', coordinates: square(8, 47) }),
          update({}, ring(0, 0)),
        );
        expect(conflict.conflictType).toBe('geometry');
        const { clientState, geometryChanged } = await detail(path, conflict);
        expect(geometryChanged).toBe(true);
        expect(clientState.geometry.coordinates[0][0][0]).toEqual([
          expect.closeTo(0, 6),
          expect.closeTo(0, 6),
        ]);
      });

      it('deleteUpdate and updateDelete', async () => {
        expect((await meeting(patch({ floors: 5 }), deletion)).conflict.conflictType).toBe('deleteUpdate');
        const { conflict, path } = await meeting(remove, update({ floors: 5 }));
        expect(conflict.conflictType).toBe('updateDelete');
        expect((await detail(path, conflict)).serverState).toBeUndefined();
      });

      it('deleteDelete, which nobody has to decide', async () => {
        const { answer, conflict, device } = await meeting(remove, deletion);
        expect(answer.deleteResults[0].success).toBe(true);
        expect(conflict).toMatchObject({ conflictType: 'deleteDelete', status: 'resolved' });
        expect(device.features.has(conflict.objectId)).toBe(false);
      });

      it('duplicateInsert', async () => {
        const { body } = await town.send('POST', 'parcels/items', parcel(7, 46, { name: 'taken' }));
        const { conflict } = await meeting(patch({ floors: 2 }), () => ({
          adds: [sent({ fid: Number(body.id), name: 'client' }, ring(0, 0))],
        }));
        expect(conflict).toMatchObject({ conflictType: 'duplicateInsert', objectId: Number(body.id) });
        expect((await stored(Number(body.id))).properties.name).toBe('taken');
      });

      it('none where both sides mean the same', async () => {
        const { list, answer } = await meeting(patch({ floors: 4 }), update({ floors: 4 }));
        expect(list).toEqual([]);
        expect(answer.updateResults[0].success).toBe(true);
      });

      it('keep no other edit from being applied', async () => {
        const { body } = await town.send('POST', 'parcels/items', parcel(7, 46, { name: 'free' }));
        const free = Number(body.id);
        const { answer } = await meeting(patch({ floors: 2 }), (id) => ({
          updates: [sent({ fid: id, floors: 3 }), sent({ fid: free, floors: 3 })],
        }));
        expect(answer.updateResults.map(({ success }: Json) => success)).toEqual([false, true]);
        expect((await stored(free)).properties.floors).toBe(3);
      });
    });

    it('are met whenever others are quicker, by however little', async () => {
      const ids: number[] = [];
      for (let i = 0; i < 12; i++) {
        const { body } = await town.send('POST', 'parcels/items', parcel(7, 46, { name: 'race', floors: 0 }));
        ids.push(Number(body.id));
      }
      const device = await Device.create(town);
      const { generation } = device;
      for (const id of ids) {
        device.generation = generation;
        const [answer] = await Promise.all([
          device.sync(update({ floors: 1 })(id), { syncDirection: 'upload' }),
          patch({ floors: 2 })(id),
        ]);
        const [{ success }] = answer.updateResults;
        // Whoever writes last is seen: the client only where its edit was not in the way of the other one.
        expect((await stored(id)).properties.floors).toBe(2);
        const path = `/services/default/replicas/${device.id}/conflicts`;
        const { conflicts } = (await town.admin('GET', path)).body.data;
        expect(conflicts.some(({ objectId }: Json) => objectId === id)).toBe(!success);
      }
    });

    it('are met once by an edit that is sent again', async () => {
      const { body } = await town.send('POST', 'parcels/items', parcel(7, 46, { name: 'base', floors: 1 }));
      const device = await Device.create(town);
      const { generation } = device;
      await patch({ floors: 2 })(Number(body.id));
      const path = `/services/default/replicas/${device.id}/conflicts`;
      for (let i = 0; i < 2; i++) {
        device.generation = generation;
        const answer = await device.sync(update({ floors: 3 })(Number(body.id)));
        expect(answer.updateResults[0].success).toBe(false);
      }
      expect((await town.admin('GET', path)).body.data.conflicts).toHaveLength(1);
    });

    it('are superseded by a later edit of the client', async () => {
      const { id, device, path, conflict } = await meeting(patch({ floors: 2 }), update({ floors: 3 }));
      await patch({ note: 'again' })(id);
      await device.sync({ updates: [sent({ fid: id, floors: 9 })] });
      const list = (await town.admin('GET', path)).body.data.conflicts as Json[];
      expect(list.map(({ clientEditSuperseded }) => clientEditSuperseded)).toEqual([true, false]);
      expect((await resolve(path, conflict, { action: 'acceptClient' })).status).toBe(409);
      expect((await resolve(path, conflict, { action: 'rejectClient' })).status).toBe(200);
    });

    describe('resolution', () => {
      const both = () => meeting(patch({ floors: 2, note: 'server' }), update({ floors: 3, name: 'client' }));

      it('acceptClient writes what the client sent, and the replica hears of it', async () => {
        const { id, device, path, conflict } = await both();
        const { status, body } = await resolve(path, conflict, { action: 'acceptClient' });
        expect(status).toBe(200);
        expect(body.data).toMatchObject({ committedNewServerState: true, effect: 'writeFeatureState' });
        expect(body.data.conflict).toMatchObject({
          ...{ status: 'resolved', clientEditApplied: true, resolutionAction: 'acceptClient' },
          resolvedServerGeneration: expect.any(Number),
        });
        expect((await stored(id)).properties).toMatchObject({ name: 'client', floors: 3, note: 'server' });
        const { features } = await device.sync();
        expect(features.updates[0].attributes).toMatchObject({ fid: id, name: 'client', floors: 3 });
        expect((await resolve(path, conflict, { action: 'keepServer' })).status).toBe(409);
      });

      it.each(['keepServer', 'rejectClient'])('%s changes nothing', async (action) => {
        const { id, path, conflict } = await both();
        const { body } = await resolve(path, conflict, { action });
        expect(body.data).toMatchObject({ committedNewServerState: false, effect: 'none' });
        expect(body.data.conflict).toMatchObject({ status: 'resolved', clientEditApplied: false });
        expect((await stored(id)).properties).toMatchObject({ name: 'base', floors: 2 });
      });

      it('mergeFields writes the values of the operator', async () => {
        const { id, path, conflict } = await both();
        expect((await resolve(path, conflict, { action: 'mergeFields' })).status).toBe(400);
        const wrong = await resolve(path, conflict, {
          action: 'mergeFields',
          fieldValues: { floors: 'many' },
        });
        expect(wrong.status).toBe(400);
        const fieldValues = { name: 'client', floors: 2, tags: { only: 1 } };
        const { body } = await resolve(path, conflict, { action: 'mergeFields', fieldValues });
        expect(body.data).toMatchObject({ effect: 'writeFeatureState', committedNewServerState: true });
        expect(body.data.conflict.clientEditApplied).toBe(false);
        expect((await stored(id)).properties).toMatchObject({
          ...{ name: 'client', floors: 2, note: 'server', tags: { only: 1 } },
        });
      });

      it('mergeFields keeps all digits', async () => {
        const { id, path, conflict } = await both();
        const text =
          '{"action":"mergeFields","fieldValues":{"floors":1152921504606846979,"tags":{"a":0.12345678901234567890}}}';
        const { body } = await resolve(path, conflict, text);
        expect(body.data).toMatchObject({ effect: 'writeFeatureState' });
        const [row] = await store.query(
          `SELECT CAST(floors AS text) AS floors, CAST(tags AS text) AS tags FROM parcels WHERE fid = ${id}`,
        );
        expect(String(row!['floors'])).toBe('1152921504606846979');
        expect(String(row!['tags']).replaceAll(' ', '')).toMatch(/^\{"a":0\.1234567890123456789/);
      });

      it('chooseGeometry takes the geometry of one side', async () => {
        const moved = () =>
          meeting(
            patch({}, { type: 'Polygon', coordinates: square(8, 47) }),
            update({ floors: 6 }, ring(0, 0)),
          );
        const [client, server] = [await moved(), await moved()];
        const body = { action: 'chooseGeometry' };
        expect((await resolve(client.path, client.conflict, body)).status).toBe(400);
        const chosen = await resolve(client.path, client.conflict, { ...body, geometry: 'client' });
        expect(chosen.body.data.effect).toBe('writeFeatureState');
        const feature = await stored(client.id);
        expect(feature.geometry.coordinates[0][0]).toContainEqual([
          expect.closeTo(0, 6),
          expect.closeTo(0, 6),
        ]);
        expect(feature.properties.floors).toBe(1);
        const resolution = await resolve(server.path, server.conflict, { ...body, geometry: 'server' });
        expect(resolution.body.data.effect).toBe('none');
      });

      it('defer leaves it to be decided later', async () => {
        const { path, conflict } = await both();
        expect((await resolve(path, conflict, { action: 'defer' })).body.data.conflict.status).toBe(
          'deferred',
        );
        const deferred = await town.admin('GET', `${path}?status=deferred`);
        expect(deferred.body.data).toMatchObject({
          statusFilter: 'deferred',
          conflicts: [{ status: 'deferred' }],
        });
        expect((await town.admin('GET', `${path}?status=pending`)).body.data.conflicts).toEqual([]);
        expect((await town.admin('GET', `${path}?status=open`)).status).toBe(400);
        expect((await resolve(path, conflict, { action: 'acceptClient' })).status).toBe(200);
      });

      it('acceptClient deletes what the client deleted', async () => {
        const { id, path, conflict } = await meeting(patch({ floors: 5 }), deletion);
        const { body } = await resolve(path, conflict, { action: 'acceptClient' });
        expect(body.data.effect).toBe('deleteFeature');
        expect((await town.send('GET', `parcels/items/${id}`)).status).toBe(404);
      });

      it('acceptClient brings back what the server deleted', async () => {
        const { path, conflict } = await meeting(remove, update({ name: 'back', floors: 5 }, ring(0, 0)));
        expect(
          (await resolve(path, conflict, { action: 'mergeFields', fieldValues: { floors: 1 } })).status,
        ).toBe(400);
        const { body } = await resolve(path, conflict, { action: 'acceptClient' });
        expect(body.data.effect).toBe('writeFeatureState');
        const { features } = (await town.send('GET', 'parcels/items?name=back')).body;
        expect(features.at(-1).properties).toMatchObject({ name: 'back', floors: 5 });
      });

      it('acceptClient does not bring back a geometry that may have been rounded', async () => {
        const { path, conflict } = await meeting(remove, update({ name: 'rounded' }));
        const { status, body } = await resolve(path, conflict, { action: 'acceptClient' });
        expect([status, body.detail]).toEqual([409, expect.stringContaining('Choose rejectClient')]);
        expect((await town.send('GET', 'parcels/items?name=rounded')).body.features).toEqual([]);
        expect((await resolve(path, conflict, { action: 'rejectClient' })).status).toBe(200);
      });

      it('acceptClient puts the new feature in the place of the other one', async () => {
        const { body } = await town.send('POST', 'parcels/items', parcel(7, 46, { name: 'taken' }));
        const taken = Number(body.id);
        const { path, conflict } = await meeting(patch({ floors: 2 }), () => ({
          adds: [sent({ fid: taken, name: 'client' }, ring(0, 0))],
        }));
        expect((await resolve(path, conflict, { action: 'acceptClient' })).status).toBe(200);
        expect((await stored(taken)).properties.name).toBe('client');
      });

      it('is refused when what is at stake has moved on, and not for what is not', async () => {
        const aside = await both();
        await patch({ area: 9 })(aside.id);
        expect((await resolve(aside.path, aside.conflict, { action: 'acceptClient' })).status).toBe(200);
        expect((await stored(aside.id)).properties).toMatchObject({ area: 9, floors: 3 });
        const moved = await both();
        await patch({ floors: 8 })(moved.id);
        const { status } = await resolve(moved.path, moved.conflict, { action: 'acceptClient' });
        expect(status).toBe(409);
        expect((await stored(moved.id)).properties.floors).toBe(8);
        expect((await detail(moved.path, moved.conflict)).status).toBe('pending');
      });

      it('refuses what fits no action', async () => {
        const { path, conflict } = await both();
        for (const body of [{}, { action: 'flip' }, { action: 'keepServer', geometry: 'client' }])
          expect((await resolve(path, conflict, body)).status).toBe(400);
        const unknown = { conflictId: '00000000-0000-4000-8000-000000000000' };
        expect((await resolve(path, unknown, { action: 'keepServer' })).status).toBe(404);
      });
    });

    it('outlive the replica that its owner unregisters', async () => {
      const { device, path, conflict } = await meeting(patch({ floors: 2 }), update({ floors: 3 }));
      expect(await town.post('unRegisterReplica', { replicaID: device.id })).toEqual({ success: true });
      const { body } = await town.admin('GET', `/services/default/replicas/${device.id}`);
      expect(body.data.status).toBe('expired');
      expect((await resolve(path, conflict, { action: 'acceptClient' })).status).toBe(200);
    });
  });
}
