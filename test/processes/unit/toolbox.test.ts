import { describe, expect, it } from 'vitest';
import { classify } from '../../../src/services/processes/toolbox.js';

const PROCESSES = [
  {
    id: 'buffer',
    inputs: [
      { name: 'input', type: 'geometry', required: true },
      { name: 'distance', type: 'number', required: true },
      { name: 'caps', type: 'string', required: false },
    ],
  },
];
const tool = (mapped: string[], unsupportedConstructs: string[] = []) => ({
  toolName: 'Buffer',
  targetProcessId: 'buffer',
  parameterMappings: mapped.map((targetParameter) => ({ sourceName: 's', targetParameter })),
  unsupportedConstructs,
});
const codesOf = (...args: Parameters<typeof tool>) =>
  classify(tool(...args), PROCESSES).issues.map(({ code, parameterName }) => [code, parameterName]);

describe('a tool of a toolbox', () => {
  it('is translated when each input that is needed has one parameter', () => {
    expect(classify(tool(['input', 'distance']), PROCESSES)).toEqual({
      ...{ toolName: 'Buffer', classification: 'translated', processId: 'buffer', issues: [] },
      parameterBindings: [
        { sourceName: 's', targetParameter: 'input', valueType: 'geometry', required: true },
        { sourceName: 's', targetParameter: 'distance', valueType: 'number', required: true },
      ],
    });
  });

  it('is translated in part otherwise, and says why', () => {
    expect(classify(tool(['input']), PROCESSES).classification).toBe('partially-translated');
    expect(codesOf(['input'])).toEqual([['missing-parameter', 'distance']]);
    expect(codesOf(['input', 'distance', 'input', 'x'], ['cursor'])).toEqual([
      ['unknown-parameter', 'x'],
      ['duplicate-parameter', 'input'],
      ['unsupported-construct', undefined],
    ]);
  });

  it('is unsupported without its process', () => {
    expect(classify({ ...tool([]), targetProcessId: 'clip' }, PROCESSES)).toMatchObject({
      ...{ classification: 'unsupported', processId: null },
      issues: [{ code: 'unknown-process' }],
    });
  });
});
