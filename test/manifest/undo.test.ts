import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Principal } from '../../src/core/http/operation.js';
import type { AdminDeps } from '../../src/gateway/admin/deps.js';
import type { ManifestStep } from '../../src/gateway/manifest/apply.js';
import { carryOut } from '../../src/gateway/manifest/carry-out.js';
import { connection } from '../../src/gateway/manifest/publication.js';
import { CONNECTION_KIND, type Connection } from '../../src/services/connections/connection.js';
import { openState, type State } from '../../src/stores/state/state.js';
import { scratchDirectory } from '../engine/support.js';
import { stateWorker } from '../support/state.js';

/** An apply that fails takes back the connections that it wrote, as far as nobody has changed them since. */

const scratch = scratchDirectory();
let state: State;

beforeAll(async () => {
  state = await openState(join(scratch.path, 'state.db'), stateWorker());
});
afterAll(async () => {
  await state.close();
  scratch.remove();
});

const body = (name: string, host: string) =>
  ({ name, host, port: 5432, databaseName: 'x', username: 'x', password: null }) as unknown as Connection;
const hosts = async () =>
  Object.fromEntries(
    (await state.documents.list<Connection>(CONNECTION_KIND)).map((one) => [one.body.name, one.body.host]),
  );

const failure = new Error('the copy cannot be made');

/** Connections go to other hosts, and before the copy behind them fails somebody does `meanwhile`. */
async function apply(names: readonly string[], meanwhile: () => Promise<unknown>): Promise<void> {
  const all = await state.documents.list<Connection>(CONNECTION_KIND);
  const plain = { owner: null, before: undefined, place: 0 };
  const steps = names.map((name): ManifestStep => {
    const before = all.find((one) => one.body.name === name);
    const after = body(name, 'new.example');
    const prepared = { ...before, id: before?.id ?? randomUUID(), body: after };
    return { ...plain, action: before ? 'updated' : 'created', kind: connection, name, after, prepared };
  });
  const make = async () => {
    await meanwhile();
    throw failure;
  };
  const copy = { ...connection, kind: 'LayerCopy', make };
  steps.push({ ...plain, action: 'created', kind: copy, name: 'copy', after: {} });
  const deps = {
    state,
    connections: { list: () => state.documents.list(CONNECTION_KIND) },
    publishedLayers: { nameSources: async () => {} },
    settle: async () => {},
  } as unknown as AdminDeps;
  const principal = { subject: 'tester' } as unknown as Principal;
  await expect(carryOut(steps, principal, deps)).rejects.toBe(failure);
}

it('takes back what nobody has changed since', async () => {
  await state.documents.put(CONNECTION_KIND, 'a', body('a', 'a.example'), 'somebody');
  await state.documents.put(CONNECTION_KIND, 'b', body('b', 'b.example'), 'somebody');
  await apply(['a', 'b', 'c'], () =>
    state.documents.put(CONNECTION_KIND, 'b', body('b', 'theirs.example'), 'somebody else'),
  );
  expect(await hosts()).toEqual({ a: 'a.example', b: 'theirs.example' });
});
