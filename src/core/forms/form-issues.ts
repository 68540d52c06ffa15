import type { Field, GeometryType } from '../sources/vector-source.js';
import {
  CHOICE_TYPES,
  FILE_TYPES,
  type FormDocument,
  type FormField,
  type FormFieldType,
  GEOMETRY_TYPES,
  ORDERED_TYPES,
} from './form-document.js';
import { compilePatternRule } from './pattern-rule.js';

/** A problem of a form. A form with errors cannot be published. */
export interface FormIssue {
  readonly code: string;
  readonly severity: 'error' | 'warning';
  readonly message: string;
  /** JSON pointer. */
  readonly path: string;
  readonly fieldId: string | null;
}

/** The members of a layer that a form depends on. */
export interface FormLayer {
  readonly id: string;
  readonly title: string;
  readonly isWritable: boolean;
  readonly geometryType: GeometryType;
  readonly fields: readonly Field[];
}

/** Finds all problems of a form. `layer` is undefined if the target layer does not exist or has no features. */
export function findFormIssues(form: FormDocument, layer: FormLayer | undefined): FormIssue[] {
  return [
    ...findTargetIssues(form, layer),
    ...findSectionIssues(form),
    ...form.fields.flatMap((field, index) => findFieldIssues(form, field, index, layer)),
    ...findCycles(form),
    ...findPolicyIssues(form),
  ];
}

const error = (code: string, path: string, message: string, fieldId: string | null = null): FormIssue => ({
  ...{ code, severity: 'error', message, path, fieldId },
});
const warning = (code: string, path: string, message: string, fieldId: string | null = null): FormIssue => ({
  ...{ code, severity: 'warning', message, path, fieldId },
});

/** Geometry types of layers that fit each type of field. */
export const FITTING_GEOMETRIES: Partial<Readonly<Record<FormFieldType, readonly GeometryType[]>>> = {
  geopoint: ['Point', 'MultiPoint', 'Geometry', 'GeometryCollection'],
  geotrace: ['LineString', 'MultiLineString', 'Geometry', 'GeometryCollection'],
  geoshape: ['Polygon', 'MultiPolygon', 'Geometry', 'GeometryCollection'],
};

function findTargetIssues(form: FormDocument, layer: FormLayer | undefined): FormIssue[] {
  const { layerId } = form.target;
  if (!layer)
    return [error('layer-missing', '/target/layerId', `There is no layer ${layerId} with features.`)];
  const issues: FormIssue[] = [];
  if (!layer.isWritable)
    issues.push(error('layer-read-only', '/target/layerId', `The layer '${layer.id}' cannot be edited.`));
  for (const [index, { fieldId, type }] of form.fields.entries()) {
    const fits = FITTING_GEOMETRIES[type];
    if (fits && !fits.includes(layer.geometryType))
      issues.push(
        error(
          'geometry-type',
          `/fields/${index}/type`,
          `The layer '${layer.id}' has geometries of the type ${layer.geometryType}, which cannot be a ${type}.`,
          fieldId,
        ),
      );
  }
  const answered = new Set(form.fields.map(({ targetField }) => targetField));
  const isCreated = form.submitPolicy.allowedOperations.includes('create');
  for (const { name, nullable, generated } of layer.fields)
    if (isCreated && !nullable && !generated && !answered.has(name))
      issues.push(
        error(
          'column-unanswered',
          '/fields',
          `The column '${name}' needs a value, but no field has it as its targetField.`,
        ),
      );
  return issues;
}

