import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Config, loadConfig } from '../../../src/core/config/config.js';

/** A configuration file as the server reads it. Throws what the server would complain of. */
export function settingsOf(text: string, env: Record<string, string> = {}): Config {
  const folder = mkdtempSync(join(tmpdir(), 'graticule-settings-'));
  const file = join(folder, 'graticule.yaml');
  writeFileSync(file, text);
  try {
    return loadConfig({ flags: {}, env, file }).config;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Longest time that a server takes to stop: gateways are killed after `drainMs`, engines after as much again. */
export const seconds = (text: string): number => Number(/^(\d+)s$/.exec(text)![1]);

/** The tools that `./run deploy-check` installs; undefined in a run without them. */
export const TOOLS = process.env['GRATICULE_DEPLOY_TOOLS'];
