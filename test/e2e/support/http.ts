import { execFile } from 'node:child_process';
import { type Agent, type IncomingHttpHeaders, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { promisify } from 'node:util';

const execFileAsync = promisify(execFile);

/** A response as it came over the wire: nothing decoded. */
export interface RawResponse {
  status: number;
  headers: IncomingHttpHeaders;
  body: Buffer;
}

export interface RawRequest {
  method?: string;
  headers?: Record<string, string>;
  body?: string | Buffer;
  agent?: Agent;
}

/** One request without what `fetch` does on its own: no decoding, no added headers but Host. */
export function raw(url: string, asked: RawRequest = {}): Promise<RawResponse> {
  return new Promise((resolve, reject) => {
    const sent = request(
      url,
      { method: asked.method ?? 'GET', headers: asked.headers, agent: asked.agent },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () =>
          resolve({ status: response.statusCode!, headers: response.headers, body: Buffer.concat(chunks) }),
        );
      },
    );
    sent.on('error', reject);
    sent.end(asked.body);
  });
}

// biome-ignore lint/suspicious/noExplicitAny: documents are compared member by member in tests
export async function json<T = any>(url: string, asked: RawRequest = {}): Promise<T> {
  const answer = await raw(url, asked);
  if (answer.status !== 200)
    throw new Error(`${url} answered ${answer.status}: ${answer.body.toString('utf8').slice(0, 300)}`);
  return JSON.parse(answer.body.toString('utf8')) as T;
}

/** Runs a program to its end; rejects with what it wrote when it fails or takes too long. */
export async function run(
  program: string,
  args: string[],
  env: Record<string, string> = {},
): Promise<string> {
  const { stdout } = await execFileAsync(program, args, {
    timeout: 60_000,
    maxBuffer: 64 * 1024 * 1024,
    env: { ...process.env, ...env },
  });
  return stdout;
}

export function portOf(url: string): number {
  return Number(new URL(url).port);
}

/** A bare connection to the server of `url`. */
export function dial(url: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(portOf(url), '127.0.0.1', () => resolve(socket));
    socket.on('error', reject);
  });
}

/** Sends bytes on a fresh connection and returns what comes back until the server closes it or `waitMs` passed. */
export async function exchange(url: string, bytes: string | Buffer, waitMs = 5000): Promise<string> {
  const socket = await dial(url);
  return new Promise((resolve) => {
    let text = '';
    const end = () => {
      clearTimeout(timer);
      socket.destroy();
      resolve(text);
    };
    const timer = setTimeout(end, waitMs);
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1');
    });
    socket.on('error', end);
    socket.on('close', end);
    socket.write(bytes);
  });
}

/** Asks again until `check` accepts; rejects with the last reason after `withinMs`. */
export async function eventually<T>(check: () => Promise<T>, withinMs = 60_000): Promise<T> {
  const until = Date.now() + withinMs;
  for (;;) {
    try {
      return await check();
    } catch (error) {
      if (Date.now() > until) throw error;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
}
