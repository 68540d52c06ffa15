import { describe, expect, it } from 'vitest';
import { evaluateForm, type FormValues, type SubmittedValues } from '../../../src/core/forms/evaluate.js';
import { completeForm, type FormDraft } from '../../../src/core/forms/form-document.js';
import { randomSource } from '../../native/support.js';

type DraftField = FormDraft['fields'][number];

const field = (fieldId: string, type: DraftField['type'], members: Partial<DraftField> = {}): DraftField => ({
  ...{ fieldId, label: fieldId, type },
  ...members,
});

const evaluate = (
  fields: DraftField[],
  values: FormValues,
  members: Partial<SubmittedValues & FormDraft> = {},
) => {
  const { operation = 'create', hasGeometry = true, ...draft } = members;
  const form = completeForm({ target: { layerId: 1 }, fields, ...draft }, 'form');
  return evaluateForm(form, { operation, hasGeometry, values });
};

const codesOf = (...parameters: Parameters<typeof evaluate>) =>
  evaluate(...parameters).issues.map(({ code, path }) => `${code} ${path}`);

describe('values of a type', () => {
  it.each<[DraftField['type'], unknown[], unknown[]]>([
    ['text', ['', 'a', 'ü😀'], [1, true, ['a'], 'x'.repeat(10_001)]],
    ['barcode', ['4006381333931'], [4006381333931]],
    ['integer', [0, -5, 2 ** 53 - 1], [1.5, '1', 2 ** 53]],
    ['decimal', [0, -1.5, 1e300], ['1', Number.NaN]],
    ['date', ['2024-02-29'], ['2023-02-29', '2024-2-1', '2024-02-29T00:00:00Z', 20240229]],
    ['time', ['00:00', '23:59:59', '12:30:00.5'], ['24:00', '12', '12:60']],
    [
      'dateTime',
      ['2024-02-29T12:00:00Z', '2024-01-01T00:00+02:00'],
      ['2024-02-29', '2024-02-29T12:00:00', '2024-13-01T00:00:00Z'],
    ],
    ['select_one', ['a', 1, false], [['a'], { a: 1 }]],
    ['select_multiple', [['a', 'b'], []], ['a', ['a', 'a'], [['a']]]],
    ['calculate', ['a', 5], [true]],
  ])('are checked: %s', (type, right, wrong) => {
    for (const value of right) expect(codesOf([field('f', type)], { f: value })).toEqual([]);
    for (const value of wrong) expect(codesOf([field('f', type)], { f: value })).toEqual(['type /values/f']);
  });

  it('are refused where a field has none', () => {
    expect(codesOf([field('n', 'note')], { n: 'x' })).toEqual(['value-unexpected /values/n']);
    expect(codesOf([field('g', 'geopoint')], { g: [1, 2] })).toEqual(['value-unexpected /values/g']);
    expect(codesOf([field('p', 'image')], { p: 'x.jpg' })).toEqual(['files-unsupported /values/p']);
    expect(codesOf([field('p', 'image', { required: true })], {})).toEqual(['files-unsupported /values/p']);
    expect(codesOf([field('a', 'text')], { b: 'x' })).toEqual(['field-unknown /values/b']);
  });
});

