import type { ProcessDescription } from '../../core/processes/processes.js';

/** A tool of a toolbox, and the process for its translation. */
export interface TranslatedTool {
  toolName: string;
  targetProcessId?: string | null;
  parameterMappings: readonly { sourceName: string; targetParameter: string }[];
  unsupportedConstructs: readonly string[];
}

export type Classification = 'translated' | 'partially-translated' | 'unsupported';

interface ToolIssue {
  code: string;
  message: string;
  parameterName?: string;
}

export interface ToolReport {
  toolName: string;
  classification: Classification;
  processId: string | null;
  parameterBindings: { sourceName: string; targetParameter: string; valueType: string; required: boolean }[];
  issues: ToolIssue[];
}

/** Compatibility of a tool with the processes of this server. */
export function classify(tool: TranslatedTool, processes: readonly ProcessDescription[]): ToolReport {
  const process = processes.find(({ id }) => id === tool.targetProcessId);
  const constructs = tool.unsupportedConstructs.map((construct) => ({
    code: 'unsupported-construct',
    message: `${construct} has no counterpart.`,
  }));
  if (!process)
    return {
      toolName: tool.toolName,
      classification: 'unsupported',
      processId: null,
      parameterBindings: [],
      issues: [missingProcess(tool), ...constructs],
    };
  const issues = [...mappingIssues(tool, process), ...constructs];
  return {
    toolName: tool.toolName,
    classification: issues.length === 0 ? 'translated' : 'partially-translated',
    processId: process.id,
    parameterBindings: bindings(tool, process),
    issues,
  };
}

function missingProcess({ targetProcessId }: TranslatedTool): ToolIssue {
  return targetProcessId
    ? { code: 'unknown-process', message: `This server has no process '${targetProcessId}'.` }
    : { code: 'no-process', message: 'The tool names no process.' };
}

function bindings({ parameterMappings }: TranslatedTool, { inputs }: ProcessDescription) {
  return parameterMappings.flatMap(({ sourceName, targetParameter }) => {
    const input = inputs.find(({ name }) => name === targetParameter);
    return input ? [{ sourceName, targetParameter, valueType: input.type, required: input.required }] : [];
  });
}

function mappingIssues(
  { parameterMappings }: TranslatedTool,
  { id, inputs }: ProcessDescription,
): ToolIssue[] {
  const names = parameterMappings.map(({ targetParameter }) => targetParameter);
  const issue = (code: string, parameterName: string, message: string) => ({ code, message, parameterName });
  return [
    ...names
      .filter((name) => !inputs.some((input) => input.name === name))
      .map((name) => issue('unknown-parameter', name, `${id} has no input '${name}'.`)),
    ...names
      .filter((name, i) => names.indexOf(name) !== i)
      .map((name) => issue('duplicate-parameter', name, `Two parameters are mapped to '${name}'.`)),
    ...inputs
      .filter(({ name, required }) => required && !names.includes(name))
      .map(({ name }) =>
        issue('missing-parameter', name, `${id} needs '${name}', which nothing is mapped to.`),
      ),
  ];
}
