import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CommandError, EXIT_FAILED } from '../command-error.js';
import { type ServerTarget, sendTo } from '../running-server.js';
import { resolveConfig } from '../settings.js';
import { formatPack, formatRequest, readEvidence } from './pack.js';

export interface DiagnoseOptions extends ServerTarget {
  config?: string;
  /** Folder for the pack. */
  out?: string;
}

const ANSWER_CHARACTERS = 20_000;
const ANSWER_MS = 600_000;
/** Variables that the command gets: it must not find keys of the server. */
const KEPT_VARIABLES = ['PATH', 'HOME', 'LANG', 'LC_ALL', 'TERM', 'TMPDIR'];

/**
 * `graticule diagnose FINDING`: writes an evidence pack, and gives it to the command of `operate.diagnose`. The output of
 * the command becomes a note of the finding.
 */
export async function diagnose(findingId: string, options: DiagnoseOptions): Promise<void> {
  const { config } = resolveConfig({}, options.config);
  const target: ServerTarget = {
    url: options.url ?? `http://localhost:${config.server.port}`,
    ...(options.key === undefined ? {} : { key: options.key }),
  };
  const pack = await readEvidence(findingId, target);
  const folder = options.out ?? `diagnosis-${findingId}`;
  if (existsSync(folder)) throw new CommandError(`${folder} already exists. Name another folder with --out.`);
  mkdirSync(folder, { mode: 0o700 });
  const request = formatRequest(pack);
  writeFileSync(join(folder, 'evidence.json'), `${formatPack(pack)}\n`, { mode: 0o600 });
  writeFileSync(join(folder, 'request.md'), request, { mode: 0o600 });
  process.stdout.write(`wrote ${join(folder, 'evidence.json')} and ${join(folder, 'request.md')}\n`);
  const [command, ...args] = config.operate.diagnose;
  if (command === undefined) {
    process.stdout.write('no command ran, because operate.diagnose names none\n');
    return;
  }
  const answer = await askCommand(command, args, request);
  writeFileSync(join(folder, 'answer.txt'), answer, { mode: 0o600 });
  const text = answer.trim().slice(0, ANSWER_CHARACTERS);
  if (text === '') throw new CommandError(`${command} returned no text.`, EXIT_FAILED);
  const path = `/api/v1/admin/observability/findings/${encodeURIComponent(findingId)}/notes`;
  await sendTo(target, path, { method: 'POST', body: { text, agent: command.slice(0, 128) } });
  process.stdout.write(`stored the output of ${command} as a note of ${findingId}\n`);
}

/** The standard output of a command that gets a text. It runs without a shell, and without the keys of the server. */
function askCommand(command: string, args: readonly string[], text: string): Promise<string> {
  const env = Object.fromEntries(
    KEPT_VARIABLES.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]])),
  );
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { env, stdio: ['pipe', 'pipe', 'inherit'], timeout: ANSWER_MS });
    let answer = '';
    child.stdout.setEncoding('utf8').on('data', (part: string) => {
      if (answer.length < ANSWER_CHARACTERS) answer += part;
    });
    // A command that does not read all of the text ends its input.
    child.stdin.on('error', () => {});
    child.on('error', (error) => reject(new CommandError(`${command}: ${error.message}`, EXIT_FAILED)));
    child.on('close', (code, signal) => {
      if (code === 0) resolve(answer);
      else reject(new CommandError(`${command} ended with ${signal ?? `exit code ${code}`}.`, EXIT_FAILED));
    });
    child.stdin.end(text);
  });
}
