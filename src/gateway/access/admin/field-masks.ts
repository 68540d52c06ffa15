import Type from 'typebox';
import { TREATMENTS } from '../../../core/access/access.js';
import { MAX_TRUNCATED } from '../../../core/access/field-masks.js';
import { RULE_KINDS } from '../../../services/access/rules/rules.js';
import { documents } from '../../admin/documents.js';
import { OptionalStringSchema } from '../../admin/envelope.js';
import { group, resource } from '../../admin/kit.js';
import { isRuleWithin, requireRuleRight, ruleTargets } from '../../admin/layer-rights.js';
import { requireMask } from '../../admin/rule-checks.js';
import { DESCRIPTION, NAME_SCHEMA, RULE_SCOPE } from '../../admin/rule-schemas.js';

const TreatmentSchema = Type.Enum([...TREATMENTS]);

/** Masks of attributes for roles. */
export const fieldMasks = group(
  { tag: 'Field-mask policies', scope: 'field-masks', envelope: 'wrapped', isForTenants: true },
  resource(
    '/field-mask-policies/{id}',
    {
      list: 'List Field-Mask Policies',
      create: 'Create Field-Mask Policy',
      get: 'Get Field-Mask Policy',
      remove: 'Delete Field-Mask Policy',
    },
    documents('/field-mask-policies', {
      kind: RULE_KINDS.mask,
      param: 'id',
      idMember: 'policyId',
      isRule: true,
      services: ['access', 'catalog', 'rules'],
      isVisible: (rule, principal, deps) => isRuleWithin(rule, principal, deps.catalog()),
      requireRight: requireRuleRight,
      create: Type.Object({
        ...RULE_SCOPE,
        attribute: NAME_SCHEMA,
        treatment: Type.Optional({
          ...TreatmentSchema,
          description:
            'hide (default): the attribute is omitted; null: all values are null; hash: equal values have equal hashes; truncate: only the first characters.',
        }),
        length: Type.Optional(
          Type.Union([Type.Integer({ minimum: 1, maximum: MAX_TRUNCATED }), Type.Null()], {
            description: 'Characters that truncate leaves; of dates 4 are the year, 7 the month, 10 the day.',
          }),
        ),
        description: DESCRIPTION,
      }),
      update: Type.Object({}),
      body: Type.Object({
        ...RULE_SCOPE,
        attribute: Type.String(),
        treatment: Type.Optional(TreatmentSchema),
        length: Type.Optional(Type.Union([Type.Integer(), Type.Null()])),
        description: OptionalStringSchema,
      }),
      make({ treatment = 'hide', length = null, description = null, ...rule }, deps, principal) {
        const mask = { ...rule, treatment, length, description };
        requireMask(mask, ruleTargets(principal, deps));
        return mask;
      },
      change: (body) => body,
    }),
  ),
);
