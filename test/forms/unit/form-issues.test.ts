import { describe, expect, it } from 'vitest';
import { completeForm, type FormDraft } from '../../../src/core/forms/form-document.js';
import { type FormLayer, findFormIssues } from '../../../src/core/forms/form-issues.js';
import { compilePatternRule } from '../../../src/core/forms/pattern-rule.js';

const layer: FormLayer = {
  ...{ id: 'trees', title: 'Trees', isWritable: true, geometryType: 'Point' },
  fields: [
    { name: 'species', type: 'string', nullable: false },
    { name: 'height', type: 'number', nullable: true, enumeration: [1, 2] },
    { name: 'area', type: 'number', nullable: true, generated: true },
  ],
};
const species = {
  fieldId: 'species',
  label: 'Species',
  type: 'text',
  targetField: 'species',
  required: true,
};
const place = { fieldId: 'place', label: 'Place', type: 'geopoint' };
type Draft = Partial<Omit<FormDraft, 'fields' | 'sections'>> & { fields?: object[]; sections?: object[] };

const find = (draft: Draft = {}, on: FormLayer | undefined = layer) =>
  findFormIssues(
    completeForm({ target: { layerId: 1 }, fields: [species, place], ...draft } as FormDraft, 'f'),
    on,
  );
const codes = (draft: Draft, on?: FormLayer) => find(draft, on).map(({ code, path }) => [code, path]);
const withField = (field: object) => codes({ fields: [species, place, field] });

