import { readFileSync } from 'node:fs';
import {
  type Copy,
  DockerfileParser,
  type From,
  type Instruction,
  type PropertyInstruction,
} from 'dockerfile-ast';

/** An instruction of the Dockerfile, as far as ours has them. */
export interface Step {
  keyword: string;
  /** `--mount=…` and the like, without dashes. */
  flags: Record<string, string>;
  /** What follows the flags, variables as they are written. */
  text: string;
  /** Where that is a list (CMD, ENTRYPOINT). */
  list: string[];
  /** Of ENV, LABEL and ARG. */
  values: Record<string, string>;
}

export interface Stage {
  name: string;
  steps: Step[];
}

const PROPERTIES = ['ENV', 'LABEL', 'ARG'];

export const DOCKERFILE = 'deploy/Dockerfile';

/** The stages of the Dockerfile. What it says before the first one is a stage without a name. */
export function stagesOf(file = DOCKERFILE): Stage[] {
  const stages: Stage[] = [{ name: '', steps: [] }];
  for (const instruction of DockerfileParser.parse(readFileSync(file, 'utf8')).getInstructions()) {
    if (instruction.getKeyword() === 'FROM')
      stages.push({ name: (instruction as From).getBuildStage() ?? '', steps: [] });
    stages.at(-1)!.steps.push(stepOf(instruction));
  }
  return stages;
}

function stepOf(instruction: Instruction): Step {
  const keyword = instruction.getKeyword();
  const raw = instruction.getRawArgumentsContent() ?? '';
  const flags = 'getFlags' in instruction ? (instruction as Copy).getFlags() : [];
  const text = raw.replace(/^(--\S+\s+)+/, '').replace(/^\\\n\s+/, '');
  return {
    keyword,
    flags: Object.fromEntries(flags.map((flag) => [flag.getName(), flag.getValue() ?? ''])),
    text,
    list: text.startsWith('[') ? (JSON.parse(text) as string[]) : [],
    values: PROPERTIES.includes(keyword) ? valuesOf(instruction as PropertyInstruction) : {},
  };
}

const valuesOf = (instruction: PropertyInstruction): Record<string, string> =>
  Object.fromEntries(
    instruction.getProperties().map((property) => [property.getName(), property.getValue() ?? '']),
  );

/** The value of the last instruction of that name in a stage. */
export function lastOf(stage: Stage, keyword: string): Step {
  const step = stage.steps.findLast((one) => one.keyword === keyword);
  if (!step) throw new Error(`the stage has no ${keyword}`);
  return step;
}

/** HEALTHCHECK's command. */
export function healthCommand(stage: Stage): string[] {
  const { text } = lastOf(stage, 'HEALTHCHECK');
  return JSON.parse(/CMD\s+(\[.*\])/s.exec(text)![1]!) as string[];
}
