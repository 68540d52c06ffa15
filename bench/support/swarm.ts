import { fork } from 'node:child_process';
import { once } from 'node:events';
import { pin } from './core.js';

/** Core of the clients; servers have the other. */
export const CORE = 1;

/** Many WebSocket clients in a process of their own. */
export interface Swarm {
  /** Begins to count frames; `done` resolves once there are so many. */
  arm(count: number): Promise<{ done: Promise<unknown> }>;
  /** Resolves once there are as many frames as were to be waited for: milliseconds since the first began to connect. */
  readonly done: Promise<{ done?: number }>;
  /** Milliseconds from the time of each change to its arrival, since `arm`. */
  ages(): Promise<number[]>;
  stop(): Promise<void>;
}

/**
 * Resolves once all are connected. `hello` is sent by each; `wait` frames are waited for from the start. `joined`: the
 * server may put several messages into one frame, a line each.
 */
export async function swarm(
  origin: string,
  path: string,
  clients: number,
  hello = '',
  wait = 0,
  joined = false,
): Promise<Swarm> {
  const { hostname, port } = new URL(origin);
  const child = fork(
    'bench/support/swarm.mjs',
    [hostname, port, path, String(clients), hello, String(wait)],
    {
      execArgv: [],
      env: { ...process.env, SWARM_JOINED: joined ? '1' : '0' },
    },
  );
  pin(CORE, child.pid);
  child.on('exit', (code) => {
    if (code) throw new Error('the clients failed');
  });
  const told = (member: string) =>
    new Promise<Record<string, unknown>>((resolve) => {
      const listen = (message: Record<string, unknown>) => {
        if (!(member in message)) return;
        child.off('message', listen as never);
        resolve(message);
      };
      child.on('message', listen as never);
    });
  const done = told('done');
  await told('ready');
  return {
    done,
    async arm(count) {
      const finished = told('done');
      const armed = told('armed');
      child.send({ wait: count });
      await armed;
      return { done: finished };
    },
    async ages() {
      const answer = told('ages');
      child.send({});
      return (await answer)['ages'] as number[];
    },
    async stop() {
      child.kill();
      await once(child, 'exit');
    },
  };
}