describe('required fields', () => {
  const fields = [field('a', 'text', { required: true }), field('g', 'geopoint', { required: true })];
  it('need a value in a new feature', () => {
    expect(codesOf(fields, {}, { hasGeometry: false })).toEqual(['required /values/a', 'required /values/g']);
    expect(codesOf(fields, { a: '' })).toEqual(['required /values/a']);
    expect(codesOf(fields, { a: 'x' })).toEqual([]);
  });
  it('keep their value in an update, but cannot lose it', () => {
    expect(codesOf(fields, {}, { operation: 'update', hasGeometry: false })).toEqual([]);
    expect(codesOf(fields, { a: null }, { operation: 'update' })).toEqual(['required /values/a']);
  });
  it('have their default', () => {
    const withDefault = [field('a', 'text', { required: true, defaultValue: 'x' })];
    expect(evaluate(withDefault, {}).values).toEqual({ a: 'x' });
    expect(evaluate(withDefault, {}, { operation: 'update' }).values).toEqual({});
  });
  it('are not needed while they are hidden', () => {
    const hidden = field('b', 'text', {
      required: true,
      visibility: { dependsOnFieldId: 'a', operator: 'equals', value: 1 },
    });
    expect(codesOf([field('a', 'integer'), hidden], { a: 2 })).toEqual([]);
    expect(codesOf([field('a', 'integer'), hidden], { a: 1 })).toEqual(['required /values/b']);
  });
});

describe('hidden fields', () => {
  it.each<[NonNullable<DraftField['visibility']>['operator'], unknown, unknown, boolean]>([
    ['equals', 'x', 'x', true],
    ['equals', 'x', undefined, false],
    ['notEquals', 'x', undefined, true],
    ['notEquals', 'x', 'x', false],
    ['lessThan', 5, 4, true],
    ['lessThan', 5, 5, false],
    ['lessThanOrEqual', 5, 5, true],
    ['greaterThan', '2024-01-01', '2024-01-02', true],
    ['greaterThanOrEqual', 5, undefined, false],
    ['contains', 'b', ['a', 'b'], true],
    ['contains', 'b', 'abc', true],
    ['contains', 'd', ['a'], false],
    ['answered', null, '', false],
    ['answered', null, 0, true],
    ['notAnswered', null, undefined, true],
  ])('depend on another value: %s %j of %j is %s', (operator, value, answer, isShown) => {
    const fields = [
      field('a', 'calculate'),
      field('b', 'text', { visibility: { dependsOnFieldId: 'a', operator, value } }),
    ];
    const { values } = evaluate(fields, { a: answer, b: 'shown' });
    expect('b' in values).toBe(isShown);
  });

  it('have no value, also for fields that depend on them, and cycles are hidden', () => {
    const when = (dependsOnFieldId: string) => ({
      visibility: { dependsOnFieldId, operator: 'answered' as const },
    });
    const chain = [field('a', 'text'), field('b', 'text', when('a')), field('c', 'text', when('b'))];
    expect(evaluate(chain, { b: '1', c: '2' }).values).toEqual({});
    expect(evaluate(chain, { a: '0', b: '1', c: '2' }).values).toEqual({ a: '0', b: '1', c: '2' });
    const cycle = [field('a', 'text', when('b')), field('b', 'text', when('a'))];
    expect(evaluate(cycle, { a: '1', b: '2' }).values).toEqual({});
  });
});

describe('domains and rules', () => {
  it.each<[Partial<DraftField>, DraftField['type'], unknown, string[]]>([
    [
      { domain: { type: 'codedValue', choices: [{ code: 'a', label: 'A' }] } },
      'select_one',
      'b',
      ['domain /values/f'],
    ],
    [{ domain: { type: 'codedValue', choices: [{ code: 1, label: 'A' }] } }, 'select_multiple', [1], []],
    [
      { domain: { type: 'codedValue', choices: [{ code: 1, label: 'A' }] } },
      'select_multiple',
      [1, 2],
      ['domain /values/f'],
    ],
    [{ domain: { type: 'range', min: 1, max: 5 } }, 'integer', 5, []],
    [{ domain: { type: 'range', min: 1, max: 5 } }, 'integer', 6, ['domain /values/f']],
    [{ domain: { type: 'range', min: '2024-01-01' } }, 'date', '2023-12-31', ['domain /values/f']],
    [
      { validation: [{ ruleId: 'r', type: 'minLength', parameters: { value: 2 } }] },
      'text',
      '😀',
      ['rule /values/f'],
    ],
    [{ validation: [{ ruleId: 'r', type: 'maxLength', parameters: { value: 2 } }] }, 'text', 'ab', []],
    [
      { validation: [{ ruleId: 'r', type: 'min', parameters: { value: 2 } }] },
      'decimal',
      1.5,
      ['rule /values/f'],
    ],
    [
      { validation: [{ ruleId: 'r', type: 'pattern', parameters: { pattern: '[A-Z]+' } }] },
      'text',
      'ABc',
      ['rule /values/f'],
    ],
    [{ readOnly: true, defaultValue: 'x' }, 'text', 'y', ['read-only /values/f']],
    [{ readOnly: true, defaultValue: 'x' }, 'text', 'x', []],
  ])('%j of %s: %j', (members, type, value, codes) => {
    expect(codesOf([field('f', type, members)], { f: value })).toEqual(codes);
  });
});

