import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { TaskFailure } from '../../../src/core/errors/failure.js';
import { LIMITS } from '../../../src/core/kit/limits.js';
import { tableName } from '../../../src/services/catalog/table-name.js';
import { JobEngine } from '../../../src/services/jobs/engine.js';
import { type AdminHarness, adminHarness } from '../../admin/support/admin.js';
import { type FormPart, multipart } from '../../admin/support/multipart.js';

describe('import', () => {
  let api: AdminHarness;
  let file: string;
  beforeEach(async () => {
    api = await adminHarness();
    await mkdir(api.dataDir);
    file = join(api.directory, 'towns.geojson');
    await writeFile(file, '{}');
    api.jobs.start();
  });
  afterEach(() => api.close());

  const submit = (extra = {}) => api.imports.submit({ file, table: 'towns', ...extra }, { owner: 'cli' });
  const run = async (extra = {}) => api.jobs.finished((await submit(extra)).id);
  const leftovers = async () => {
    const found: string[] = [];
    for (const name of ['uploads', 'staging']) {
      const directory = join(api.dataDir, name);
      if (existsSync(directory)) found.push(...(await readdir(directory)));
    }
    return found;
  };

  it('stages, loads and publishes, and leaves nothing but the table', async () => {
    const job = await run({ title: 'Towns of the world' });
    expect(job).toMatchObject({
      state: 'Succeeded',
      result_json: '{"table":"towns","features":3,"layer":"towns"}',
    });
    expect(api.published).toEqual([
      {
        id: 'towns',
        title: 'Towns of the world',
        store: join(api.dataDir, 'stores/default.gpkg'),
        features: 3,
      },
    ]);
    expect(await leftovers()).toEqual([]);
    expect(existsSync(file)).toBe(true);
    const steps = await api.state.jobs.steps(job.id);
    expect(steps.map(({ phase, status }) => `${phase} ${status}`)).toEqual([
      'translate Succeeded',
      'load Succeeded',
      'publish Succeeded',
    ]);
  });

  it('is the same job again for the same key, also when its collection is there by now', async () => {
    const fetch = async () => ({ path: file, report: null });
    api.imports.addRemote({ kind: 'import-of-a-test', title: 'Import of a test', fetch });
    const submitRemote = (idempotencyKey: string) =>
      api.imports.submitRemote(
        'import-of-a-test',
        { table: 'towns', remote: {} },
        { owner: 'cli', idempotencyKey },
      );
    const { id } = await submitRemote('a');
    expect(await api.jobs.finished(id)).toMatchObject({ state: 'Succeeded' });
    expect((await submitRemote('a')).id).toBe(id);
    await expect(submitRemote('b')).rejects.toMatchObject({ code: 'conflict' });
  });

  it('reads the layer that was asked for', async () => {
    expect((await run({ layer: 'rivers' })).result_json).toContain('"layer":"rivers"');
    expect(await run({ layer: 'lakes', table: 'lakes' })).toMatchObject({
      state: 'Failed',
      failure_message: 'The file does not have this layer. Use towns, rivers.',
    });
  });

  it('asks for a CRS when the file names none', async () => {
    await writeFile(file, 'nocrs');
    expect(await run()).toMatchObject({ state: 'Failed', failure_code: 'unprocessable' });
    expect(await run({ sourceCrs: 'EPSG:4326' })).toMatchObject({ state: 'Succeeded' });
  });

  it('refuses a name that is taken', async () => {
    await run();
    await expect(submit()).rejects.toMatchObject({ status: 409 });
  });

  it('replaces nothing that its owner may no longer write', async () => {
    await run();
    api.rights.isImported = true;
    const principal = { kind: 'api-key', id: '1', permissions: [] };
    const loads = () => api.pools.calls.filter((name) => name === 'vector.load').length;
    api.pools.stageMs = 200;
    const { id } = await submit({ replace: true, principal });
    api.rights.mayReplace = false;
    expect(await api.jobs.finished(id)).toMatchObject({ state: 'Failed', failure_code: 'forbidden' });
    expect(loads()).toBe(1);
    await run({ replace: true });
    expect(loads()).toBe(2);
  });

  it.each(['ogr.stage', 'vector.load'] as const)('cleans up when %s fails', async (task) => {
    api.pools.failures.set(task, new TaskFailure('source-unreadable', 'The file is damaged.'));
    const job = await run({ owned: true });
    expect(job).toMatchObject({ state: 'Failed', failure_message: 'The file is damaged.' });
    expect(await leftovers()).toEqual([]);
    expect(existsSync(file)).toBe(false);
    expect(api.published).toEqual([]);
    await expect(api.jobs.retry(job.id)).rejects.toMatchObject({ status: 409 });
  });

  it('runs a failed import of a file that is still there again', async () => {
    api.pools.failures.set('vector.load', new TaskFailure('worker-lost', 'The worker was lost.'));
    const job = await run();
    expect(job.state).toBe('Failed');
    api.pools.failures.clear();
    await api.jobs.retry(job.id);
    expect((await api.jobs.finished(job.id)).state).toBe('Succeeded');
  });

  it('keeps the upload of an import that failed through no fault of its own, and runs it again', async () => {
    api.pools.failures.set('vector.load', new TaskFailure('worker-lost', 'The worker was lost.'));
    const { id } = await run({ owned: true });
    const actions = async () =>
      (await api.call('GET /jobs/{jobId}/actions', { path: { jobId: id } })).body.actions[1];
    expect(await actions()).toMatchObject({ name: 'retry', allowed: true });
    api.pools.failures.clear();
    await api.jobs.retry(id);
    expect((await api.jobs.finished(id)).state).toBe('Succeeded');
    expect(existsSync(file)).toBe(false);
    expect(await actions()).toMatchObject({ name: 'retry', allowed: false });
  });

  it('does not offer to run a damaged file again', async () => {
    api.pools.failures.set('ogr.stage', new TaskFailure('source-unreadable', 'The file is damaged.'));
    const path = { jobId: (await run({ owned: true })).id };
    const { body } = await api.call('GET /jobs/{jobId}', { path });
    expect(body.links).not.toHaveProperty('retry');
    expect(body.actions[1]).toMatchObject({
      name: 'retry',
      allowed: false,
      disabledReason: expect.any(String),
    });
    await expect(api.call('POST /jobs/{jobId}/retry', { path })).rejects.toMatchObject({ status: 409 });
  });

  it('bounds the uploads that wait to be tried again, by number and by age', async () => {
    api.pools.failures.set('vector.load', new TaskFailure('worker-lost', 'The worker was lost.'));
    const uploads: string[] = [];
    for (let n = 0; n < LIMITS.keptUploads + 2; n++) {
      const path = join(api.directory, `upload-${n}.geojson`);
      await writeFile(path, '{}');
      uploads.push(path);
      await run({ file: path, owned: true, table: `towns_${n}` });
    }
    await api.imports.trim();
    expect(uploads.map((path) => existsSync(path))).toEqual([
      ...[false, false],
      ...Array<boolean>(LIMITS.keptUploads).fill(true),
    ]);
    await api.state.jobs.db.updateTable('jobs').set({ completed_at: 0 }).execute();
    await api.imports.trim();
    expect(uploads.some((path) => existsSync(path))).toBe(false);
  });

  it('stops on cancellation and cleans up', async () => {
    api.pools.stageMs = 20_000;
    const job = await submit({ owned: true });
    await sleep(150);
    await api.jobs.cancel(job.id);
    expect((await api.jobs.finished(job.id)).state).toBe('Cancelled');
    expect(await leftovers()).toEqual([]);
    expect(existsSync(file)).toBe(false);
  });

  it('publishes what was loaded when it is cancelled too late', async () => {
    const job = await submit();
    api.pools.afterLoad = async () => void (await api.jobs.cancel(job.id));
    expect((await api.jobs.finished(job.id)).state).toBe('Succeeded');
    expect(api.published).toHaveLength(1);
  });

  it('does not load twice when the server died right after the load', async () => {
    let committed: () => void = () => {};
    const loaded = new Promise<void>((resolve) => {
      committed = resolve;
    });
    api.pools.afterLoad = () => {
      committed();
      return new Promise(() => {});
    };
    const job = await submit();
    await loaded;
    // The engine that hangs in the load keeps its lease alive: take it, as an instance would after its death.
    api.pools.afterLoad = async () => {};
    await api.state.jobs.db.updateTable('jobs').set({ lease_owner: 'dead', lease_expires_at: 0 }).execute();
    const successor = new JobEngine(api.state.jobs, { pollMs: 30 });
    successor.register(api.jobs.kindOf('import')!);
    successor.start();
    const ended = await successor.finished(job.id);
    expect(ended).toMatchObject({ state: 'Succeeded', attempt: 2 });
    // The second task finds the file that has the table.
    expect(api.pools.loaded).toEqual(['towns']);
    expect(api.published).toHaveLength(1);
    await successor.stop();
    // The run that hangs cannot be waited for: let its engine go without it.
    api.jobs.stop = async () => {};
  });

  describe('over the API', () => {
    const form = (fields: Record<string, string>, content = '{}', filename = 'towns.geojson') => {
      const parts: FormPart[] = Object.entries(fields).map(([name, value]) => ({ name, content: value }));
      const { contentType, body } = multipart([...parts, { name: 'file', filename, content }]);
      async function* upload() {
        yield body;
      }
      return { headers: { 'content-type': contentType }, upload: upload() };
    };
    const upload = (fields: Record<string, string>, content?: string, filename?: string) =>
      api.call('POST /import/upload', form(fields, content, filename));

    it('imports a small file while the client waits', async () => {
      const fields = { TableName: 'towns', SourceSrid: '4326' };
      const { status, body } = await upload(fields, '{}', 'Towns 2020.geojson');
      expect(status).toBe(200);
      expect(body).toMatchObject({ success: true, tableName: 'towns', featureCount: 3, format: 'GeoJson' });
      expect(api.published).toMatchObject([{ id: 'towns', title: 'Towns 2020' }]);
      expect(await leftovers()).toEqual([]);
      expect(JSON.parse(await readFile(join(api.dataDir, 'stores/default.gpkg'), 'utf8'))).toHaveProperty(
        'towns',
      );
    });

    it('imports in the background when asked, and tells how far it is', async () => {
      api.pools.stageMs = 400;
      const { status, body } = await upload({ TableName: 'towns', ForceBackground: 'TRUE' });
      expect(status).toBe(202);
      const { jobId } = body;
      expect(body).toMatchObject({
        statusUrl: `/api/v1/admin/import/jobs/${jobId}`,
        cancelUrl: `/api/v1/admin/import/jobs/${jobId}/cancel`,
      });
      await sleep(200);
      expect((await api.call('GET /import/jobs')).body.jobs).toMatchObject([{ jobId, status: 'Processing' }]);
      const active = await api.call('GET /operations/active', { query: { type: 'Import' } });
      expect(active.body).toMatchObject({
        Operations: [{ operationId: jobId, type: 1, Status: 1, JobId: jobId }],
        TotalCount: 1,
        FilteredByType: 1,
      });
      await api.jobs.finished(jobId);
      const job = await api.call('GET /import/jobs/{jobId}', { path: { jobId } });
      expect(job.body).toMatchObject({ jobId, status: 'Completed', featureCount: 3, percentComplete: 100 });
      expect((await api.call('GET /import/jobs')).body.jobs).toEqual([]);
      const status2 = await api.call('GET /operations/{operationId}', { path: { operationId: jobId } });
      expect(status2.body).toMatchObject({
        Status: 2,
        PercentComplete: 100,
        Duration: expect.stringMatching(/^00:00:\d\d\.\d{3}$/),
      });
    });

    it('cancels an import', async () => {
      api.pools.stageMs = 20_000;
      const { body } = await upload({ TableName: 'towns', ForceBackground: 'true' });
      await sleep(100);
      const path = { jobId: body.jobId };
      expect((await api.call('POST /import/jobs/{jobId}/cancel', { path })).status).toBe(200);
      await api.jobs.finished(body.jobId);
      expect((await api.call('GET /import/jobs/{jobId}', { path })).body.status).toBe('Cancelled');
      const again = await api.call('POST /operations/{operationId}/cancel', {
        path: { operationId: body.jobId },
      });
      expect(again.body).toMatchObject({ OperationId: body.jobId, Type: 1 });
      expect(await leftovers()).toEqual([]);
    });

    it.each<[string, Record<string, string>, number]>([
      ['without a table name', {}, 400],
      ['with a table name that is none', { TableName: 'a; drop table b' }, 400],
      ['into another schema', { TableName: 'towns', TargetSchema: 'other' }, 400],
      ['into a CRS that is none', { TableName: 'towns', TargetSrid: '999999' }, 400],
      ['into a table of GeoPackage itself', { TableName: 'gpkg_contents' }, 400],
      ['into a table of SQLite itself', { TableName: 'SQLite_master' }, 400],
      ['with a CRS that is no code', { TableName: 'towns', SourceSrid: 'WGS84' }, 400],
      ['with a flag that is none', { TableName: 'towns', ForceBackground: 'perhaps' }, 400],
    ])('refuses an upload %s and keeps nothing', async (_name, fields, status) => {
      await expect(upload(fields)).rejects.toMatchObject({ status });
      expect(await leftovers()).toEqual([]);
    });

    it('refuses a taken name in any case, and to replace what was not imported', async () => {
      await upload({ TableName: 'towns' });
      await expect(upload({ TableName: 'Towns' })).rejects.toMatchObject({ status: 409 });
      await expect(upload({ TableName: 'towns', OverwriteExisting: 'true' })).rejects.toMatchObject({
        status: 409,
      });
      expect(await leftovers()).toEqual([]);
    });

    it('answers 422 for a file that cannot be read', async () => {
      api.pools.failures.set('ogr.stage', new TaskFailure('source-unreadable', 'The file is damaged.'));
      const failing = upload({ TableName: 'towns' });
      await expect(failing).rejects.toMatchObject({ status: 422, message: 'The file is damaged.' });
      expect(await leftovers()).toEqual([]);
    });

    it('tells formats and limits', async () => {
      const { body } = await api.call('GET /import/formats');
      expect(body.supportedExtensions).toContain('.gpkg');
      expect(Object.keys(body.formatDescriptions)).toEqual(body.supportedExtensions);
    });

    it('tells all limits', async () => {
      const { body } = await api.call('GET /import/limits');
      const limits = [
        'batchSize maxMemoryBytes backgroundJobThresholdBytes maxPreviewSizeBytes maxPreviewFeatures',
        'maxPreviewCountScan streamBufferSize useTransactions continueOnError maxFeaturesPerFile',
        'maxArchiveEntryBytes maxArchiveExtractedBytes maxArchiveCompressionRatio',
      ].flatMap((names) => names.split(' '));
      expect(Object.keys(body)).toEqual(expect.arrayContaining(limits));
    });
  });

  it.each([
    ['Towns of Köln.geojson', 'towns_of_koln_geojson'],
    ['2020', 't_2020'],
    ['___', 'imported'],
    ['x'.repeat(100), 'x'.repeat(60)],
  ])('makes a table name of %s', (words, name) => {
    expect(tableName(words)).toBe(name);
  });
});
