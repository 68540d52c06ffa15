import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { answers, type BenchServer } from './server.js';

const PROGRAM = resolve('.cache/peers/centrifugo');
const CHANNEL = 'things';
const BATCH = 1000;
/** What a message adds to its data on the way to a client. */
const FRAME_BYTES = JSON.stringify({ push: { channel: CHANNEL, pub: { data: '' } } }).length;

/** Path of its WebSocket, and what a client says first there. It may put several messages into one frame. */
export const CENTRIFUGO_PATH = '/connection/websocket';
export const CENTRIFUGO_HELLO = `{"id":1,"connect":{}}\n{"id":2,"subscribe":{"channel":"${CHANNEL}"}}`;

export interface Centrifugo extends BenchServer {
  /** Publishes messages by its HTTP API; as frames they have this many bytes. */
  publish(messages: number, bytes: number): Promise<void>;
}

/** Undefined when it is not installed (bench/peers/install.sh). */
export async function centrifugo(port: number, core: number): Promise<Centrifugo | undefined> {
  if (!existsSync(PROGRAM)) return undefined;
  const folder = mkdtempSync(join(tmpdir(), 'graticule-bench-'));
  const config = join(folder, 'config.json');
  writeFileSync(config, JSON.stringify({ client_insecure: true, api_insecure: true, health: true }));
  const args = ['--config', config, '--port', String(port), '--log_level', 'error'];
  const child = spawn('taskset', ['-c', String(core), PROGRAM, ...args], { stdio: 'inherit' });
  const origin = `http://127.0.0.1:${port}`;
  await answers(`${origin}/health`, child);
  return {
    origin,
    pid: child.pid!,
    async publish(messages, bytes) {
      const command = { publish: { channel: CHANNEL, data: 'x'.repeat(bytes - FRAME_BYTES) } };
      for (let done = 0; done < messages; done += BATCH) {
        const commands = new Array(Math.min(BATCH, messages - done)).fill(command);
        const body = JSON.stringify({ commands });
        const response = await fetch(`${origin}/api/batch`, { method: 'POST', body });
        if (!response.ok || (await response.text()).includes('"error"'))
          throw new Error('Centrifugo refused a message');
      }
    },
    async stop() {
      child.kill('SIGTERM');
      rmSync(folder, { recursive: true });
    },
  };
}
