import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from './ports.js';

/** Debian's nginx with the server block of a page of the documentation, on a private port. */
export interface TestNginx {
  url: string;
  stop(): Promise<void>;
}

const START_MS = 20_000;

/** Starts nginx; the block's own address and that of the server behind it become those of here. */
export async function startNginx(block: string, upstream: string): Promise<TestNginx> {
  const root = mkdtempSync(join(tmpdir(), 'graticule-nginx-'));
  const port = await freePort();
  const here = block
    .replace('listen 80;', `listen 127.0.0.1:${port};`)
    .replace('listen 443 ssl;', `listen 127.0.0.1:${port} ssl;`)
    .replaceAll('http://127.0.0.1:8080', upstream)
    .replaceAll('/var/cache/graticule', `${root}/cache`);
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((name) => `${name}_temp_path ${root}/${name};`)
    .join(' ');
  writeFileSync(
    join(root, 'nginx.conf'),
    `${process.getuid?.() === 0 ? 'user root;' : ''} worker_processes 1; pid ${root}/pid; error_log ${root}/error.log; daemon off;
events {}
http { access_log off; ${temporary}
${here}
}`,
  );
  const configuration = ['-p', root, '-e', `${root}/error.log`, '-c', join(root, 'nginx.conf')];
  const child = spawn('/usr/sbin/nginx', configuration, { stdio: 'inherit' });
  const url = `http://127.0.0.1:${port}`;
  const stop = async () => {
    if (child.exitCode === null) {
      child.kill('SIGTERM');
      await once(child, 'exit');
    }
    rmSync(root, { recursive: true, force: true });
  };
  const until = Date.now() + START_MS;
  while (!(await fetch(url).then(Boolean, () => false))) {
    if (child.exitCode !== null || Date.now() > until) {
      const log = readFileSync(`${root}/error.log`, 'utf8');
      await stop();
      throw new Error(`nginx did not start: ${log}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return { url, stop };
}
