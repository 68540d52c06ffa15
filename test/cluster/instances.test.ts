import { spawn } from 'node:child_process';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { instanceName } from '../../src/stores/database/instance.js';
import { describeStates, type TemporaryState } from '../support/state.js';

describeStates('processes of a state', (temporary, database) => {
  let t: TemporaryState;
  beforeEach(async () => {
    t = await temporary();
  });
  afterEach(() => t.close());
  const row = (name: string, applied = 0) => ({ name, server: 's', host: 'h', release: '1', applied });
  const alive = async () => (await t.state.instances.alive()).map(({ name }) => name);
  const silence = (name: string, ms: number) =>
    t.run(`UPDATE instances SET heartbeat_at = heartbeat_at - ${ms} WHERE name = '${name}'`);

  it('are alive from their first heartbeat until they are removed', async () => {
    const { instances } = t.state;
    const name = instanceName();
    await instances.beat(row(name, 3));
    await instances.beat(row('elsewhere:1:a', 4));
    await instances.beat(row(name, 5));
    expect(await instances.alive()).toEqual(
      [row('elsewhere:1:a', 4), row(name, 5)].sort((a, b) => (a.name < b.name ? -1 : 1)),
    );
    await instances.remove(name);
    expect(await alive()).toEqual(['elsewhere:1:a']);
  });

  it('of other machines are not alive when they are silent', async () => {
    await t.state.instances.beat(row('elsewhere:1:a'));
    await silence('elsewhere:1:a', 11_000);
    expect(await alive()).toEqual(['elsewhere:1:a']);
    await silence('elsewhere:1:a', 2000);
    expect(await alive()).toEqual([]);
    await t.state.instances.beat(row('elsewhere:1:a'));
    expect(await alive()).toEqual(['elsewhere:1:a']);
  });

  it('of this machine are seen to run where a file is the state, and need no heartbeats there', async () => {
    const name = instanceName();
    await t.state.instances.beat(row(name));
    await silence(name, 60_000);
    expect(await alive()).toEqual(database === 'SQLite' ? [name] : []);
    const { instances } = t.state;
    expect(instances.needsHeartbeats(await instances.alive())).toBe(database === 'PostgreSQL');
    await t.state.instances.beat(row('elsewhere:1:a'));
    expect(instances.needsHeartbeats(await instances.alive())).toBe(true);
  });

  it('that have ended are gone at once, and swept', async () => {
    const child = spawn('true');
    await new Promise((resolve) => child.once('exit', resolve));
    const [machine] = instanceName().split(':');
    await t.state.instances.beat(row(`${machine}:${child.pid}:x`));
    await t.state.instances.beat(row('elsewhere:1:old'));
    await silence('elsewhere:1:old', 3_700_000);
    expect(await alive()).toEqual([]);
    await t.state.instances.beat(row('elsewhere:1:new'));
    await t.state.instances.sweep();
    await t.run(`UPDATE instances SET heartbeat_at = 9000000000000`);
    expect(await alive()).toEqual(['elsewhere:1:new']);
  });
});
