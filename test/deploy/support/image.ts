import { execFileSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { type Stage, type Step, stagesOf } from './dockerfile.js';

/**
 * What `docker build` makes of the Dockerfile, made without a container engine: the instructions of the file itself are
 * carried out in folders, by chroot in mount namespaces of their own. The base is not the image that FROM names but what
 * that image is made of: Debian 13 by debootstrap, and the Node.js 24 and npm of the npm registry.
 */
export interface Image {
  root: string;
  env: Record<string, string>;
  workdir: string;
  user: string;
  volumes: string[];
  last: Stage;
}

const CACHE = process.env['GRATICULE_CACHE'] ?? join(homedir(), '.cache/graticule');
const SUITE = 'trixie';
const NODE_VERSION = '24.21.0';
const NPM_VERSION = '11.6.2';
const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
/** Certificates and registries that this machine names reach a build as its proxies do. */
const PASSED = /^(https?_proxy|no_proxy|npm_config_\w+)$/i;

const run = (command: string, args: string[], env = process.env) =>
  execFileSync(command, args, { stdio: ['ignore', 'inherit', 'inherit'], env });

/** A root with what the image of Node.js has; made once. */
function baseRoot(): string {
  const base = join(CACHE, `image-base-${SUITE}-${NODE_VERSION}-${NPM_VERSION}`);
  if (existsSync(base)) return base;
  const part = `${base}.part${process.pid}`;
  mkdirSync(CACHE, { recursive: true });
  run('debootstrap', ['--variant=minbase', SUITE, part]);
  const prefix = join(part, 'usr/local');
  unpack(`node-${process.platform}-${process.arch}@${NODE_VERSION}`, prefix);
  unpack(`npm@${NPM_VERSION}`, join(prefix, 'lib/node_modules/npm'));
  for (const name of ['npm', 'npx'])
    run('ln', ['-s', `../lib/node_modules/npm/bin/${name}-cli.js`, join(prefix, 'bin', name)]);
  renameSync(part, base);
  return base;
}

function unpack(name: string, folder: string): void {
  const place = mkdtempSync(join(tmpdir(), 'graticule-pack-'));
  run('npm', ['pack', '--silent', '--pack-destination', place, name]);
  mkdirSync(folder, { recursive: true });
  run('sh', ['-c', `tar xzf "$1"/*.tgz -C "$2" --strip-components 1`, 'sh', place, folder]);
  rmSync(place, { recursive: true });
}

/** Files of the context that .dockerignore lets pass: ours names what is wanted, and nothing else. */
export function contextFiles(): string[] {
  const [first, ...rest] = readFileSync('.dockerignore', 'utf8')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'));
  if (first !== '*' || rest.some((line) => !/^![\w./-]+$/.test(line)))
    throw new Error('.dockerignore is expected to leave out everything, and then to name files and folders');
  return rest.map((line) => line.slice(1));
}

export class Build {
  readonly folder = mkdtempSync(join(tmpdir(), 'graticule-image-'));
  readonly #built = new Map<string, Image>();

  /** Carries out the stages in their order; the last one is the image. */
  run(): Image {
    const [, ...stages] = stagesOf();
    return stages.map((stage) => this.#stage(stage)).at(-1)!;
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }

  #stage(stage: Stage): Image {
    const root = join(this.folder, stage.name || 'image');
    run('cp', ['-a', baseRoot(), root]);
    cpSync('/etc/resolv.conf', join(root, 'etc/resolv.conf'));
    const image: Image = { root, env: { PATH }, workdir: '/', user: '0:0', volumes: [], last: stage };
    for (const step of stage.steps) this.#step(step, image);
    this.#built.set(stage.name, image);
    return image;
  }

  #step(step: Step, image: Image): void {
    const { keyword, text, values } = step;
    process.stderr.write(`${new Date().toISOString().slice(11, 19)} ${keyword} ${text.split('\n')[0]}\n`);
    if (keyword === 'RUN') runIn(image, step);
    else if (keyword === 'COPY') this.#copy(step, image);
    else if (keyword === 'ENV') Object.assign(image.env, values);
    else if (keyword === 'WORKDIR') {
      image.workdir = resolve(image.workdir, text);
      mkdirSync(join(image.root, image.workdir), { recursive: true });
    } else if (keyword === 'USER') image.user = text;
    else if (keyword === 'VOLUME') image.volumes.push(text);
    else if (!['FROM', 'LABEL', 'EXPOSE', 'STOPSIGNAL', 'HEALTHCHECK', 'ENTRYPOINT', 'CMD'].includes(keyword))
      throw new Error(`the check does not know what ${keyword} does`);
  }

  #copy({ text, flags }: Step, image: Image): void {
    const words = text.split(/\s+/);
    const target = resolve(image.workdir, words.at(-1)!);
    const { from, ...others } = flags;
    if (Object.keys(others).length > 0)
      throw new Error(`the check does not know COPY ${JSON.stringify(others)}`);
    const sources = words.slice(0, -1);
    if (from !== undefined) {
      for (const source of sources)
        copyInto(join(this.#built.get(from)!.root, source), join(image.root, target));
      return;
    }
    const files = sources.includes('.') ? contextFiles() : sources;
    for (const file of files) copyTo(file, join(image.root, target, file));
  }
}

function copyTo(file: string, target: string): void {
  mkdirSync(dirname(target), { recursive: true });
  run('cp', ['-a', '--no-preserve=ownership', '-T', file, target]);
}

function copyInto(source: string, target: string): void {
  mkdirSync(dirname(target), { recursive: true });
  run('cp', ['-a', '-T', source, target]);
}

/** Mounts that every command in a root has. */
const SYSTEM = `set -e
mount --make-rprivate /
mount --bind "$ROOT" "$ROOT"
mount -t proc proc "$ROOT/proc"
mount -t tmpfs -o mode=755 dev "$ROOT/dev"
for name in null zero full random urandom tty; do touch "$ROOT/dev/$name"; mount --bind "/dev/$name" "$ROOT/dev/$name"; done
ln -s /proc/self/fd "$ROOT/dev/fd"
mkdir -m 1777 "$ROOT/dev/shm"
`;

/** Those that this machine trusts, also when it reaches registries by a proxy. They do not get into the image. */
const CERTIFICATES = '/etc/ssl/certs/ca-certificates.crt';

function runIn(image: Image, { text, flags }: Step): void {
  let mounts = SYSTEM;
  for (const mount of flags['mount'] === undefined ? [] : [flags['mount']]) {
    const target = /^type=cache,target=(\S+)$/.exec(mount)?.[1];
    if (!target) throw new Error(`the check does not know RUN --mount=${mount}`);
    const place = join(CACHE, 'image-cache', target);
    mkdirSync(place, { recursive: true });
    mounts += `mkdir -p "$ROOT${target}"; mount --bind "${place}" "$ROOT${target}"\n`;
  }
  const passed = Object.entries(process.env).filter(([name]) => PASSED.test(name));
  const env: Record<string, string> = { ...Object.fromEntries(passed as [string, string][]), ...image.env };
  if (existsSync(CERTIFICATES)) {
    const place = '/run/certificates.pem';
    mounts += `mount -t tmpfs run "$ROOT/run"; cp "${CERTIFICATES}" "$ROOT${place}"\n`;
    Object.assign(env, { NODE_EXTRA_CA_CERTS: place, npm_config_cafile: place });
  }
  const script = join(dirname(image.root), 'step.sh');
  writeFileSync(
    script,
    `${mounts}\nexec chroot "$ROOT" /bin/sh -c 'cd "$0" && eval "$1"' "${image.workdir}" "$STEP"\n`,
  );
  run('unshare', ['--mount', '--pid', '--fork', '--kill-child', 'sh', script], {
    ...env,
    HOME: '/root',
    ROOT: image.root,
    STEP: text,
  });
}

/**
 * Command line of a container of the image: its root read-only, its volumes and /tmp apart from it, its user without
 * capabilities. `mounts` are folders of this machine by their places there. The network is that of this machine.
 */
export function containerCommand(
  image: Image,
  command: readonly string[],
  mounts: Record<string, { from: string; readOnly?: boolean }>,
): string[] {
  const [uid, gid] = image.user.split(':');
  const binds = Object.entries(mounts).map(
    ([target, { from, readOnly }]) =>
      `mount --bind "${from}" "$ROOT${target}"\n${readOnly ? `mount -o remount,bind,ro "$ROOT${target}"\n` : ''}`,
  );
  const script = `ROOT="${image.root}"
${SYSTEM}mount -t tmpfs -o mode=1777 tmp "$ROOT/tmp"
${binds.join('')}mount -o remount,bind,ro "$ROOT"
exec chroot "$ROOT" setpriv --reuid ${uid} --regid ${gid} --clear-groups --no-new-privs --inh-caps=-all --bounding-set=-all -- \\
  sh -c 'cd "$0" && exec "$@"' "${image.workdir}" "$@"`;
  return ['--mount', '--pid', '--fork', '--kill-child', 'sh', '-c', script, 'sh', ...command];
}