describe('repeatable sections', () => {
  const fields = [
    field('kind', 'text'),
    field('name', 'text', { required: true }),
    field('age', 'integer', {
      visibility: { dependsOnFieldId: 'kind', operator: 'equals', value: 'person' },
    }),
  ];
  const sections = [
    { sectionId: 'main', fieldIds: ['kind'] },
    { sectionId: 'people', fieldIds: ['name', 'age'], repeatable: true, minInstances: 1, maxInstances: 2 },
  ];
  it('are lists whose fields see the values around them', () => {
    const sent = {
      kind: 'person',
      people: [
        { name: 'a', age: 1 },
        { name: 'b', age: 2 },
      ],
    };
    expect(evaluate(fields, sent, { sections }).values).toEqual(sent);
    expect(evaluate(fields, { ...sent, kind: 'tree' }, { sections }).values).toEqual({
      kind: 'tree',
      people: [{ name: 'a' }, { name: 'b' }],
    });
  });
  it('have as many instances as the section allows, each complete', () => {
    expect(codesOf(fields, {}, { sections })).toEqual(['instances /values/people']);
    expect(codesOf(fields, { people: [{}] }, { sections })).toEqual(['required /values/people/0/name']);
    expect(codesOf(fields, { people: 'x' }, { sections })).toEqual([
      'type /values/people',
      'instances /values/people',
    ]);
    expect(codesOf(fields, { name: 'x', people: [{ name: 'a' }] }, { sections })).toEqual([
      'field-unknown /values/name',
    ]);
  });
});

it('agrees with a model on the visibility of 2,000 random chains of fields', () => {
  const random = randomSource(57);
  const wrong: string[] = [];
  for (let run = 0; run < 2000; run++) {
    const count = 2 + Math.floor(random() * 8);
    const parents = Array.from({ length: count }, (_, i) =>
      i === 0 || random() < 0.3 ? -1 : Math.floor(random() * i),
    );
    const answers = parents.map(() => (random() < 0.6 ? Math.floor(random() * 3) : undefined));
    const wanted = parents.map(() => Math.floor(random() * 3));
    const fields = parents.map((parent, i) =>
      field(
        `f${i}`,
        'integer',
        parent < 0
          ? {}
          : { visibility: { dependsOnFieldId: `f${parent}`, operator: 'equals', value: wanted[i] } },
      ),
    );
    const values = Object.fromEntries(answers.map((value, i) => [`f${i}`, value]));
    const shown: boolean[] = [];
    for (let i = 0; i < count; i++)
      shown.push(parents[i]! < 0 || (shown[parents[i]!]! && answers[parents[i]!] === wanted[i]));
    const model = answers.flatMap((value, i) => (shown[i] && value !== undefined ? [`f${i}=${value}`] : []));
    const found = Object.entries(evaluate(fields.toReversed(), values).values).map(
      ([id, value]) => `${id}=${value}`,
    );
    if (found.toSorted().join() !== model.toSorted().join())
      wrong.push(`run ${run}: ${found} instead of ${model}`);
  }
  expect(wrong).toEqual([]);
});
