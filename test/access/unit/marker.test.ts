import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { CLOSED, OPEN_ACCESS } from '../../../src/core/access/access.js';
import type { Collection } from '../../../src/core/catalog/collection.js';
import { ApiError } from '../../../src/core/errors/errors.js';
import { ANONYMOUS, type Principal } from '../../../src/core/http/operation.js';
import { StateCipher } from '../../../src/services/access/keys/state-cipher.js';
import { LossWatch } from '../../../src/services/access/rules/findings.js';
import {
  collectMarks,
  findLost,
  hashSource,
  LostRestrictions,
  type Marker,
  omitOpened,
  type RuleDocuments,
  readMarker,
  writeMarker,
} from '../../../src/services/access/rules/marker.js';
import { rulePolicy } from '../../../src/services/access/rules/policy.js';
import { RuleSet } from '../../../src/services/access/rules/rules.js';
import { MarkerFile } from '../../../src/services/catalog/marker-file.js';
import type { DocumentStore } from '../../../src/stores/state/documents.js';

/** The list of restricted layers beside the data, and its judgement. */

const NO_RULES: RuleDocuments = { rows: [], masks: [], access: new Map() };
const rule = (layer: string, service = '*') => ({ service, layer, role: 'clerk' });
const nothing = () => undefined;
const marker: Marker = {
  state: 'first',
  layers: [{ id: 'roads', source: 'source of roads' }, { id: 'wells' }],
  services: ['water'],
  lost: [],
};
const { layers, services } = marker;
const NO_MARKS = { layers: [], services: [] };

describe('restrictions of a state', () => {
  const marks = (rules: Partial<RuleDocuments>, settings = {}) => {
    const idOf = (name: string) => (name === '3' ? 'third' : undefined);
    const found = collectMarks({ ...NO_RULES, ...rules }, new Map(Object.entries(settings)), idOf, (id) =>
      id === 'roads' ? 'a source' : undefined,
    );
    return [found.layers.map(({ id }) => id), found.services];
  };

  it('are those of rows, masks and access, by id and number', () => {
    expect(marks({ rows: [rule('roads'), rule('3')], masks: [rule('wells')] })).toEqual([
      ['roads', 'third', 'wells'],
      [],
    ]);
    expect(marks({ rows: [rule('*', 'water')], masks: [rule('*')] })).toEqual([[], ['*', 'water']]);
    const access = new Map([
      ['roads', CLOSED],
      ['wells', OPEN_ACCESS],
      ['lakes', { ...OPEN_ACCESS, allowedWriteRoles: ['clerk'] }],
      ['service/water', CLOSED],
    ]);
    expect(marks({ access })).toEqual([['lakes', 'roads'], ['water']]);
    expect(marks({ access: new Map([['*', CLOSED]]) })).toEqual([[], ['*']]);
  });

  it('are those of copies of restricted layers', () => {
    const from = (id: string, service = 'default') => ({ sources: [{ id, layerId: 7, service }] });
    const derivations = new Map([
      ['copy', from('roads')],
      ['free', from('wells')],
      ['of-service', from('springs', 'water')],
    ]);
    const access = new Map([['service/water', CLOSED]]);
    expect(marks({ rows: [rule('roads')], access, derivations })).toEqual([
      ['copy', 'of-service', 'roads'],
      ['water'],
    ]);
  });

  it('are permanent filters, hidden fields, disabled layers, and layers put into a closed service', () => {
    const settings = {
      ...{ filtered: { filter: { text: 'a = 1' } }, hidden: { fields: [{ name: 'a', hidden: true }] } },
      ...{ disabled: { enabled: false }, titled: { title: 'A', fields: [{ name: 'a', title: 'b' }] } },
      ...{ put: { service: 'water' }, other: { service: 'air' } },
    };
    expect(marks({ access: new Map([['service/water', CLOSED]]) }, settings)).toEqual([
      ['disabled', 'filtered', 'hidden', 'put'],
      ['water'],
    ]);
  });
});

