import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { answers, type BenchServer } from './server.js';

export interface StaticFile {
  /** Path of the URL. */
  path: string;
  /** Base64 of the gzipped content. */
  body: string;
  headers: Record<string, string>;
}

/**
 * nginx with one worker that serves these files as they are, gzipped, from the page cache, with an access log in blocks.
 */
export async function startNginx(
  files: readonly StaticFile[],
  { port, core }: { port: number; core: number },
): Promise<BenchServer> {
  const root = mkdtempSync(join(tmpdir(), 'graticule-nginx-'));
  for (const { path, body } of files) {
    const file = join(root, 'files', `${path}.gz`);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, Buffer.from(body, 'base64'));
  }
  const type = files[0]!.headers['content-type'];
  writeFileSync(
    join(root, 'nginx.conf'),
    `user root; worker_processes 1; pid ${root}/pid; error_log ${root}/error.log; daemon off;
     events { worker_connections 1024; }
     http {
       sendfile on; tcp_nopush on; keepalive_requests 100000000; open_file_cache max=10000; etag on;
       access_log ${root}/access.log combined buffer=64k; default_type ${type};
       client_body_temp_path ${root}/b; proxy_temp_path ${root}/p; fastcgi_temp_path ${root}/f; uwsgi_temp_path ${root}/u;
       scgi_temp_path ${root}/s;
       server { listen 127.0.0.1:${port}; root ${root}/files; gzip_static always; location / { add_header cache-control "public, max-age=60"; } }
     }`,
  );
  const child = spawn('taskset', ['-c', String(core), 'nginx', '-p', root, '-c', join(root, 'nginx.conf')], {
    stdio: 'inherit',
  });
  const origin = `http://127.0.0.1:${port}`;
  await answers(origin + files[0]!.path, child);
  const worker = Number(
    readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8').trim().split(' ')[0],
  );
  return {
    origin,
    pid: worker,
    async stop() {
      child.kill('SIGTERM');
      await once(child, 'exit');
      rmSync(root, { recursive: true });
    },
  };
}
