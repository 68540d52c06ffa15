import { afterEach, beforeEach, expect, it } from 'vitest';
import { StyleStore } from '../../../src/stores/styles/styles.js';
import { describeStates, type TemporaryState } from '../../support/state.js';

const BY = { changedBy: 'ann', changeSummary: null };
const document = (color: string) => ({
  version: 8 as const,
  sources: {},
  layers: [{ id: 'a', type: 'background' as const, paint: { 'background-color': color } }],
});

describeStates('stored styles', (temporary) => {
  let t: TemporaryState;
  let styles: StyleStore;
  beforeEach(async () => {
    t = await temporary();
    styles = new StyleStore(t.state.styles.db, 3);
  });
  afterEach(() => t.close());

  it('count their versions, keep the last ones, and are found by another process', async () => {
    for (const color of ['red', 'green', 'blue', 'white'])
      await styles.put(7, { ...BY, document: document(color) });
    await styles.put(8, { ...BY, document: document('black') });
    expect((await styles.history(7)).map(({ version }) => version)).toEqual([4, 3, 2]);
    expect(await styles.version(7, 1)).toBeUndefined();
    expect(await styles.version(7, 2)).toMatchObject({ document: document('green') });
    const other = await t.again();
    expect(await other.styles.current(7)).toMatchObject({ version: 4, document: document('white') });
    expect(await styles.current(9)).toBeUndefined();
    expect((await styles.inForce()).map(({ layerId, version }) => [layerId, version])).toEqual([
      [7, 4],
      [8, 1],
    ]);
  });

  it('keep what a change does not say, and the version of the document that is drawn', async () => {
    await styles.put(7, { ...BY, popupInfo: { title: 'x' } });
    expect(await styles.inForce()).toEqual([]);
    await styles.put(7, { ...BY, document: document('red') });
    const changed = await styles.put(7, { ...BY, drawingInfo: { a: 1 } });
    expect(changed).toMatchObject({
      version: 3,
      documentVersion: 2,
      document: document('red'),
      popupInfo: { title: 'x' },
    });
    const removed = await styles.put(7, { ...BY, popupInfo: null });
    expect(removed).toMatchObject({ version: 4, popupInfo: null, drawingInfo: { a: 1 } });
  });

  it('get versions of their own when two processes put at once', async () => {
    const other = await t.again();
    const puts = Array.from({ length: 6 }, (_, i) =>
      (i % 2 ? t.state : other).styles.put(7, { ...BY, document: document(`${i}`) }),
    );
    const versions = (await Promise.all(puts)).map(({ version }) => version);
    expect(versions.sort()).toEqual([1, 2, 3, 4, 5, 6]);
  });
});