function findSectionIssues({ sections, fields }: FormDocument): FormIssue[] {
  const issues: FormIssue[] = [];
  const sectionOf = new Map<string, string>();
  const ids = new Set(fields.map(({ fieldId }) => fieldId));
  for (const [at, { sectionId, fieldIds, repeatable, minInstances, maxInstances }] of sections.entries()) {
    const path = `/sections/${at}`;
    if (sections.findIndex((one) => one.sectionId === sectionId) < at)
      issues.push(
        error('section-repeated', `${path}/sectionId`, `Another section is called '${sectionId}'.`),
      );
    for (const [index, fieldId] of fieldIds.entries()) {
      const before = sectionOf.get(fieldId);
      const place = `${path}/fieldIds/${index}`;
      if (!ids.has(fieldId))
        issues.push(error('field-missing', place, `There is no field '${fieldId}'.`, fieldId));
      else if (before !== undefined)
        issues.push(
          error(
            'field-in-two-sections',
            place,
            `The field '${fieldId}' is in the section '${before}' too.`,
            fieldId,
          ),
        );
      sectionOf.set(fieldId, sectionId);
    }
    if (!repeatable && (minInstances !== null || maxInstances !== null))
      issues.push(
        warning(
          'instances-unused',
          path,
          `The section '${sectionId}' is not repeatable, so its numbers of instances have no effect.`,
        ),
      );
    if (minInstances !== null && maxInstances !== null && minInstances > maxInstances)
      issues.push(
        error(
          'instances-reversed',
          path,
          `minInstances (${minInstances}) is greater than maxInstances (${maxInstances}).`,
        ),
      );
  }
  for (const [at, { fieldId, sectionId }] of fields.entries()) {
    const path = `/fields/${at}/sectionId`;
    const actual = sectionOf.get(fieldId);
    if (actual === undefined)
      issues.push(
        error('field-without-section', path, `No section contains the field '${fieldId}'.`, fieldId),
      );
    else if (sectionId !== null && sectionId !== actual)
      issues.push(
        error(
          'section-contradicted',
          path,
          `The field says that it is in '${sectionId}', but the section '${actual}' contains it.`,
          fieldId,
        ),
      );
  }
  return issues;
}

function findFieldIssues(
  form: FormDocument,
  field: FormField,
  index: number,
  layer: FormLayer | undefined,
): FormIssue[] {
  const at = `/fields/${index}`;
  const { fieldId } = field;
  const issues: FormIssue[] = [];
  if (form.fields.findIndex((one) => one.fieldId === fieldId) < index)
    issues.push(error('field-repeated', `${at}/fieldId`, `Another field is called '${fieldId}'.`, fieldId));
  issues.push(
    ...findDomainIssues(field, at),
    ...findRuleIssues(field, at),
    ...findVisibilityIssues(form, field, at),
  );
  if (layer) issues.push(...findColumnIssues(form, field, at, layer));
  if (field.required && field.readOnly && field.defaultValue === null)
    issues.push(
      error(
        'required-read-only',
        at,
        'The field is required, but nobody can fill it in: it is read-only and has no default.',
        fieldId,
      ),
    );
  return issues;
}

function findDomainIssues({ fieldId, type, domain }: FormField, at: string): FormIssue[] {
  const path = `${at}/domain`;
  if (CHOICE_TYPES.has(type) && domain?.type !== 'codedValue')
    return [
      error(
        'choices-missing',
        path,
        `A field of the type ${type} needs a domain of the type codedValue.`,
        fieldId,
      ),
    ];
  if (!domain) return [];
  if (domain.type === 'range') {
    if (!ORDERED_TYPES.has(type))
      return [error('range-unordered', path, `A range cannot limit values of the type ${type}.`, fieldId)];
    const [min, max] = [rank(type, domain.min), rank(type, domain.max)];
    if (min === 'wrong' || max === 'wrong')
      return [error('range-type', path, `The limits of the range must be of the type ${type}.`, fieldId)];
    if (min !== null && max !== null && min > max)
      return [
        error('range-reversed', path, 'The minimum of the range is greater than its maximum.', fieldId),
      ];
    return [];
  }
  const choices = domain.choices ?? [];
  if (choices.length === 0)
    return [error('choices-missing', `${path}/choices`, 'The domain has no choices.', fieldId)];
  const issues: FormIssue[] = [];
  const codes = new Set<string>();
  for (const [index, { code }] of choices.entries()) {
    const place = `${path}/choices/${index}/code`;
    const text = String(code);
    if (!isCode(code)) issues.push(error('code-type', place, 'A code must be a text or a number.', fieldId));
    else if (codes.has(text))
      issues.push(error('code-repeated', place, `Another choice has the code '${text}'.`, fieldId));
    // XForms stores several choices as codes with spaces between them.
    else if (type === 'select_multiple' && /\s/.test(text))
      issues.push(
        error(
          'code-with-space',
          place,
          `The code '${text}' has a space. Several choices are separated by spaces.`,
          fieldId,
        ),
      );
    codes.add(text);
  }
  return issues;
}

