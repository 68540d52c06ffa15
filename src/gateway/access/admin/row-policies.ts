import Type from 'typebox';
import { ROW_COMPARISONS, type RowComparison } from '../../../core/access/access.js';
import { problem, refuse } from '../../../core/http/body-problems.js';
import { RULE_KINDS } from '../../../services/access/rules/rules.js';
import { documents } from '../../admin/documents.js';
import { OptionalStringSchema } from '../../admin/envelope.js';
import { group, resource } from '../../admin/kit.js';
import { isRuleWithin, requireRuleRight, ruleTargets } from '../../admin/layer-rights.js';
import { requireRowPolicy } from '../../admin/rule-checks.js';
import { DESCRIPTION, NAME_SCHEMA, RULE_SCOPE } from '../../admin/rule-schemas.js';

/** Accepted names of each comparison, the stored one first. */
const SPELLINGS: Record<RowComparison, readonly string[]> = { in: ['in'], equals: ['equals', 'eq', '='] };

const RowPolicySchema = Type.Object({
  ...RULE_SCOPE,
  attribute: OptionalStringSchema,
  claimType: OptionalStringSchema,
  comparison: Type.Enum([...ROW_COMPARISONS]),
  filter: Type.Optional(OptionalStringSchema),
  description: OptionalStringSchema,
});

const NewRowPolicy = Type.Object({
  ...RULE_SCOPE,
  attribute: Type.Optional(Type.Union([NAME_SCHEMA, Type.Null()])),
  claimType: Type.Optional(Type.Union([NAME_SCHEMA, Type.Null()])),
  comparison: Type.Optional(Type.String({ description: 'in (the default), or equals, eq or =.' })),
  filter: Type.Optional(
    Type.Union([
      Type.String({
        minLength: 1,
        maxLength: 8000,
        description:
          "Filter for visible rows (CQL2 text), in addition to the attribute or in its place. claim('type') is the caller's value, IN (claim('type')) all of its values.",
      }),
      Type.Null(),
    ]),
  ),
  description: DESCRIPTION,
});

/** Rows that callers of a role have. */
export const rowPolicies = group(
  { tag: 'Row-level security', scope: 'row-level-security', envelope: 'wrapped', isForTenants: true },
  resource(
    '/rls-policies/{id}',
    {
      list: 'List RLS Policies',
      create: 'Create RLS Policy',
      get: 'Get RLS Policy',
      remove: 'Delete RLS Policy',
    },
    documents('/rls-policies', {
      kind: RULE_KINDS.rows,
      param: 'id',
      idMember: 'policyId',
      isRule: true,
      services: ['access', 'catalog', 'rules'],
      isVisible: (rule, principal, deps) => isRuleWithin(rule, principal, deps.catalog()),
      requireRight: requireRuleRight,
      create: NewRowPolicy,
      update: Type.Object({}),
      body: RowPolicySchema,
      make(input, deps, principal) {
        const { comparison = 'in', description = null, filter = null, ...scope } = input;
        const { attribute = null, claimType = null, ...rest } = scope;
        const compared = { attribute, claimType, comparison: chooseComparison(comparison) };
        const policy = { ...rest, ...compared, filter, description };
        requireRowPolicy(policy, ruleTargets(principal, deps));
        return policy;
      },
      change: (body) => body,
    }),
  ),
);

function chooseComparison(text: string): RowComparison {
  const lower = text.toLowerCase();
  return (
    ROW_COMPARISONS.find((one) => SPELLINGS[one].includes(lower)) ??
    refuse(problem('comparison', 'must be one of in, equals, eq and ='))
  );
}
