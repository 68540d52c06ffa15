import Type, { type Static, type TSchema } from 'typebox';
import type { Setting } from '../../../core/config/config.js';
import { ConfigSchema } from '../../../core/config/config-schema.js';
import { formatOptionsType, maskDefault, maskSetting, sections } from '../../admin/config-document.js';

const S = Type.String();
const B = Type.Boolean();
const Any = Type.Unknown();

const RuleSchema = Type.Object({
  attributeType: S,
  errorMessage: Type.Optional(S),
  minValue: Any,
  maxValue: Any,
  minLength: Type.Optional(Type.Integer()),
  maxLength: Type.Optional(Type.Integer()),
  pattern: Type.Optional(S),
  allowedValues: Type.Optional(Type.Array(Any)),
});
type Rule = Static<typeof RuleSchema>;

export const DiscoveredTypes = Type.Array(
  Type.Object({
    typeName: S,
    fullTypeName: S,
    assembly: S,
    sectionName: S,
    isRegisteredInDi: B,
    currentValues: Type.Record(S, Any, { description: 'Values by name. Secrets are masked.' }),
    properties: Type.Array(
      Type.Object({
        name: Type.String({ description: 'Name below the section.' }),
        type: S,
        fullType: S,
        description: Type.Optional(S),
        defaultValue: Any,
        isRequired: B,
        isSecret: B,
        validationRules: Type.Array(RuleSchema),
      }),
    ),
  }),
);

const ASSEMBLY = 'graticule';

/** Each section of the configuration as a type, with its values and the rules of its schema. */
export function discoverTypes(settings: readonly Setting[]): Static<typeof DiscoveredTypes> {
  return [...sections(settings)].map(([sectionName, members]) => ({
    typeName: formatOptionsType(sectionName),
    fullTypeName: `${ASSEMBLY}.${formatOptionsType(sectionName)}`,
    assembly: ASSEMBLY,
    sectionName,
    isRegisteredInDi: true,
    currentValues: Object.fromEntries(members.map((one) => [nameInSection(one), maskSetting(one)])),
    properties: members.map(describeProperty),
  }));
}

function describeProperty(setting: Setting) {
  const schema = findSchema(setting.names);
  return {
    name: nameInSection(setting),
    type: setting.type,
    fullType: formatType(schema, setting.type),
    description: setting.description,
    defaultValue: maskDefault(setting),
    isRequired: false,
    isSecret: setting.secret,
    validationRules: listRules(schema, setting.type),
  };
}

const nameInSection = ({ path }: Setting): string => path.slice(path.indexOf('.') + 1);

/** Keywords of JSON Schema that become rules. */
interface Keywords {
  readonly type?: string;
  readonly properties?: Readonly<Record<string, Keywords>>;
  readonly items?: Keywords;
  readonly enum?: readonly unknown[];
  readonly pattern?: string;
  readonly format?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
}

function findSchema(names: readonly string[]): Keywords {
  const root = ConfigSchema as TSchema as Keywords;
  return names.reduce<Keywords | undefined>((at, name) => at?.properties?.[name], root) ?? {};
}

function formatType({ items, format }: Keywords, type: string): string {
  if (items?.type !== undefined) return `${type} of ${items.type}`;
  return format === undefined ? type : `${type} (${format})`;
}

function listRules(schema: Keywords, type: string): Rule[] {
  const { minimum, maximum, pattern, enum: allowed } = schema;
  const minLength = schema.minLength ?? schema.minItems;
  const maxLength = schema.maxLength ?? schema.maxItems;
  const none = { minValue: null, maxValue: null };
  const rules: Rule[] = [{ attributeType: 'Type', errorMessage: `must be of type ${type}`, ...none }];
  if (minimum !== undefined || maximum !== undefined)
    rules.push({ attributeType: 'Range', minValue: minimum ?? null, maxValue: maximum ?? null });
  if (minLength !== undefined || maxLength !== undefined)
    rules.push({
      ...{ attributeType: 'Length', ...none },
      ...(minLength === undefined ? {} : { minLength }),
      ...(maxLength === undefined ? {} : { maxLength }),
    });
  if (pattern !== undefined) rules.push({ attributeType: 'RegularExpression', ...none, pattern });
  if (allowed) rules.push({ attributeType: 'AllowedValues', ...none, allowedValues: [...allowed] });
  return rules;
}