const isCode = (code: unknown) =>
  typeof code === 'string' || typeof code === 'number' || code instanceof String;

/** A limit as a number, null where there is none. */
function rank(type: FormFieldType, limit: unknown): number | null | 'wrong' {
  if (limit === null || limit === undefined) return null;
  const isTime = type === 'date' || type === 'dateTime';
  const isRight = isTime ? typeof limit === 'string' : typeof limit === 'number' || limit instanceof String;
  const value = isRight ? (isTime ? Date.parse(String(limit)) : Number(limit)) : Number.NaN;
  return Number.isNaN(value) ? 'wrong' : value;
}

const TEXT_TYPES: ReadonlySet<FormFieldType> = new Set(['text', 'barcode']);
const isCount = (value: unknown) => Number.isSafeInteger(value) && (value as number) >= 0;

function findRuleIssues({ fieldId, type, validation }: FormField, at: string): FormIssue[] {
  return validation.flatMap(({ ruleId, type: rule, parameters }, index) => {
    const path = `${at}/validation/${index}`;
    const named = parameters as Readonly<Record<string, unknown>> | null;
    const issues: FormIssue[] = [];
    if (validation.findIndex((one) => one.ruleId === ruleId) < index)
      issues.push(
        error('rule-repeated', `${path}/ruleId`, `Another rule of the field is called '${ruleId}'.`, fieldId),
      );
    if (rule === 'min' || rule === 'max') {
      const value = rank(type, named?.['value']);
      if (!ORDERED_TYPES.has(type))
        issues.push(
          error('rule-type', path, `The rule ${rule} cannot limit values of the type ${type}.`, fieldId),
        );
      else if (value === null || value === 'wrong')
        issues.push(
          error(
            'rule-parameters',
            `${path}/parameters`,
            `The rule ${rule} needs a 'value' of the type ${type}.`,
            fieldId,
          ),
        );
      return issues;
    }
    if (!TEXT_TYPES.has(type))
      issues.push(
        error('rule-type', path, `The rule ${rule} cannot limit values of the type ${type}.`, fieldId),
      );
    if (rule === 'pattern') {
      const pattern = compilePatternRule(named?.['pattern']);
      if (typeof pattern === 'string')
        issues.push(error('rule-parameters', `${path}/parameters/pattern`, pattern, fieldId));
    } else if (!isCount(named?.['value']))
      issues.push(
        error(
          'rule-parameters',
          `${path}/parameters`,
          `The rule ${rule} needs a 'value' that is a whole number of at least 0.`,
          fieldId,
        ),
      );
    return issues;
  });
}

