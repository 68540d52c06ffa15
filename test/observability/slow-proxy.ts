import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** A TCP proxy in front of PostgreSQL that delays each message of the database, or accepts and does not respond. */
export class SlowProxy {
  delayMs: () => number = () => 0;
  /** Connections are accepted, and nothing is sent in either direction. */
  isSilent = false;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  static async start(target: string): Promise<SlowProxy> {
    const folder = new URL(target).searchParams.get('host')!;
    const proxy = new SlowProxy(`${folder}/.s.PGSQL.5432`);
    proxy.#server.listen(0, '127.0.0.1');
    await once(proxy.#server, 'listening');
    return proxy;
  }

  private constructor(path: string) {
    this.#server = createServer((client) => {
      const database = connect(path);
      this.#join(client, database, () => 0);
      this.#join(database, client, () => this.delayMs());
    });
  }

  /** URL of the same database through the proxy. */
  url(target: string): string {
    const { port } = this.#server.address() as AddressInfo;
    const url = new URL(target);
    return `postgresql://${url.username}@127.0.0.1:${port}${url.pathname}`;
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #join(from: Socket, to: Socket, delayMs: () => number): void {
    this.#sockets.add(from);
    let last: Promise<void> = Promise.resolve();
    from.on('data', (bytes) => {
      const due = performance.now() + delayMs();
      last = last.then(async () => {
        await sleep(Math.max(0, due - performance.now()));
        while (this.isSilent && !to.destroyed) await sleep(20);
        if (!to.destroyed) to.write(bytes);
      });
    });
    from.on('error', () => from.destroy());
    from.on('close', () => {
      this.#sockets.delete(from);
      to.destroy();
    });
  }
}
