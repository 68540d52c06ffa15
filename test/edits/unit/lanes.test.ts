import { afterEach, describe, expect, it, vi } from 'vitest';
import type { VectorCollection } from '../../../src/core/catalog/collection.js';
import type { EditNote } from '../../../src/core/cluster/notes.js';
import type { CollectionChange, EditResult } from '../../../src/core/edits/edits.js';
import { EDIT_LIMITS } from '../../../src/core/edits/limits.js';
import { LIMITS } from '../../../src/core/kit/limits.js';
import type { Pools } from '../../../src/core/tasks/tasks.js';
import { Edits } from '../../../src/services/edits/edits.js';
import type { TaskContext } from '../../../src/services/kit/run-task.js';

const RESULT = { results: [] } as unknown as EditResult;

/** A writer whose edits end when the test says so. */
function writer() {
  const begun: string[] = [];
  const ends: ((result: EditResult | Error) => void)[] = [];
  const notes: EditNote[] = [];
  const bounds: object[] = [];
  const run = (_task: string, input: { source: { table: string } }, options: object) => {
    begun.push(input.source.table);
    bounds.push(options);
    return new Promise<EditResult>((resolve, reject) => {
      ends.push((result) => (result instanceof Error ? reject(result) : resolve(result)));
    });
  };
  const pools = { run } as unknown as Pools;
  return { begun, ends, notes, bounds, edits: new Edits(pools, (note) => notes.push(note)) };
}

function collection(table: string, path?: string): VectorCollection {
  return { id: table, source: { path, table } } as unknown as VectorCollection;
}

function context(signal = new AbortController().signal): TaskContext {
  return { signal, timing: () => {} } as unknown as TaskContext;
}

const EDIT = { operations: [] } as unknown as Parameters<Edits['run']>[2];
const settled = () => new Promise((resolve) => setImmediate(resolve));

describe('edits', () => {
  afterEach(() => {
    vi.restoreAllMocks();
  });

  it('of one file run one after the other, those of other files and of databases beside them', async () => {
    const { edits, begun, ends } = writer();
    const all = [
      edits.run(context(), collection('a', '/one.gpkg'), EDIT),
      edits.run(context(), collection('b', '/one.gpkg'), EDIT),
      edits.run(context(), collection('c', '/two.gpkg'), EDIT),
      edits.run(context(), collection('d'), EDIT),
      edits.run(context(), collection('e'), EDIT),
    ];
    await settled();
    expect(begun.toSorted()).toEqual(['a', 'c', 'd', 'e']);
    ends[begun.indexOf('a')]!(RESULT);
    await settled();
    expect(begun.at(-1)).toBe('b');
    for (const end of ends) end(RESULT);
    expect(await Promise.all(all)).toHaveLength(5);
  });

  it('wait also behind those that waited themselves', async () => {
    const { edits, begun, ends } = writer();
    const run = (table: string) => edits.run(context(), collection(table, '/one.gpkg'), EDIT);
    const all = [run('a'), run('b')];
    await settled();
    ends[0]!(RESULT);
    await all[0];
    all.push(run('c'));
    await settled();
    expect(begun).toEqual(['a', 'b']);
    ends[1]!(RESULT);
    await settled();
    expect(begun).toEqual(['a', 'b', 'c']);
    ends[2]!(RESULT);
    await Promise.all(all);
  });

  it('that have begun go on to their end, whoever leaves and however long they take', async () => {
    const { edits, bounds, ends } = writer();
    const edit = edits.run(context(), collection('a'), EDIT);
    await settled();
    expect(bounds[0]).not.toHaveProperty('signal');
    expect(bounds[0]).not.toHaveProperty('deadlineMs');
    ends[0]!(RESULT);
    await edit;
  });

  it('go on after one that failed', async () => {
    const { edits, begun, ends } = writer();
    const first = edits.run(context(), collection('a', '/one.gpkg'), EDIT);
    const second = edits.run(context(), collection('b', '/one.gpkg'), EDIT);
    await settled();
    ends[0]!(new Error('disk full'));
    await expect(first).rejects.toThrow('disk full');
    await settled();
    expect(begun).toEqual(['a', 'b']);
    ends[1]!(RESULT);
    await second;
  });

  it('are noted when they have changed something, before they are answered', async () => {
    const { edits, ends, notes } = writer();
    const change = { layerId: 1 } as unknown as CollectionChange;
    const one = edits.run(context(), collection('a', '/one.gpkg'), EDIT);
    const notesAtAnswer = one.then(() => notes.length);
    await settled();
    ends[0]!({ ...RESULT, change });
    expect(await notesAtAnswer).toBe(1);
    expect(notes).toEqual([{ collection: 'a', change }]);
    const other = edits.run(context(), collection('a', '/one.gpkg'), EDIT);
    await settled();
    ends[1]!(RESULT);
    await other;
    expect(notes).toHaveLength(1);
  });

  it('whose request went while it waited are not begun', async () => {
    const { edits, begun, ends } = writer();
    const first = edits.run(context(), collection('a', '/one.gpkg'), EDIT);
    const request = new AbortController();
    const second = edits.run(context(request.signal), collection('b', '/one.gpkg'), EDIT);
    request.abort();
    await settled();
    ends[0]!(RESULT);
    await first;
    await expect(second).rejects.toMatchObject({ code: 'cancelled' });
    expect(begun).toEqual(['a']);
  });

  it('that waited longer than a request may are not begun', async () => {
    const { edits, begun, ends } = writer();
    const clock = vi.spyOn(performance, 'now').mockReturnValue(0);
    const first = edits.run(context(), collection('a', '/one.gpkg'), EDIT);
    const second = edits.run(context(), collection('b', '/one.gpkg'), EDIT);
    await settled();
    clock.mockReturnValue(LIMITS.requestDeadlineMs + 1);
    ends[0]!(RESULT);
    await first;
    await expect(second).rejects.toMatchObject({ code: 'deadline-exceeded' });
    expect(begun).toEqual(['a']);
  });

  it('beyond those that may wait are refused, and taken again when the file is free', async () => {
    const { edits, begun, ends } = writer();
    const run = () => edits.run(context(), collection('a', '/one.gpkg'), EDIT);
    const all = Array.from({ length: EDIT_LIMITS.editQueue }, run);
    await expect(run()).rejects.toMatchObject({ code: 'queue-full' });
    for (let i = 0; i < all.length; i++) {
      await settled();
      ends[i]!(RESULT);
    }
    await Promise.all(all);
    const last = run();
    await settled();
    expect(begun).toHaveLength(EDIT_LIMITS.editQueue + 1);
    ends.at(-1)!(RESULT);
    await last;
  });
});
