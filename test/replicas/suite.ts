import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type EditableStore, parcel } from '../edits/support.js';
import { Device, ring, sent, startTown, type Town } from './support.js';

/** What replicas do, over each store that can be edited. */
export function replicaSuite(name: string, open: () => Promise<EditableStore>): void {
  describe(`replicas of ${name}`, () => {
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

    const insert = async (properties: Record<string, unknown>, x = 7, y = 46): Promise<number> => {
      const { status, body } = await town.send('POST', 'parcels/items', parcel(x, y, properties));
      expect(status, JSON.stringify(body)).toBe(201);
      return Number(body.id);
    };
    const patch = async (id: number, properties: Record<string, unknown>, geometry?: object) => {
      const body = { type: 'Feature', properties, ...(geometry ? { geometry } : {}) };
      const { status } = await town.send('PATCH', `parcels/items/${id}`, body);
      expect(status).toBe(200);
    };
    const stored = async (id: number) =>
      (await town.send('GET', `parcels/items/${id}`)).body?.properties as Record<string, unknown> | undefined;

    describe('creation', () => {
      it('gives the features as they are, in the spatial reference of the data', async () => {
        const id = await insert({
          ...{ name: 'whole', area: 2.5, floors: 3, built: '2024-02-29', active: true },
          ...{ seen: '2026-01-02T03:04:05Z', tags: { a: [1] } },
        });
        const created = await town.post('createReplica', {
          layers: [town.layers['parcels']],
          layerQueries: { [town.layers['parcels']!]: { where: "name = 'whole'" } },
        });
        expect(created).toMatchObject({
          transportType: 'esriTransportTypeEmbedded',
          responseType: 'esriReplicaResponseTypeData',
          syncModel: 'perReplica',
          replicaServerGen: expect.any(Number),
        });
        const [layer] = created.layers;
        expect(layer).toMatchObject({
          id: town.layers['parcels'],
          objectIdFieldName: 'fid',
          geometryType: 'esriGeometryPolygon',
          spatialReference: { wkid: 3857 },
        });
        expect(layer.features).toHaveLength(1);
        const [{ attributes, geometry }] = layer.features;
        expect(attributes).toMatchObject({
          ...{ fid: id, name: 'whole', area: 2.5, floors: 3, built: Date.parse('2024-02-29'), active: 1 },
          seen: Date.parse('2026-01-02T03:04:05Z'),
        });
        expect(JSON.parse(attributes.tags)).toEqual({ a: [1] });
        expect(geometry.spatialReference).toEqual({ wkid: 3857 });
        const [[x, y]] = geometry.rings[0];
        expect([x, y]).toEqual([expect.closeTo(779236.4, 0), expect.closeTo(5780349.2, 0)]);
      });

      it('takes only what a condition and an area name', async () => {
        await insert({ name: 'inside', floors: 9 }, 20, 50);
        await insert({ name: 'low', floors: 1 }, 20, 50);
        await insert({ name: 'elsewhere', floors: 9 }, 30, 50);
        const device = await Device.create(town, {
          geometry: { xmin: 19, ymin: 49, xmax: 22, ymax: 52, spatialReference: { wkid: 4326 } },
          geometryType: 'esriGeometryEnvelope',
          layerQueries: { [town.layers['parcels']!]: { where: 'floors > 5' } },
        });
        expect(device.names()).toEqual(['inside']);
      });

      it('is read by GDAL', async () => {
        const id = await insert({ name: 'by GDAL', floors: 3, built: '2024-02-29' }, 8, 47);
        const created = await town.post('createReplica', {
          layers: [town.layers['parcels']],
          layerQueries: { [town.layers['parcels']!]: { where: "name = 'by GDAL'" } },
        });
        const folder = mkdtempSync(join(tmpdir(), 'graticule-replica-'));
        try {
          writeFileSync(join(folder, 'layer.json'), JSON.stringify(created.layers[0]));
          const to = ['-f', 'GeoJSON', '/vsistdout/', `ESRIJSON:${join(folder, 'layer.json')}`];
          const { features } = JSON.parse(
            execFileSync('ogr2ogr', ['-t_srs', 'OGC:CRS84', ...to], { encoding: 'utf8' }),
          );
          expect(features).toHaveLength(1);
          const [{ properties, geometry }] = features;
          // It takes integers of 64 bits for text where it is older than these.
          expect([properties.fid, properties.name, Number(properties.floors)]).toEqual([id, 'by GDAL', 3]);
          const { body } = await town.send('GET', `parcels/items/${id}`);
          const corners = (shape: { coordinates: number[][][][] }) =>
            shape.coordinates
              .flat(2)
              .map((at) => at.map((x) => x.toFixed(5)).join(' '))
              .sort();
          const [read, served] = [geometry, body.geometry].map((shape) =>
            corners(shape.type === 'Polygon' ? { coordinates: [shape.coordinates] } : shape),
          );
          expect(read).toEqual(served);
        } finally {
          rmSync(folder, { recursive: true });
        }
      });

      it('is listed and described until it is unregistered', async () => {
        const device = await Device.create(town, { replicaName: 'of the field' });
        expect(await town.get('replicas')).toContainEqual({
          replicaName: 'of the field',
          replicaID: device.id,
        });
        const admin = await town.admin('GET', '/services/default/replicas');
        expect(admin.body.data.replicas).toContainEqual(
          expect.objectContaining({
            ...{ replicaId: device.id, replicaName: 'of the field', serviceId: 'default' },
            ...{ layerIds: [town.layers['parcels']], syncModel: 'perReplica', status: 'active' },
          }),
        );
        expect(await town.get(`replicas/${device.id}?f=pjson`)).toMatchObject({
          replicaID: device.id,
          replicaServerGen: device.generation,
        });
        const one = await town.admin('GET', `/services/default/replicas/${device.id}`);
        expect(one.body.data.lastSyncGeneration).toBe(device.generation);
        expect(await town.post('unRegisterReplica', { replicaID: device.id })).toEqual({ success: true });
        expect((await device.sync()).error.code).toBe(404);
        expect((await town.admin('GET', `/services/default/replicas/${device.id}`)).status).toBe(404);
      });

      it('without synchronisation leaves nothing behind', async () => {
        const before = await town.get('replicas');
        const created = await town.post('createReplica', { layers: '', syncModel: 'none' });
        expect(created.replicaID).toBeUndefined();
        expect(created.layers.length).toBeGreaterThan(1);
        expect(await town.get('replicas')).toEqual(before);
      });

      it.each([
        [{ dataFormat: 'sqlite' }, 'dataFormat'],
        [{ async: 'true' }, 'async'],
        [{ returnAttachments: 'true' }, 'returnAttachments'],
        [{ transportType: 'esriTransportTypeUrl' }, 'transportType'],
        [{ syncModel: 'perRow' }, 'syncModel'],
        [{ layers: 'one' }, 'layers'],
        [{ layerQueries: '[1' }, 'layerQueries'],
        [{ f: 'xml' }, 'f'],
        [{ geometry: '{"xmin": 1}' }, 'geometry'],
        [{ replicaSR: '1' }, 'replicaSR'],
      ])('refuses %j in band', async (members, parameter) => {
        const { error } = await town.post('createReplica', {
          layers: `${town.layers['parcels']}`,
          ...members,
        });
        expect(error.code).toBe(400);
        expect(error.message).toContain(parameter);
      });

      it('tells of layers and services that are not there', async () => {
        expect((await town.post('createReplica', { layers: '999999' })).error.code).toBe(404);
        const response = await fetch(`${town.server.url}/rest/services/nowhere/FeatureServer/replicas`);
        expect([response.status, (await response.json()).error.code]).toEqual([200, 404]);
      });
    });

    describe('changes', () => {
      it('are told as they are after all edits together', async () => {
        const [changed, removed] = [await insert({ name: 'changed' }), await insert({ name: 'removed' })];
        const device = await Device.create(town);
        await patch(changed, { floors: 1 });
        await patch(changed, { floors: 2 });
        await town.send('DELETE', `parcels/items/${removed}`);
        const added = await insert({ name: 'added' });
        const passing = await insert({ name: 'passing' });
        await town.send('DELETE', `parcels/items/${passing}`);
        const { features } = await device.sync();
        const ids = (list: { attributes: { fid: number } }[]) => list.map(({ attributes }) => attributes.fid);
        expect(ids(features.adds)).toEqual([added]);
        expect(ids(features.updates)).toEqual([changed]);
        expect(features.updates[0].attributes.floors).toBe(2);
        expect(features.deleteIds).toEqual([removed]);
        expect((await device.sync()).features).toBeUndefined();
      });

      it('move features into and out of the part of the replica', async () => {
        const [leaving, coming] = [
          await insert({ name: 'leaving', floors: 50 }),
          await insert({ name: 'coming', floors: 1 }),
        ];
        const device = await Device.create(town, {
          layerQueries: { [town.layers['parcels']!]: { where: 'floors >= 50' } },
        });
        expect(device.names()).toEqual(['leaving']);
        await patch(leaving, { floors: 2 });
        await patch(coming, { floors: 60 });
        const { features } = await device.sync(undefined, { syncDirection: 'download' });
        expect(features.deleteIds).toEqual([leaving]);
        expect(features.adds[0].attributes).toMatchObject({ fid: coming, floors: 60 });
        expect(device.names()).toEqual(['coming']);
      });

      it('are told by ids without a replica', async () => {
        const layer = town.layers['parcels']!;
        const { layerServerGens } = await town.post('createReplica', {
          layers: `${layer}`,
          syncModel: 'none',
        });
        const id = await insert({ name: 'extracted' });
        const query = `layers=${layer}&layerServerGens=${encodeURIComponent(JSON.stringify(layerServerGens))}`;
        const answer = await town.get(`extractChanges?${query}&returnIdsOnly=true&returnUpdates=false`);
        expect(answer.edits).toEqual([{ id: layer, objectIds: { adds: [id], updates: [], deletes: [] } }]);
        const posted = await town.post('extractChanges', { layerServerGens, outSR: '4326' });
        const [feature] = posted.edits[0].features.adds;
        expect(feature.geometry.rings[0][0]).toEqual([expect.closeTo(7, 6), expect.closeTo(46, 6)]);
      });

      it('are told layer by layer, each from its own generation', async () => {
        const { parcels, spots } = town.layers as { parcels: number; spots: number };
        const created = await town.post('createReplica', { layers: [parcels, spots], syncModel: 'perLayer' });
        expect(created.replicaServerGen).toBeUndefined();
        const [{ serverGen }] = created.layerServerGens;
        const id = await insert({ name: 'of a layer' });
        const spot = {
          type: 'Feature',
          geometry: { type: 'Point', coordinates: [7, 46, 5] },
          properties: {},
        };
        const other = Number((await town.send('POST', 'spots/items', spot)).body.id);
        const sync = (syncLayers: object[], more: object = {}) =>
          town.post('synchronizeReplica', { replicaID: created.replicaID, syncLayers, ...more });
        const first = await sync([{ id: spots, serverGen, syncDirection: 'download' }]);
        expect(first.edits).toHaveLength(1);
        const [{ geometry, attributes }] = first.edits[0].features.adds;
        expect(attributes.fid).toBe(other);
        expect(geometry).toMatchObject({ x: 7, y: 46, z: 5 });
        const second = await sync(
          [
            { id: parcels, serverGen, syncDirection: 'download' },
            { ...first.layerServerGens[0], syncDirection: 'upload' },
          ],
          { edits: [{ id: spots, deletes: [other] }] },
        );
        const [ofParcels, ofSpots] = second.edits;
        expect(ofParcels.features.adds[0].attributes.fid).toBe(id);
        expect(ofSpots).toMatchObject({ id: spots, deleteResults: [{ objectId: other, success: true }] });
        expect((await sync([])).error.message).toContain('syncLayers');
        expect((await sync([{ id: 4711, serverGen }])).error.code).toBe(400);
      });

      it('of a generation of another feed are refused', async () => {
        const device = await Device.create(town);
        const none = await town.post('extractChanges', {
          layerServerGens: [{ id: town.layers['parcels'], serverGen: 17 }],
        });
        expect(none.error).toMatchObject({
          code: 410,
          message: 'The generation is from another server. Create the replica again.',
        });
        device.generation += 1_000_000;
        expect((await device.sync()).error.code).toBe(400);
      });
    });

    describe('uploads', () => {
      it('apply edits, and do not tell the client of them again', async () => {
        const [changed, removed] = [await insert({ name: 'mine' }), await insert({ name: 'mine too' })];
        const device = await Device.create(town);
        const answer = await device.sync({
          adds: [sent({ fid: -1, name: 'new', seen: 1_700_000_000_000, active: 0 }, ring(10, 10))],
          updates: [sent({ fid: changed, floors: 7 })],
          deletes: [removed],
        });
        expect(answer).toMatchObject({
          addResults: [{ success: true, objectId: expect.any(Number) }],
          updateResults: [{ success: true, objectId: changed }],
          deleteResults: [{ success: true, objectId: removed }],
        });
        const [{ objectId }] = answer.addResults;
        const { name, active, seen } = (await stored(objectId))!;
        expect([name, active, Date.parse(String(seen))]).toEqual(['new', false, 1_700_000_000_000]);
        expect(await stored(changed)).toMatchObject({ name: 'mine', floors: 7 });
        expect(await stored(removed)).toBeUndefined();
        expect(answer.features).toEqual({ adds: [], updates: [], deleteIds: [] });
        expect((await device.sync()).features).toBeUndefined();
        const other = await Device.create(town);
        expect(other.features.get(objectId).geometry.rings).toEqual(ring(10, 10).rings);
      });

      it('leave a stored geometry that comes back as the replica has it', async () => {
        const id = await insert({ name: 'fine' }, 7.123456789012, 46.987654321098);
        const geometryOf = async () =>
          (await store.query(`SELECT geom FROM parcels WHERE fid = ${id}`))[0]!['geom'];
        const before = await geometryOf();
        const device = await Device.create(town);
        const { attributes, geometry } = device.features.get(id)!;
        const named = { attributes: { ...attributes, name: 'same' }, geometry };
        expect((await device.sync({ updates: [named] })).updateResults).toEqual([
          { objectId: id, success: true },
        ]);
        expect([await geometryOf(), (await stored(id))!['name']]).toEqual([before, 'same']);
        await device.sync({ updates: [{ attributes: { fid: id }, geometry: ring(10, 10) }] });
        expect(await geometryOf()).not.toEqual(before);
      });

      it('that come again after a lost answer are no conflict', async () => {
        const id = await insert({ name: 'again' });
        const device = await Device.create(town);
        const { generation } = device;
        await device.sync({ updates: [sent({ fid: id, floors: 1 })] });
        device.generation = generation;
        const { updateResults } = await device.sync({ updates: [sent({ fid: id, floors: 1 })] });
        expect(updateResults).toEqual([{ objectId: id, success: true }]);
      });

      it('say what is wrong with single edits, and undo all where one is to', async () => {
        const id = await insert({ name: 'single', floors: 1 });
        const device = await Device.create(town);
        const edits = {
          adds: [sent({ name: 'x'.repeat(30) }, ring(0, 0))],
          updates: [sent({ fid: id, floors: 2 }), sent({ fid: 99_999_999, floors: 2 })],
        };
        const undone = await device.sync(
          { updates: [edits.updates[0]], adds: edits.adds },
          { rollbackOnFailure: 'true' },
        );
        expect(undone.updateResults[0].success).toBe(false);
        expect(await stored(id)).toMatchObject({ floors: 1 });
        const answer = await device.sync(edits);
        expect(answer.addResults[0].error.description).toMatch(/name/);
        expect(answer.updateResults).toEqual([
          { objectId: id, success: true },
          expect.objectContaining({ success: false, error: expect.objectContaining({ code: 1019 }) }),
        ]);
        expect(await stored(id)).toMatchObject({ floors: 2 });
      });

      it.each([
        [{ updates: [{ attributes: { floors: 1 } }] }, 'object id'],
        [{ updates: [{ attributes: { fid: 5 } }, { attributes: { fid: 5 } }] }, 'twice'],
        [{ adds: [{ attributes: {}, geometry: { curveRings: [] } }] }, 'curves'],
        [
          { adds: [{ attributes: {}, geometry: { ...ring(0, 0), spatialReference: { wkid: 4326 } } }] },
          '3857',
        ],
        [{ attachments: { adds: [] } }, 'attachments'],
        [{ deletes: ['{guid}'] }, 'deletes'],
      ])('refuse %j in band', async (edits, words) => {
        const device = await Device.create(town);
        const { error } = await device.sync(edits);
        expect(error).toMatchObject({ code: 400, message: expect.stringContaining(words) });
      });
    });
  });
}
