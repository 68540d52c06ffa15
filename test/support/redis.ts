import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from './ports.js';

/** A Redis server of a test's own. */
export interface TestRedis {
  url: string;
  /** Stops its answers, keeping its connections, until `resume`. */
  stall(): void;
  resume(): void;
  /** Ends the server and removes all it wrote. */
  stop(): Promise<void>;
}

const PROGRAM = '/usr/bin/redis-server';

/** Ends the server and removes its folder when the input closes, which it also does when the test dies in any way. */
const KEEPER = `
folder=$1; shift
"$@" >"$folder/log" 2>&1 & server=$!
echo $server
cat
kill -CONT $server; kill -KILL $server; wait $server
rm -rf "$folder"`;

/** Starts a server on a private port. Rejects when Redis is not installed. */
export async function startRedis(): Promise<TestRedis> {
  if (!existsSync(PROGRAM)) throw new Error('Redis is not installed: apt-get install redis-server');
  const folder = mkdtempSync(join(tmpdir(), 'graticule-redis-'));
  const port = await freePort();
  const server = [PROGRAM, '--port', String(port), '--bind', '127.0.0.1', '--dir', folder, '--save', ''];
  const keeper = spawn('/bin/sh', ['-c', KEEPER, 'keeper', folder, ...server], {
    cwd: folder,
    detached: true,
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  const [line] = (await once(keeper.stdout, 'data')) as [Buffer];
  const pid = Number(String(line));
  await untilListening(port);
  return {
    url: `redis://127.0.0.1:${port}`,
    stall: () => process.kill(pid, 'SIGSTOP'),
    resume: () => process.kill(pid, 'SIGCONT'),
    async stop() {
      if (keeper.exitCode !== null) return;
      const ended = once(keeper, 'exit');
      keeper.stdin.end();
      await ended;
    },
  };
}

async function untilListening(port: number): Promise<void> {
  for (let attempt = 0; attempt < 100; attempt++) {
    const socket = connect(port, '127.0.0.1');
    const up = await Promise.race([
      once(socket, 'connect').then(() => true),
      once(socket, 'error').then(() => false),
    ]).catch(() => false);
    socket.destroy();
    if (up) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error('Redis was not ready in time');
}
