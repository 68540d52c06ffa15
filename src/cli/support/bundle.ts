import { existsSync, writeFileSync } from 'node:fs';
import { maskSecrets } from '../../core/diagnostics/secrets.js';
import { version } from '../../core/kit/version.js';
import { CommandError } from '../command-error.js';
import { resolveConfig } from '../settings.js';
import { collectFields, type FactCollector } from './collector.js';
import { localCollectors } from './local-collectors.js';
import { serverCollectors } from './server-collectors.js';

export interface SupportOptions {
  config?: string;
  dataDir?: string;
  url?: string;
  key?: string;
}

/** `graticule support bundle FILE`: writes facts for support to one file, and prints the omitted facts. */
export async function writeSupportBundle(file: string, options: SupportOptions): Promise<void> {
  if (existsSync(file))
    throw new CommandError(`${file} already exists. Name another file, or remove it first.`);
  const { config, settings } = resolveConfig({ 'data.directory': options.dataDir }, options.config);
  const target = {
    url: options.url ?? `http://localhost:${config.server.port}`,
    ...(options.key === undefined ? {} : { key: options.key }),
  };
  const parts: Record<string, unknown> = {};
  const lines: string[] = [];
  for (const collector of [...localCollectors(config, settings), ...serverCollectors(target)])
    lines.push(await addPart(collector, parts));
  const document = {
    ...{ kind: 'graticule-support-bundle', version: version(), generatedAt: new Date().toISOString(), parts },
  };
  const removed = await replaceSecrets(document);
  writeFileSync(file, `${JSON.stringify(document, null, 2)}\n`, { flag: 'wx', mode: 0o600 });
  process.stdout.write(
    [
      ...lines,
      `always omitted: values of secrets, entries of lists and maps in the configuration, names of files, data of layers`,
      `replaced texts that look like secrets: ${removed}`,
      `wrote ${file}. Read it before you send it.`,
      '',
    ].join('\n'),
  );
}

async function addPart(collector: FactCollector, parts: Record<string, unknown>): Promise<string> {
  const { name } = collector;
  try {
    const { value, omitted } = await collectFields(collector);
    parts[name] = value;
    return omitted.length === 0 ? `collected ${name}` : `collected ${name}, omitted ${omitted.join(', ')}`;
  } catch (error) {
    const reason = (error as Error).message;
    parts[name] = { notAvailable: (await maskSecrets(reason)).text };
    return `omitted ${name}: ${reason}`;
  }
}

/** Replaces secrets in all texts below a value. Returns their number. */
async function replaceSecrets(holder: object): Promise<number> {
  let count = 0;
  for (const [name, value] of Object.entries(holder)) {
    if (typeof value === 'string') {
      const { text, removed } = await maskSecrets(value);
      if (removed > 0) (holder as Record<string, unknown>)[name] = text;
      count += removed;
    } else if (typeof value === 'object' && value !== null) count += await replaceSecrets(value);
  }
  return count;
}
