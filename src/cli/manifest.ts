import { readFileSync, writeFileSync } from 'node:fs';
import { parse, stringify } from 'yaml';
import { canonicalDigits, exactInteger, isExactNumber } from '../core/values/exact-number.js';
import { parseJsonExactly, stringifyExactly } from '../core/values/json.js';
import { CommandError } from './command-error.js';
import { type ServerTarget, sendTo } from './running-server.js';

export interface ManifestOptions extends ServerTarget {
  prune?: boolean;
}

interface Entry {
  action: 'created' | 'updated' | 'deleted' | 'skipped';
  resource: { kind: string; name: string };
  owner: Owner | null;
  before: object | null;
  after: object | null;
}

type Owner = 'api' | 'configuration' | 'manifest';

interface ApplyReport {
  summary: Record<Entry['action'], number>;
  entries: Entry[];
}

interface Manifest {
  apiVersion: string;
  resources: unknown[];
  driftedResources: { kind: string; name: string }[];
  owners: { kind: string; name: string; owner: Owner }[];
}

/** A manifest that may be that of a release package, whose server checks the rest. */
interface Release extends Partial<Manifest> {
  kind?: string;
  metadata?: unknown;
  spec?: unknown;
  digest?: unknown;
  signature?: unknown;
}

const PATH = '/api/v1/admin/metadata/manifest';
const SIGNS: Record<Entry['action'], string> = { created: '+', updated: '~', deleted: '-', skipped: ' ' };

/** `graticule manifest [FILE]`: writes the state of the server as YAML. */
export async function exportManifest(file: string | undefined, options: ManifestOptions): Promise<void> {
  const manifest = await ask<Manifest>('GET', PATH, undefined, options);
  const { apiVersion, resources, driftedResources } = manifest;
  const text = stringify({ apiVersion, resources: toYaml(resources) }, { lineWidth: 0 }) + ofOthers(manifest);
  if (file === undefined) process.stdout.write(text);
  else writeFileSync(file, text);
  for (const { kind, name } of driftedResources)
    process.stderr.write(`${kind} ${name} was changed since it was applied\n`);
}

/** Comments that list the objects that no manifest created and the objects of the configuration. */
function ofOthers({ owners }: Manifest): string {
  const listed = (heading: string, owner: Owner) => {
    const lines = owners
      .filter((one) => one.owner === owner)
      .map(({ kind, name }) => `#   ${kind} ${name}\n`);
    return lines.length === 0 ? '' : `# ${heading}:\n${lines.join('')}`;
  };
  return (
    listed('created over the API, not by a manifest', 'api') +
    listed('from the configuration; change them there', 'configuration')
  );
}

/** `graticule plan FILE`: lists the changes that `apply` would make. */
export async function planManifest(file: string, options: ManifestOptions): Promise<void> {
  tell(await apply(file, true, options), 'to be ');
}

/** `graticule apply FILE`: changes the state of a server to match the file. */
export async function applyManifest(file: string, options: ManifestOptions): Promise<void> {
  tell(await apply(file, false, options), '');
}

function apply(file: string, dryRun: boolean, options: ManifestOptions): Promise<ApplyReport> {
  const { prune = false } = options;
  const document = documentIn(file);
  return ask<ApplyReport>('POST', `${PATH}/apply`, { ...document, dryRun, prune }, options);
}

function documentIn(file: string): object {
  let document: unknown;
  try {
    document = parse(readFileSync(file, 'utf8'), (_, value) => readInteger(value), { intAsBigInt: true });
  } catch (error) {
    throw new CommandError(`${file}: cannot be read: ${(error as Error).message}.`);
  }
  if (typeof document !== 'object' || document === null || !('resources' in document))
    throw new CommandError(`${file}: is not a manifest. It has no resources.`);
  const { apiVersion, kind, resources, metadata, spec, digest, signature } = document as Release;
  const release = kind === 'MetadataReleasePackage' ? { release: { metadata, spec, digest, signature } } : {};
  return { ...(apiVersion === undefined ? {} : { apiVersion }), resources, ...release };
}

/** Returns integers of a manifest with all their digits. */
const readInteger = (value: unknown) => (typeof value === 'bigint' ? exactInteger(value) : value);

/** Returns a value for YAML, which writes `bigint`s digit by digit. Throws a `CommandError` for decimals that a number would round. */
function toYaml(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(toYaml);
  if (!isExactNumber(value))
    return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, toYaml(one)]));
  const digits = canonicalDigits(String(value));
  if (/^-?\d+$/.test(digits)) return BigInt(digits);
  throw new CommandError(
    `The manifest has the number ${digits}, which YAML would round. Export it as JSON with GET /api/v1/admin/manifest.`,
  );
}

function tell({ summary, entries }: ApplyReport, tense: string): void {
  for (const { action, resource, owner, before, after } of entries) {
    if (action === 'skipped') continue;
    const whose = owner === 'api' ? ' (created over the API)' : '';
    process.stdout.write(`${SIGNS[action]} ${resource.kind} ${resource.name}${whose}\n`);
    for (const line of differences(before, after)) process.stdout.write(`    ${line}\n`);
  }
  const { created, updated, deleted, skipped } = summary;
  process.stdout.write(
    `${created} ${tense}created, ${updated} ${tense}updated, ${deleted} ${tense}deleted, ${skipped} unchanged\n`,
  );
}

/** Members that differ, with one line for the old and one for the new value. */
function differences(before: object | null, after: object | null): string[] {
  if (!before || !after) return [];
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort();
  const writeMember = (value: object, name: string) => {
    const member = (value as Record<string, unknown>)[name];
    return member === undefined ? undefined : stringifyExactly(member);
  };
  return names.flatMap((name) => {
    const [old, next] = [writeMember(before, name), writeMember(after, name)];
    if (old === next) return [];
    return [
      ...(old === undefined ? [] : [`- ${name}: ${old}`]),
      ...(next === undefined ? [] : [`+ ${name}: ${next}`]),
    ];
  });
}

async function ask<T>(
  method: string,
  path: string,
  body: object | undefined,
  options: ManifestOptions,
): Promise<T> {
  const response = await sendTo(options, path, { method, ...(body ? { body } : {}) });
  return (parseJsonExactly(await response.text(), 'all') as { data: T }).data;
}