describe('a marker', () => {
  const [plain, sealed, other] = ['', 'key', 'another key'].map((key) => new StateCipher(key));

  it('is read as it was written, and fits its key', () => {
    for (const sealing of [plain!, sealed!])
      expect(readMarker(writeMarker(marker, sealing), sealing)).toEqual({ marker, fits: true });
    expect(readMarker(writeMarker(marker, plain!), sealed!)?.fits).toBe(true);
  });

  it('does not fit another key, none, or another text', () => {
    const text = writeMarker(marker, sealed!);
    expect(readMarker(text, other!)?.fits).toBe(false);
    expect(readMarker(text, plain!)?.fits).toBe(false);
    for (const sealing of [plain!, sealed!])
      expect(readMarker(writeMarker(marker, sealing).replace('wells', 'walls'), sealing)?.fits).toBe(false);
  });

  it('is undefined for another text', () => {
    for (const text of [
      '',
      '{',
      'null',
      '{}',
      '{"marker":{"state":"a","layers":[{}],"services":[],"lost":[]}}',
    ])
      expect(readMarker(text, plain!)).toBeUndefined();
  });
});

describe('lost restrictions', () => {
  const former = { state: 'former', layers: [{ id: 'lakes' }], services: [] };

  it('are those of other states', () => {
    expect(findLost({ marker, fits: true }, 'first', NO_MARKS)).toEqual([]);
    expect(findLost({ marker, fits: true }, 'second', NO_MARKS)).toEqual([
      { state: 'first', layers, services },
    ]);
    const both = { ...marker, lost: [former] };
    expect(findLost({ marker: both, fits: true }, 'first', NO_MARKS)).toEqual([former]);
    // A state that is restored has its rules.
    expect(findLost({ marker: both, fits: true }, 'former', NO_MARKS)).toEqual([
      { state: 'first', layers, services },
    ]);
  });

  it('are all of a marker whose seal does not fit, without those that its state still restricts', () => {
    const unsealed = { marker: { ...marker, lost: [former] }, fits: false };
    const lost = { ...former, state: null };
    expect(findLost(unsealed, 'first', NO_MARKS)).toEqual([lost, { state: null, layers, services }]);
    expect(findLost(unsealed, 'first', { layers: [{ id: 'wells' }], services })).toEqual([
      lost,
      { state: null, layers: [layers[0]], services: [] },
    ]);
    expect(findLost(unsealed, 'second', { layers, services })).toContainEqual({
      state: null,
      layers,
      services,
    });
  });

  it('are everything for a marker that cannot be read', () => {
    expect(findLost(undefined, 'first', NO_MARKS)).toEqual([{ state: null, layers: [], services: ['*'] }]);
  });

  it('end with an access policy of the layer or the service', () => {
    const lost = [{ state: 'first', layers, services }];
    const opened = (...ids: string[]) =>
      omitOpened(lost, { access: new Map(ids.map((id) => [id, OPEN_ACCESS])) }, (id) =>
        id === 'new-roads' ? 'source of roads' : undefined,
      );
    expect(opened('other', '*')).toEqual(lost);
    expect(opened('roads')).toEqual([{ ...lost[0], layers: [layers[1]] }]);
    expect(opened('new-roads')).toEqual([{ ...lost[0], layers: [layers[1]] }]);
    expect(opened('service/water')).toEqual([{ ...lost[0], services: [] }]);
    expect(opened('roads', 'wells', 'service/water')).toEqual([]);
  });

  it('close layers to everybody but administrators', () => {
    const lost = new LostRestrictions([{ state: 'first', layers, services }], (id) =>
      id === 'new-roads' ? 'source of roads' : undefined,
    );
    const caller = (...permissions: string[]): Principal =>
      ({ ...ANONYMOUS, kind: 'api-key', permissions }) as Principal;
    const statuses = (
      id: string,
      layerId: number,
      service?: string,
      access: [string, typeof OPEN_ACCESS][] = [],
    ) => {
      const rules = new RuleSet(1, { roles: [], rows: [], masks: [], access: new Map(access), lost });
      const layer = { id, layerId, ...(service ? { service } : {}) } as never;
      return [ANONYMOUS, caller('features:read'), caller('*')].map(
        (one) => rulePolicy(() => rules)(one, layer, 'read').allowed,
      );
    };
    expect(statuses('roads', 1)).toEqual([false, false, true]);
    expect(statuses('new-roads', 1)).toEqual([false, false, true]);
    expect(statuses('springs', 1, 'water')).toEqual([false, false, true]);
    expect(statuses('lakes', 1)).toEqual([true, true, true]);
    expect(statuses('roads', 1, undefined, [['*', OPEN_ACCESS]])).toEqual([false, false, true]);
    expect(statuses('roads', 1, undefined, [['1', OPEN_ACCESS]])).toEqual([true, true, true]);
    expect(statuses('springs', 1, 'water', [['springs', CLOSED]])).toEqual([false, true, true]);
  });

  it('are reported once', () => {
    const told: string[] = [];
    const watch = new LossWatch((message) => told.push(message));
    const lost = (...ids: string[]) =>
      new LostRestrictions([{ state: 'first', layers: ids.map((id) => ({ id })), services: [] }], nothing);
    watch.look(lost('roads', 'wells'));
    watch.look(lost('roads'));
    expect(told).toEqual([expect.stringContaining('Only administrators can read: roads, wells.')]);
    watch.look(lost('roads', 'lakes'));
    expect(told).toHaveLength(2);
  });
});