function findVisibilityIssues(
  { fields }: FormDocument,
  { fieldId, visibility }: FormField,
  at: string,
): FormIssue[] {
  if (!visibility) return [];
  const path = `${at}/visibility`;
  const { dependsOnFieldId, operator, value } = visibility;
  const other = fields.find((one) => one.fieldId === dependsOnFieldId);
  if (!other)
    return [
      error(
        'visibility-missing',
        `${path}/dependsOnFieldId`,
        `There is no field '${dependsOnFieldId}'.`,
        fieldId,
      ),
    ];
  if (FILE_TYPES.has(other.type) || GEOMETRY_TYPES.has(other.type) || other.type === 'note')
    if (!['answered', 'notAnswered'].includes(operator))
      return [
        error(
          'visibility-operator',
          `${path}/operator`,
          `A field of the type ${other.type} can only be answered or notAnswered.`,
          fieldId,
        ),
      ];
  const needsValue = operator !== 'answered' && operator !== 'notAnswered';
  if (needsValue && (value === null || value === undefined))
    return [error('visibility-value', `${path}/value`, `The operator ${operator} needs a value.`, fieldId)];
  const isOrder = operator.startsWith('lessThan') || operator.startsWith('greaterThan');
  if (isOrder && !ORDERED_TYPES.has(other.type))
    return [
      error(
        'visibility-operator',
        `${path}/operator`,
        `Values of the type ${other.type} have no order.`,
        fieldId,
      ),
    ];
  const codes = other.domain?.type === 'codedValue' ? other.domain.choices : null;
  if (needsValue && codes && !codes.some(({ code }) => String(code) === String(value)))
    return [
      error(
        'visibility-value',
        `${path}/value`,
        `'${String(value)}' is no choice of the field '${dependsOnFieldId}'.`,
        fieldId,
      ),
    ];
  return [];
}

/** Fields that are shown only if a field is shown that depends on them. */
function findCycles({ fields }: FormDocument): FormIssue[] {
  const dependsOn = new Map(fields.map(({ fieldId, visibility }) => [fieldId, visibility?.dependsOnFieldId]));
  return fields.flatMap(({ fieldId }, index) => {
    const seen = new Set<string>();
    let at: string | undefined = dependsOn.get(fieldId);
    while (at !== undefined && at !== fieldId && !seen.has(at)) {
      seen.add(at);
      at = dependsOn.get(at);
    }
    if (at !== fieldId) return [];
    return [
      error(
        'visibility-cycle',
        `/fields/${index}/visibility`,
        `Whether '${fieldId}' is shown depends on itself.`,
        fieldId,
      ),
    ];
  });
}

/** Types of columns that can store the values of each type of field. */
const STORED_AS: Readonly<Record<FormFieldType, readonly Field['type'][]>> = {
  text: ['string'],
  barcode: ['string'],
  calculate: ['string', 'integer', 'number'],
  time: ['string'],
  integer: ['integer', 'number'],
  decimal: ['number'],
  date: ['date', 'string'],
  dateTime: ['date-time', 'string'],
  select_one: ['string', 'integer', 'number', 'boolean'],
  select_multiple: ['string', 'array'],
  geopoint: [],
  geotrace: [],
  geoshape: [],
  image: [],
  audio: [],
  video: [],
  file: [],
  note: [],
};

function findColumnIssues(
  form: FormDocument,
  { fieldId, type, targetField, required, domain, visibility }: FormField,
  at: string,
  layer: FormLayer,
): FormIssue[] {
  const path = `${at}/targetField`;
  if (targetField === null) {
    const isKept = STORED_AS[type].length > 0;
    return isKept
      ? [
          warning(
            'answer-not-stored',
            path,
            `Only the submission keeps the value, because the field has no targetField.`,
            fieldId,
          ),
        ]
      : [];
  }
  if (STORED_AS[type].length === 0)
    return [error('target-useless', path, `Values of the type ${type} are not stored in a column.`, fieldId)];
  const column = layer.fields.find(({ name }) => name === targetField);
  if (!column)
    return [
      error('column-missing', path, `The layer '${layer.id}' has no column '${targetField}'.`, fieldId),
    ];
  const issues: FormIssue[] = [];
  const other = form.fields.find((one) => one.targetField === targetField)!;
  if (other.fieldId !== fieldId)
    issues.push(
      error(
        'column-answered-twice',
        path,
        `The field '${other.fieldId}' is stored in the column '${targetField}' too.`,
        fieldId,
      ),
    );
  if (column.generated)
    issues.push(
      error('column-generated', path, `The database computes the column '${targetField}'.`, fieldId),
    );
  if (!STORED_AS[type].includes(column.type))
    issues.push(
      error(
        'column-type',
        path,
        `The column '${targetField}' is of the type ${column.type}, which cannot store values of the type ${type}.`,
        fieldId,
      ),
    );
  if (!column.nullable && (!required || visibility))
    issues.push(
      error(
        'column-optional',
        `${at}/required`,
        `The column '${targetField}' needs a value, so the field must be required and always shown.`,
        fieldId,
      ),
    );
  const allowed = column.enumeration && new Set(column.enumeration.map(String));
  for (const [index, { code }] of (domain?.choices ?? []).entries())
    if (allowed && !allowed.has(String(code)))
      issues.push(
        error(
          'code-refused',
          `${at}/domain/choices/${index}/code`,
          `The column '${targetField}' does not allow '${String(code)}'.`,
          fieldId,
        ),
      );
  return issues;
}

