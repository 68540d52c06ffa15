import { createWriteStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { extname } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { CommandError, EXIT_FAILED } from './command-error.js';
import { jobBar } from './job-bar.js';
import { type ServerTarget, sendTo } from './running-server.js';

export interface ProcessOptions extends ServerTarget {
  input?: readonly string[];
  output?: string;
  publish?: string;
  describe?: boolean;
}

interface Description {
  id: string;
  title: string;
  description: string;
  inputs: Record<string, Input>;
  outputs: Record<string, { title: string; schema: { contentMediaType?: string } }>;
}

interface Input {
  title: string;
  description: string;
  schema: { type?: string; anyOf?: { properties?: object }[]; enum?: unknown[] };
  minOccurs: number;
}

interface Status {
  jobID: string;
  status: string;
  message: string;
  progress: number;
}

const PROCESSES = '/ogc/processes';
const POLL_MS = 200;

/** `graticule process [NAME]`: lists processes, describes one, or executes it and waits for its results. */
export async function runProcessCommand(name: string | undefined, options: ProcessOptions): Promise<void> {
  if (name === undefined) return list(options);
  const path = `${PROCESSES}/processes/${encodeURIComponent(name)}`;
  const description = (await (await sendTo(options, path)).json()) as Description;
  if (options.describe) return describe(description);
  const body = {
    inputs: await readInputs(description, options.input ?? []),
    ...buildOutputs(description, options),
  };
  const response = await sendTo(options, `${path}/execution`, { method: 'POST', body });
  const { jobID } = (await response.json()) as Status;
  await follow(jobID, options);
  await writeResults(jobID, description, options);
}

async function list(options: ProcessOptions): Promise<void> {
  const response = await sendTo(options, `${PROCESSES}/processes`);
  const { processes } = (await response.json()) as { processes: Description[] };
  const width = Math.max(...processes.map(({ id }) => id.length));
  for (const { id, title } of processes) process.stdout.write(`${id.padEnd(width)}  ${title}\n`);
}

function describe({ id, description, inputs, outputs }: Description): void {
  process.stdout.write(`${id}: ${description}\n\n`);
  for (const [name, input] of Object.entries(inputs)) {
    const { enum: words, type } = input.schema;
    const values = words ? words.join(' | ') : isLayer(input) ? 'collection, @file or URL' : (type ?? 'JSON');
    const needed = input.minOccurs > 0 ? '' : ', optional';
    process.stdout.write(`  --input ${name}=...  (${values}${needed})\n      ${input.description}\n`);
  }
  process.stdout.write(`\nOutputs: ${Object.keys(outputs).join(', ') || 'the outputs of its steps'}\n`);
}

/** Features and rasters are the inputs that take a collection. */
function isLayer({ schema: { anyOf = [] } }: Input): boolean {
  return anyOf.some(({ properties = {} }) => 'collection' in properties);
}

async function readInputs(
  { id, inputs }: Description,
  pairs: readonly string[],
): Promise<Record<string, unknown>> {
  const values: Record<string, unknown> = {};
  for (const pair of pairs) {
    const [, name, text] = /^([^=]+)=(.*)$/s.exec(pair) ?? [];
    if (name === undefined || text === undefined)
      throw new CommandError(`--input: must be NAME=VALUE, for example distance=5, not '${pair}'.`);
    const input = Object.hasOwn(inputs, name) ? inputs[name] : undefined;
    if (!input)
      throw new CommandError(
        `--input: the process ${id} has no input '${name}'. Use ${Object.keys(inputs).join(', ')}.`,
      );
    values[name] = await readValue(text, isLayer(input));
  }
  return values;
}

/** Reads an argument: JSON, `@file` for the contents of a file, and for a layer a URL or the id of a collection. */
async function readValue(text: string, layer: boolean): Promise<unknown> {
  if (text.startsWith('@')) {
    const content = await readFile(text.slice(1), 'utf8').catch((error: Error) => {
      throw new CommandError(`${text.slice(1)}: cannot be read: ${error.message}.`);
    });
    return layer ? content : parseJson(content);
  }
  if (/^[[{]/.test(text)) return parseJson(text);
  if (!layer) return text;
  return /^https?:/.test(text) ? { href: text } : { collection: text };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new CommandError(`--input: '${text.slice(0, 60)}' is not JSON: ${(error as Error).message}.`);
  }
}

function buildOutputs({ id, outputs }: Description, { publish }: ProcessOptions): object {
  if (publish === undefined) return {};
  const [name] = Object.keys(outputs);
  if (name === undefined)
    throw new CommandError(`--output: the outputs of ${id} have no names before it runs. Omit --output.`);
  return { outputs: { [name]: { publish: { collection: publish } } } };
}

/** Shows the progress of the job until it ends; who interrupts it dismisses the job. */
async function follow(jobId: string, options: ProcessOptions): Promise<void> {
  const path = `${PROCESSES}/jobs/${jobId}`;
  const bar = jobBar();
  let isInterrupted = false;
  const interrupt = () => {
    isInterrupted = true;
  };
  process.once('SIGINT', interrupt);
  try {
    for (;;) {
      if (isInterrupted) await sendTo(options, path, { method: 'DELETE' });
      const { status, message, progress } = (await (await sendTo(options, path)).json()) as Status;
      bar.update(progress, { phase: status });
      if (status === 'successful') return;
      if (status === 'failed' || status === 'dismissed')
        throw new CommandError(`The job ${jobId} is ${status}: ${message}`, EXIT_FAILED);
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
  } finally {
    bar.stop();
    process.off('SIGINT', interrupt);
  }
}

async function writeResults(jobId: string, { outputs }: Description, options: ProcessOptions): Promise<void> {
  const path = `${PROCESSES}/jobs/${jobId}/results`;
  const { output: file } = options;
  const { body } = await sendTo(options, path + formatPart(outputs, file), { accept: '*/*' });
  if (!body) return;
  const bytes = Readable.fromWeb(body as import('node:stream/web').ReadableStream);
  if (file !== undefined) {
    await pipeline(bytes, createWriteStream(file));
    process.stderr.write(`written to ${file}\n`);
  } else {
    await pipeline(bytes, process.stdout, { end: false });
    process.stdout.write('\n');
  }
}

/** Into a file goes the output itself, where the process has one that is a file; else the document of all. */
function formatPart(outputs: Description['outputs'], file: string | undefined): string {
  const [output, ...others] = Object.entries(outputs);
  if (file === undefined || !output || others.length > 0) return '';
  const [name, { schema }] = output;
  if (schema.contentMediaType === undefined) return '';
  return `/${name}${extname(file).toLowerCase() === '.gpkg' ? '?f=gpkg' : ''}`;
}