describe('the issues of a form', () => {
  it('are none for a form that fits its layer', () => {
    expect(find()).toEqual([]);
  });

  it.each<[string, Draft, string, string]>([
    ['a needed column', { fields: [place] }, 'column-unanswered', '/fields'],
    [
      'an optional needed column',
      { fields: [{ ...species, required: false }, place] },
      'column-optional',
      '/fields/0/required',
    ],
    [
      'two fields of one id',
      { fields: [species, place, { ...place, type: 'note' }] },
      'field-repeated',
      '/fields/2/fieldId',
    ],
    [
      'a line for points',
      { fields: [species, { ...place, type: 'geotrace' }] },
      'geometry-type',
      '/fields/1/type',
    ],
    ['two places', { fields: [species, place, { ...place, fieldId: 'p2' }] }, 'geometry-repeated', '/fields'],
    [
      'files that are refused',
      { fields: [species, place, { fieldId: 'i', label: 'I', type: 'image' }] },
      'files-refused',
      '/attachmentPolicy/enabled',
    ],
    [
      'a redaction',
      { attachmentPolicy: { requireRedaction: true } },
      'policy-unmet',
      '/attachmentPolicy/requireRedaction',
    ],
    [
      'a transformation',
      { privacyPolicy: { requiredTransformations: ['blur'] } },
      'policy-unmet',
      '/privacyPolicy/requiredTransformations/0',
    ],
    [
      'a private field that is missing',
      { privacyPolicy: { privateFieldIds: ['x'] } },
      'field-missing',
      '/privacyPolicy/privateFieldIds/0',
    ],
  ])('find %s', (_, draft, code, path) => {
    expect(codes(draft)).toContainEqual([code, path]);
  });

  const at = '/fields/2';
  it.each<[string, object, string, string]>([
    ['a missing column', { type: 'text', targetField: 'x' }, 'column-missing', `${at}/targetField`],
    ['a computed column', { type: 'decimal', targetField: 'area' }, 'column-generated', `${at}/targetField`],
    ['a column of another type', { type: 'date', targetField: 'height' }, 'column-type', `${at}/targetField`],
    [
      'a column that is answered twice',
      { type: 'text', targetField: 'species' },
      'column-answered-twice',
      `${at}/targetField`,
    ],
    [
      'a choice that the column refuses',
      {
        type: 'select_one',
        targetField: 'height',
        domain: { type: 'codedValue', choices: [{ code: 3, label: '3' }] },
      },
      'code-refused',
      `${at}/domain/choices/0/code`,
    ],
    ['no choices', { type: 'select_one' }, 'choices-missing', `${at}/domain`],
    [
      'a code twice',
      {
        type: 'select_one',
        domain: {
          type: 'codedValue',
          choices: [
            { code: 'a', label: '1' },
            { code: 'a', label: '2' },
          ],
        },
      },
      'code-repeated',
      `${at}/domain/choices/1/code`,
    ],
    [
      'a code with a space',
      { type: 'select_multiple', domain: { type: 'codedValue', choices: [{ code: 'a b', label: '1' }] } },
      'code-with-space',
      `${at}/domain/choices/0/code`,
    ],
    [
      'a range of texts',
      { type: 'text', domain: { type: 'range', min: 1, max: 2 } },
      'range-unordered',
      `${at}/domain`,
    ],
    [
      'a reversed range',
      { type: 'integer', domain: { type: 'range', min: 3, max: 2 } },
      'range-reversed',
      `${at}/domain`,
    ],
    [
      'a range with a text',
      { type: 'integer', domain: { type: 'range', min: 'a' } },
      'range-type',
      `${at}/domain`,
    ],
    [
      'a slow pattern',
      { type: 'text', validation: [{ ruleId: 'r', type: 'pattern', parameters: { pattern: '(a+)+' } }] },
      'rule-parameters',
      `${at}/validation/0/parameters/pattern`,
    ],
    [
      'a rule of another type',
      { type: 'date', validation: [{ ruleId: 'r', type: 'maxLength', parameters: { value: 1 } }] },
      'rule-type',
      `${at}/validation/0`,
    ],
    [
      'a dependence on nothing',
      { type: 'text', visibility: { dependsOnFieldId: 'x', operator: 'answered' } },
      'visibility-missing',
      `${at}/visibility/dependsOnFieldId`,
    ],
    [
      'a dependence on itself',
      { type: 'text', visibility: { dependsOnFieldId: 'own', operator: 'answered' } },
      'visibility-cycle',
      `${at}/visibility`,
    ],
    [
      'an order of texts',
      { type: 'text', visibility: { dependsOnFieldId: 'species', operator: 'lessThan', value: 1 } },
      'visibility-operator',
      `${at}/visibility/operator`,
    ],
    [
      'a required field that nobody can answer',
      { type: 'text', required: true, readOnly: true },
      'required-read-only',
      at,
    ],
  ])('find %s', (_, field, code, path) => {
    expect(withField({ fieldId: 'own', label: 'Own', ...field })).toContainEqual([code, path]);
  });

  it('find sections that contradict the fields', () => {
    const sections = [
      { sectionId: 's', fieldIds: ['species', 'x'], repeatable: false },
      { sectionId: 's', fieldIds: ['species'], repeatable: true, minInstances: 3, maxInstances: 2 },
    ];
    expect(codes({ sections })).toEqual([
      ['field-missing', '/sections/0/fieldIds/1'],
      ['section-repeated', '/sections/1/sectionId'],
      ['field-in-two-sections', '/sections/1/fieldIds/0'],
      ['instances-reversed', '/sections/1'],
      ['field-without-section', '/fields/1/sectionId'],
    ]);
  });

  it('find a longer circle in each of its fields', () => {
    const shownBy = (fieldId: string, dependsOnFieldId: string) => ({
      ...{ fieldId, label: fieldId, type: 'text' },
      visibility: { dependsOnFieldId, operator: 'answered' },
    });
    const fields = [
      species,
      place,
      shownBy('a', 'b'),
      shownBy('b', 'c'),
      shownBy('c', 'a'),
      shownBy('d', 'a'),
    ];
    const circle = codes({ fields }).filter(([code]) => code === 'visibility-cycle');
    expect(circle.map(([, path]) => path)).toEqual([2, 3, 4].map((n) => `/fields/${n}/visibility`));
  });

  it('find layers that are missing or cannot be edited', () => {
    const draft = completeForm({ target: { layerId: 1 }, fields: [] } as FormDraft, 'f');
    expect(findFormIssues(draft, undefined).map(({ code }) => code)).toContain('layer-missing');
    expect(codes({}, { ...layer, isWritable: false })).toEqual([['layer-read-only', '/target/layerId']]);
  });
});

describe('the pattern of a rule', () => {
  it.each(['[A-Z]{2}\\d+', 'a|b', '(ab)?c*', '(?:ab){2}', '\\(a+\\)+'])('can be %s', (pattern) => {
    expect(compilePatternRule(pattern)).toBeInstanceOf(RegExp);
  });
  it.each([
    '(a+)+',
    '(a|aa)+',
    '(?:a*){2,}',
    '((ab*))*',
    '(a)\\1',
    '(?=a)b',
    'a*b*c*d*',
    '[',
    '',
    'a'.repeat(201),
    7,
  ])('cannot be %s', (pattern) => {
    expect(compilePatternRule(pattern)).toEqual(expect.any(String));
  });
  it('matches whole answers', () => {
    const pattern = compilePatternRule('a|b') as RegExp;
    expect(['a', 'b', 'ab', 'xa'].map((text) => pattern.test(text))).toEqual([true, true, false, false]);
  });
});
