import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { stringifyExactly } from '../core/values/json.js';
import { CommandError } from './command-error.js';
import { type ServerTarget, sendTo } from './running-server.js';

interface RuleTest {
  isValid: boolean;
  errors: string[];
  warnings: string[];
  simulation: {
    from: string;
    editCount: number;
    triggerCount: number;
    triggers: { featureId: string; occurredAt: string }[];
    isComplete: boolean;
  } | null;
}

const TEST_PATH = '/api/v1/admin/alerts/rules/test';

/** `graticule alerts test FILE`: checks a rule, and lists edits of the last hour that would have triggered it. */
export async function testAlertRule(file: string, options: ServerTarget): Promise<void> {
  const body = readDraft(file);
  const response = await sendTo(options, TEST_PATH, { method: 'POST', body });
  const { data } = (await response.json()) as { data: RuleTest };
  for (const warning of data.warnings) process.stderr.write(`warning: ${warning}\n`);
  const { simulation } = data;
  if (!data.isValid || !simulation) throw new CommandError(data.errors.join('\n'));
  const { from, editCount, triggerCount, triggers, isComplete } = simulation;
  for (const { featureId, occurredAt } of triggers)
    process.stdout.write(`${occurredAt} feature ${JSON.stringify(featureId)}\n`);
  const more = isComplete ? '' : '. The change feed does not contain all edits of this time';
  process.stdout.write(`${triggerCount} matches in ${editCount} edits since ${from}${more}\n`);
}

/** A file contains a rule, or the members `rule` and `zone`. `conditions` can be an object instead of text. */
function readDraft(file: string): object {
  const document = parseFile(file);
  const { rule = document, zone } = document as { rule?: unknown; zone?: unknown };
  if (typeof rule !== 'object' || rule === null) throw new CommandError(`${file}: rule must be an object.`);
  const { conditions, ...members } = rule as { conditions?: unknown };
  const text = conditions === undefined ? {} : { conditionsJson: stringifyExactly(conditions) };
  return { rule: { ...members, ...text }, ...(zone === undefined ? {} : { zone }) };
}

function parseFile(file: string): object {
  let document: unknown;
  try {
    document = parse(readFileSync(file, 'utf8'));
  } catch (error) {
    throw new CommandError(`${file}: ${(error as Error).message}`);
  }
  if (typeof document === 'object' && document !== null && !Array.isArray(document)) return document;
  throw new CommandError(`${file}: must contain an object.`);
}