/** Transformations of files that the server can make. */
const TRANSFORMATIONS: readonly string[] = ['strip-exif'];

function findPolicyIssues(form: FormDocument): FormIssue[] {
  const { attachmentPolicy: files, privacyPolicy: privacy, submitPolicy, fields } = form;
  const issues: FormIssue[] = [];
  const cannot = (member: string, what: string) =>
    issues.push(
      error(
        'policy-unmet',
        `/attachmentPolicy/${member}`,
        `The server cannot ${what}. Publish the form without ${member}, or process the files before they are sent.`,
      ),
    );
  if (files.requireFaceBlur) cannot('requireFaceBlur', 'blur faces');
  if (files.requireRedaction) cannot('requireRedaction', 'redact pictures');
  for (const [index, name] of privacy.requiredTransformations.entries())
    if (!TRANSFORMATIONS.includes(name))
      issues.push(
        error(
          'policy-unmet',
          `/privacyPolicy/requiredTransformations/${index}`,
          `The server cannot make the transformation '${name}'. It can make ${TRANSFORMATIONS.join(', ')}.`,
        ),
      );
  const byId = new Map(fields.map((field) => [field.fieldId, field]));
  for (const [index, fieldId] of privacy.privateFieldIds.entries())
    if (!byId.has(fieldId))
      issues.push(
        error(
          'field-missing',
          `/privacyPolicy/privateFieldIds/${index}`,
          `There is no field '${fieldId}'.`,
          fieldId,
        ),
      );
  for (const [index, { fieldId }] of files.fields.entries()) {
    const field = byId.get(fieldId);
    const path = `/attachmentPolicy/fields/${index}/fieldId`;
    if (!field) issues.push(error('field-missing', path, `There is no field '${fieldId}'.`, fieldId));
    else if (!FILE_TYPES.has(field.type))
      issues.push(
        error(
          'field-without-files',
          path,
          `The field '${fieldId}' is of the type ${field.type}, which has no files.`,
          fieldId,
        ),
      );
  }
  const asksForFiles = fields.some(({ type }) => FILE_TYPES.has(type));
  if (asksForFiles && !(files.enabled && submitPolicy.allowAttachments))
    issues.push(
      error(
        'files-refused',
        '/attachmentPolicy/enabled',
        'The form asks for files, but attachmentPolicy.enabled or submitPolicy.allowAttachments is false.',
      ),
    );
  const places = fields.filter(({ type }) => GEOMETRY_TYPES.has(type));
  if (
    submitPolicy.requiresGeometry &&
    submitPolicy.allowedOperations.includes('create') &&
    places.length === 0
  )
    issues.push(
      warning(
        'geometry-unasked',
        '/submitPolicy/requiresGeometry',
        'A geometry is required, but no field asks for one. Clients must send the geometry of the feature itself.',
      ),
    );
  if (places.length > 1)
    issues.push(
      error(
        'geometry-repeated',
        '/fields',
        `A feature has one geometry, but ${places.map(({ fieldId }) => `'${fieldId}'`).join(' and ')} ask for one.`,
      ),
    );
  return issues;
}