describe('the marker file', () => {
  let folder: string;
  let path: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'graticule-marker-'));
    path = join(folder, 'restricted.json');
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  /** One process of a state. `state` keeps its documents. */
  function open(
    state: Map<string, unknown>,
    key = '',
    holders: [string, string][] = [],
    published: readonly Pick<Collection, 'id' | 'layerId' | 'file' | 'identity'>[] = [],
  ) {
    const errors: unknown[] = [];
    const documents = {
      get: async () => (state.has('id') ? { body: state.get('id') } : undefined),
      list: async () => [],
      async create(_kind: string, id: string, body: unknown) {
        if (state.has(id)) throw new ApiError('conflict', 'taken');
        state.set(id, body);
      },
    } as unknown as DocumentStore;
    const file = new MarkerFile({
      ...{ path, documents, sealing: new StateCipher(key), onError: (error) => errors.push(error) },
      collections: { holders: async () => new Map(holders), slugOf: async () => undefined },
      published: {
        all: () => published as readonly Collection[],
        find: (id) => published.find((one) => one.id === id) as Collection | undefined,
        identify: ({ identity }) => identity,
      },
    });
    return { file, errors };
  }
  const roads = { ...NO_RULES, rows: [rule('roads')] };

  it('exists once something is restricted, for its owner only', async () => {
    const state = new Map();
    await open(state).file.update(NO_RULES);
    expect(existsSync(path)).toBe(false);
    await open(state).file.update(roads);
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  it('is the same for all processes of a state, and is written only if it changes', async () => {
    const state = new Map();
    const [a, b] = [open(state), open(state)];
    await Promise.all([a.file.update(roads), b.file.update(roads)]);
    const { ino } = statSync(path);
    expect((await b.file.update(roads)).marks).toEqual([]);
    expect(statSync(path).ino).toBe(ino);
    await a.file.update(NO_RULES);
    expect((await b.file.update(NO_RULES)).marks).toEqual([]);
  });

  it('keeps what a lost state restricted until that has a policy, or the state is back', async () => {
    const [first, second] = [new Map(), new Map()];
    await open(first, 'key').file.update(roads);
    const wells = { ...NO_RULES, rows: [rule('wells')] };
    for (let starts = 0; starts < 2; starts++)
      expect((await open(second, 'key').file.update(wells)).names()).toEqual(['roads']);
    expect((await open(first, 'key').file.update(roads)).names()).toEqual(['wells']);
    expect((await open(second, 'key').file.update(wells)).names()).toEqual(['roads']);
    const opened = { ...wells, access: new Map([['roads', OPEN_ACCESS]]) };
    expect((await open(second, 'key').file.update(opened)).marks).toEqual([]);
    expect((await open(second, 'key').file.update(wells)).marks).toEqual([]);
  });

  it('finds a layer that has another id in the new state', async () => {
    await open(new Map(), '', [['a.gpkg', 'roads']]).file.update(roads);
    expect(readFileSync(path, 'utf8')).toContain(hashSource('a.gpkg'));
    const { file } = open(new Map());
    const lost = await file.update(NO_RULES);
    expect(lost.hasLayer('a-roads', 'default')).toBe(false);
    file.learnSource('a-roads', 'a.gpkg');
    expect(lost.hasLayer('a-roads', 'default')).toBe(true);
  });

  const table = (id: string, identity: string, file = 'postgresql://a/b') => ({
    id,
    identity,
    file,
    layerId: 1,
  });

  it('knows a table or file under another name, in this state and another', async () => {
    const state = new Map();
    await open(state, '', [], [table('roads', 'a')]).file.update(roads);
    const renamed = [table('streets', 'a'), table('roads', 'b'), table('wells', 'c')];
    for (let starts = 0; starts < 2; starts++) {
      const found = await open(state, '', [], renamed).file.update(roads);
      const former = ['streets', 'roads', 'wells'].map((id) => found.findFormer(id, []));
      expect(former).toEqual([['roads'], [], []]);
      expect(found.findFormer('streets', [{ id: 'roads' }])).toEqual([]);
    }
    const free = await open(state, '', [], renamed).file.update(NO_RULES);
    expect(free.findFormer('streets', [])).toEqual([]);
    await open(state, '', [], renamed).file.update(roads);
    const other = await open(new Map(), '', [], [table('paths', 'b'), table('wells', 'c')]).file.update(
      NO_RULES,
    );
    expect(['paths', 'wells'].map((id) => other.hasLayer(id, 'default'))).toEqual([true, false]);
  });

  it('remembers a file of a copy for its source, so that further copies follow the source alone', async () => {
    const state = new Map();
    const first = [table('roads', 'a', '/f.tif'), table('link', 'a', '/g.tif')];
    const copies = new Map([['link', { sources: [{ id: 'roads', layerId: 1, service: 'default' }] }]]);
    const rules = { ...roads, derivations: copies };
    await open(state, '', [], first).file.update(roads);
    const found = await open(state, '', [], first).file.update(rules);
    expect(found.findFormer('link', copies.get('link')!.sources)).toEqual([]);
    // Registered while the link was not known yet.
    const later = [...first, table('registered', 'a', '/f.tif')];
    const after = await open(state, '', [], later).file.update(rules);
    expect(after.findFormer('registered', [{ id: 'roads' }])).toEqual([]);
    expect(after.findFormer('other', [])).toEqual([]);
    const unknown = [...first, table('unknown', 'a', '/h.tif')];
    expect((await open(state, '', [], unknown).file.update(rules)).findFormer('unknown', [])).toEqual([
      'roads',
    ]);
  });

  it('does not take other layers of a file or table for the restricted one', async () => {
    const state = new Map();
    const first = [
      table('roads', 'a', '/f.gpkg'),
      table('wells', 'a', '/f.gpkg'),
      table('lakes', 'a', '/g.gpkg'),
    ];
    await open(state, '', [], first).file.update(roads);
    const { file } = open(
      state,
      '',
      [],
      [...first, table('ponds', 'a', '/f.gpkg'), table('bogs', 'a', '/h.gpkg')],
    );
    const found = await file.update(roads);
    expect(['wells', 'lakes', 'ponds', 'bogs'].map((id) => found.findFormer(id, []).length)).toEqual([
      0, 0, 0, 1,
    ]);
    const later = await open(
      state,
      '',
      [],
      [...first.slice(1), table('ponds', 'a', '/f.gpkg'), table('reeds', 'a', '/f.gpkg')],
    ).file.update(roads);
    expect(['wells', 'ponds', 'reeds'].map((id) => later.findFormer(id, []).length)).toEqual([0, 0, 1]);
  });

  it('survives another key while its state still has the rules', async () => {
    const state = new Map();
    await open(state, 'key').file.update(roads);
    expect((await open(state, 'other key').file.update(roads)).marks).toEqual([]);
    expect((await open(state, 'key').file.update(NO_RULES)).names()).toEqual(['roads']);
  });

  it('opens nothing if it is deleted while the server runs', async () => {
    await open(new Map()).file.update(roads);
    const second = new Map();
    const { file } = open(second);
    await file.update(NO_RULES);
    rmSync(path);
    expect((await file.update(NO_RULES)).names()).toEqual(['roads']);
    expect((await open(second).file.update(NO_RULES)).names()).toEqual(['roads']);
    rmSync(path);
    expect((await open(second).file.update(NO_RULES)).names()).toEqual([]);
  });

  it('closes everything if it is damaged', async () => {
    writeFileSync(path, '{"marker":');
    expect((await open(new Map()).file.update(NO_RULES)).names()).toEqual(['all layers']);
  });

  it('reports that it cannot be written', async () => {
    const { file, errors } = open(new Map());
    rmSync(folder, { recursive: true });
    expect((await file.update(roads)).marks).toEqual([]);
    expect(errors).toHaveLength(1);
  });
});
