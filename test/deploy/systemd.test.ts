import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { EXIT_CONFIGURATION } from '../../src/supervisor/messages.js';
import { DEFAULT_TIMING } from '../../src/supervisor/slot.js';
import { seconds, settingsOf } from './support/settings.js';

const UNIT = 'deploy/systemd/graticule.service';
/** Most that systemd-analyze may say of 10. */
const EXPOSURE = 20;
const folder = mkdtempSync(join(tmpdir(), 'graticule-systemd-'));
afterAll(() => rmSync(folder, { recursive: true }));

const unit = readFileSync(UNIT, 'utf8');
const setting = (name: string) => new RegExp(`^${name}=(.*)$`, 'm').exec(unit)?.[1];

const run = (command: string, args: string[]) => spawnSync(command, args, { encoding: 'utf8' });

describe('the unit of systemd', () => {
  it('is one that systemd reads without complaint', () => {
    // Programs of the unit that this machine lacks are no fault of the unit.
    const here = join(folder, 'graticule.service');
    writeFileSync(here, unit.replace('/usr/bin/node', process.execPath));
    const { status, stderr } = run('systemd-analyze', ['verify', '--man=no', here]);
    expect(stderr).toBe('');
    expect(status).toBe(0);
  });

  it('would not be, with a word that systemd does not know', () => {
    const here = join(folder, 'broken.service');
    writeFileSync(here, unit.replace('ProtectSystem=strict', 'ProtectSystem=strictly'));
    expect(run('systemd-analyze', ['verify', '--man=no', here]).stderr).toContain('strictly');
  });

  it('exposes little', () => {
    const args = ['security', '--offline=true', `--threshold=${EXPOSURE}`, UNIT];
    const { status, stdout } = run('systemd-analyze', args);
    expect(status, stdout).toBe(0);
  });

  it('lets gateways and then engines end by themselves', () => {
    expect(setting('KillMode')).toBe('mixed');
    expect(seconds(setting('TimeoutStopSec')!) * 1000).toBeGreaterThan(2 * DEFAULT_TIMING.drainMs);
  });

  it('starts again what fails, but not with a wrong configuration', () => {
    expect(setting('Restart')).toBe('on-failure');
    expect(setting('RestartPreventExitStatus')).toBe(String(EXIT_CONFIGURATION));
    expect(setting('StartLimitIntervalSec')).toBe('0');
  });

  it('reloads by SIGHUP, and keeps its state where it may write', () => {
    expect(setting('ExecReload')).toContain('-HUP $MAINPID');
    expect(setting('ExecStart')).toContain(`--data-dir /var/lib/${setting('StateDirectory')}`);
    expect(readFileSync('deploy/systemd/graticule.sysusers.conf', 'utf8')).toMatch(
      new RegExp(`^u ${setting('User')} `, 'm'),
    );
  });

  it('has examples that the server takes', () => {
    expect(settingsOf(readFileSync('deploy/systemd/graticule.yaml', 'utf8')).data.sources).toEqual([
      '/srv/maps',
    ]);
    const names = readFileSync('deploy/systemd/graticule.env', 'utf8').matchAll(/^#([A-Z_]+)=$/gm);
    expect([...names].map(([, name]) => name)).toContain('SVC_ADMIN_KEY');
  });
});

describe('logrotate', () => {
  const dropIn = readFileSync('deploy/systemd/log-to-file.conf', 'utf8');
  const [, file] = /^StandardOutput=append:(.*)$/m.exec(dropIn)!;

  it('turns over the file that the unit writes, and the writer goes on at its beginning', async () => {
    mkdirSync(join(folder, 'log'));
    const log = join(folder, 'log/graticule.log');
    const rules = readFileSync('deploy/logrotate/graticule', 'utf8');
    expect(rules).toContain(`\n${file} {`);
    writeFileSync(join(folder, 'rules'), rules.replace(file!, log), { mode: 0o644 });
    // As systemd opens it, for a process that knows of nothing.
    const writer = spawn('cat', [], { stdio: ['pipe', openSync(log, 'a'), 'inherit'] });
    const write = async (line: string, lines: number) => {
      writer.stdin!.write(`${line}\n`);
      await expect.poll(() => readFileSync(log, 'utf8').split('\n').length - 1).toBe(lines);
    };
    await write('first', 1);
    await write('second', 2);
    execFileSync('/usr/sbin/logrotate', ['--force', '--state', join(folder, 'state'), join(folder, 'rules')]);
    await write('third', 1);
    writer.stdin!.end();
    await once(writer, 'exit');
    expect(readFileSync(log, 'utf8')).toBe('third\n');
    expect(readdirSync(join(folder, 'log')).sort()).toEqual(['graticule.log', 'graticule.log.1']);
    expect(readFileSync(`${log}.1`, 'utf8')).toBe('first\nsecond\n');
  });
});
