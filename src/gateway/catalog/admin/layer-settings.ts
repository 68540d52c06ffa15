import { randomUUID } from 'node:crypto';
import Type, { type Static } from 'typebox';
import { hasFeatures } from '../../../core/catalog/abilities.js';
import { type Collection, type VectorCollection, whole } from '../../../core/catalog/collection.js';
import {
  FILTER_LANGUAGES,
  type FieldSettings,
  type Relationship,
} from '../../../core/catalog/layer-settings.js';
import { layerFailure } from '../../../core/catalog/unread.js';
import { Cql2Error } from '../../../core/cql2/index.js';
import { ApiError, notFound } from '../../../core/errors/errors.js';
import { problem, refuse, requireSound } from '../../../core/http/body-problems.js';
import { formatActor, type Principal } from '../../../core/http/operation.js';
import type { DomainCode } from '../../../core/sources/vector-source.js';
import type { AnyNumber } from '../../../core/values/exact-number.js';
import { hidingSettings } from '../../../services/access/rules/hidden.js';
import { isAdministrator } from '../../../services/access/rules/policy.js';
import { checkLayer, domainProblem, hasField } from '../../../services/catalog/layers/checks.js';
import { permanentRows } from '../../../services/catalog/layers/effective-collection.js';
import type { ServicesOf } from '../../admin/deps.js';
import { OptionalStringSchema, TimestampSchema, timestamp } from '../../admin/envelope.js';
import { createRowBuilders, jsonBody } from '../../admin/kit.js';
import { layerIdParam } from '../../admin/layer-lookup.js';
import { requireWhole } from '../../admin/layer-rights.js';
import { NAME_SCHEMA } from '../../admin/rule-schemas.js';

const SERVICES = ['access', 'catalog', 'derivations', 'layers'] as const;
type Deps = ServicesOf<typeof SERVICES>;
const { implement, report } = createRowBuilders(SERVICES);

/** Fields, permanent filters, relationships and validation of layers. */

const CODED_VALUES = 512;
const RELATIONSHIPS = 64;

const Code = Type.Unsafe<DomainCode>(Type.Union([Type.Number(), Type.String({ maxLength: 256 })]));
const DomainSchema = Type.Object({
  type: Type.Literal('codedValue'),
  name: Type.String({ maxLength: 256 }),
  codedValues: Type.Array(Type.Object({ code: Code, name: Type.String({ maxLength: 256 }) }), {
    minItems: 1,
    maxItems: CODED_VALUES,
  }),
});

const FieldView = Type.Object({
  name: Type.String(),
  type: Type.String(),
  alias: OptionalStringSchema,
  hidden: Type.Boolean(),
  editable: Type.Boolean(),
  order: Type.Union([Type.Integer(), Type.Null()]),
  domain: Type.Union([
    DomainSchema,
    Type.Object({
      type: Type.Literal('range'),
      name: Type.String(),
      range: Type.Array(Type.Unsafe<AnyNumber | null>(Type.Union([Type.Number(), Type.Null()]))),
    }),
    Type.Null(),
  ]),
});
const Fields = Type.Object({ layerId: Type.Integer(), fields: Type.Array(FieldView) });
const FieldChange = Type.Object({
  name: NAME_SCHEMA,
  alias: Type.Optional(Type.Union([Type.String({ maxLength: 256 }), Type.Null()])),
  hidden: Type.Optional(Type.Union([Type.Boolean(), Type.Null()])),
  editable: Type.Optional(Type.Union([Type.Boolean(), Type.Null()])),
  order: Type.Optional(Type.Union([Type.Integer({ minimum: 0, maximum: 10_000 }), Type.Null()])),
  domain: Type.Optional(Type.Union([DomainSchema, Type.Null()])),
});

export const fields = {
  get: implement({
    params: { layerId: layerIdParam },
    data: Fields,
    errors: [400, 404],
    answer: async ({ params }, deps) => fieldsView(requireFeatures(params.layerId, deps), deps),
  }),
  set: implement({
    description:
      'Fields outside the list are unchanged. Omitted members of a listed field are cleared. No API returns a hidden field.',
    params: { layerId: layerIdParam },
    body: jsonBody(Type.Object({ fields: Type.Array(FieldChange, { minItems: 1, maxItems: 1000 }) })),
    data: Fields,
    errors: [400, 404],
    async answer({ params, body, principal }, deps) {
      const collection = requireFeatures(params.layerId, deps);
      requireFields(body.fields, collection);
      if (changesHidden(body.fields, deps.layers.settingsOf(collection).fields))
        requireWhole([collection], 'read', principal, deps);
      const named = new Map(body.fields.map((one) => [one.name, readSettings(one)]));
      const others = (deps.layers.settingsOf(collection).fields ?? []).filter(({ name }) => !named.has(name));
      const changed = [...others, ...named.values()].filter((one) => Object.keys(one).length > 1);
      await deps.layers.put(
        collection,
        { fields: changed.length > 0 ? changed : undefined },
        formatActor(principal),
      );
      await chooseHidden('fields', collection, principal, deps);
      return fieldsView(requireFeatures(params.layerId, deps), deps);
    },
  }),
};

/** If an administrator hides data in a second layer of a table, those settings are sufficient. */
async function chooseHidden(
  member: 'filter' | 'fields',
  collection: Collection,
  principal: Principal,
  { derivations, layers }: Deps,
): Promise<void> {
  if (!isAdministrator(principal)) return;
  const chosen = { [member]: hidingSettings(layers.settingsOf(collection))[member] };
  await derivations.choose(collection.id, chosen, formatActor(principal));
}

const FilterSchema = Type.Object({
  expression: Type.String({ minLength: 1, maxLength: 10_000 }),
  language: Type.Optional(Type.Enum([...FILTER_LANGUAGES])),
});
const OptionalFilter = Type.Union([FilterSchema, Type.Null()]);
const FilterView = Type.Object({ layerId: Type.Integer(), permanentFilter: OptionalFilter });

export const filterResource = {
  get: implement({
    params: { layerId: layerIdParam },
    data: FilterView,
    errors: [400, 404],
    answer: async ({ params }, deps) => filterView(requireFeatures(params.layerId, deps), deps),
  }),
  set: implement({
    description: 'No API returns features that the filter excludes, to any caller. null removes the filter.',
    params: { layerId: layerIdParam },
    body: jsonBody(Type.Union([Type.Object({ permanentFilter: OptionalFilter }), Type.Null()])),
    data: FilterView,
    errors: [400, 404],
    async answer({ params, body, principal }, deps) {
      const collection = requireFeatures(params.layerId, deps);
      const filterOfBody = body?.permanentFilter ?? undefined;
      const permanent = filterOfBody && { language: 'arcgis-sql' as const, ...filterOfBody };
      if (permanent) requireFilter(permanent, collection);
      requireWhole([collection], 'read', principal, deps);
      await deps.layers.put(collection, { filter: permanent }, formatActor(principal));
      await chooseHidden('filter', collection, principal, deps);
      return filterView(collection, deps);
    },
  }),
};

const RelationshipView = Type.Object({
  id: Type.String(),
  name: Type.String(),
  description: OptionalStringSchema,
  cardinality: Type.Enum(['one-to-one', 'one-to-many', 'many-to-many']),
  role: Type.Enum(['origin', 'destination']),
  originField: Type.String(),
  destinationField: Type.String(),
  relatedLayerId: Type.Integer(),
  esriRelationshipId: Type.Union([Type.Integer(), Type.Null()]),
});
const RelationshipInput = Type.Object({
  id: Type.Optional(Type.Union([Type.String({ maxLength: 100 }), Type.Null()])),
  name: NAME_SCHEMA,
  description: Type.Optional(Type.Union([Type.String({ maxLength: 1000 }), Type.Null()])),
  cardinality: Type.Optional(RelationshipView.properties.cardinality),
  role: Type.Optional(RelationshipView.properties.role),
  originField: NAME_SCHEMA,
  destinationField: NAME_SCHEMA,
  relatedLayerId: Type.Integer({ minimum: 0 }),
  esriRelationshipId: Type.Optional(Type.Union([Type.Integer({ minimum: 0 }), Type.Null()])),
});
const Relationships = Type.Object({
  layerId: Type.Integer(),
  relationships: Type.Array(RelationshipView),
});

export const relationships = {
  get: implement({
    params: { layerId: layerIdParam },
    data: Relationships,
    errors: [400, 404],
    answer: async ({ params }, deps) => relationshipsView(requireFeatures(params.layerId, deps), deps),
  }),
  set: implement({
    description: 'Takes the place of all relationships of the layer.',
    params: { layerId: layerIdParam },
    body: jsonBody(
      Type.Object({ relationships: Type.Array(RelationshipInput, { maxItems: RELATIONSHIPS }) }),
    ),
    data: Relationships,
    errors: [400, 404],
    async answer({ params, body, principal }, deps) {
      const collection = requireFeatures(params.layerId, deps);
      const related = body.relationships.map(readRelationship);
      requireRelationships(related, collection, deps);
      await deps.layers.put(
        collection,
        { relationships: related.length > 0 ? related : undefined },
        formatActor(principal),
      );
      return relationshipsView(collection, deps);
    },
  }),
};

const Check = Type.Object({
  code: Type.String(),
  severity: Type.Enum(['pass', 'warning', 'error']),
  message: Type.String(),
  expected: Type.Optional(Type.String()),
  actual: Type.Optional(Type.String()),
});
const Validation = Type.Object({
  layerId: Type.Integer(),
  layerName: Type.String(),
  isValid: Type.Boolean(),
  status: Type.Enum(['valid', 'warning', 'invalid']),
  storageSchema: OptionalStringSchema,
  storageTable: OptionalStringSchema,
  checkedAt: TimestampSchema,
  checks: Type.Array(Check),
});

export const validation = report('GET /metadata/layers/{layerId}/validation', 'Validate Layer Metadata', {
  description: 'Whether the settings of the layer fit its data.',
  params: { layerId: layerIdParam },
  data: Validation,
  errors: [400, 404],
  async answer({ params }, deps) {
    const collection = requireLayer(params.layerId, deps);
    const checks = checkLayer(collection, deps.layers.settingsOf(collection), deps.catalog().collections);
    const worst = (severity: string) => checks.some((one) => one.severity === severity);
    const source = hasFeatures(collection) ? collection.source : undefined;
    return {
      layerId: params.layerId,
      layerName: collection.title,
      isValid: !worst('error'),
      status: worst('error') ? 'invalid' : worst('warning') ? 'warning' : 'valid',
      storageSchema: source?.schema ?? null,
      storageTable: source?.table ?? null,
      checkedAt: timestamp(Date.now()),
      checks,
    };
  },
});

function requireLayer(id: number, { catalog }: Deps): Collection {
  const collection = catalog().byLayerId(id);
  if (!collection) throw layerFailure(catalog(), id);
  return collection;
}

/** The layer with all its fields. */
function requireFeatures(id: number, deps: Deps): VectorCollection {
  const collection = requireLayer(id, deps);
  if (!hasFeatures(collection)) throw notFound('layer with features', `${id}`);
  return whole(collection);
}

function fieldsView(collection: VectorCollection, { layers }: Deps): Static<typeof Fields> {
  const settings = new Map(layers.settingsOf(collection).fields?.map((one) => [one.name, one]));
  const views = collection.source.fields.map(({ name, type, title, range, generated = false }) => {
    const { hidden = false, domain, order = null } = settings.get(name) ?? {};
    return {
      name,
      type,
      alias: title ?? null,
      hidden,
      editable: !generated,
      order,
      domain:
        domain?.type === 'codedValue'
          ? { ...domain, codedValues: [...domain.codedValues] }
          : range
            ? { type: 'range' as const, name: domain?.name ?? name, range: [...range] }
            : null,
    };
  });
  return { layerId: collection.layerId, fields: views };
}

function readSettings({
  name,
  alias,
  hidden,
  editable,
  order,
  domain,
}: Static<typeof FieldChange>): FieldSettings {
  return {
    name,
    ...(alias ? { alias } : {}),
    ...(hidden ? { hidden } : {}),
    ...(editable === false ? { editable } : {}),
    ...(typeof order === 'number' ? { order } : {}),
    ...(domain ? { domain } : {}),
  };
}

/** Whether the change hides a field from all callers, or shows it again. */
function changesHidden(
  changes: readonly Static<typeof FieldChange>[],
  before: readonly FieldSettings[] = [],
): boolean {
  const isHidden = (name: string) => before.some((one) => one.name === name && one.hidden === true);
  return changes.some(({ name, hidden }) => (hidden ?? false) !== isHidden(name));
}

function requireFields(changes: readonly Static<typeof FieldChange>[], { source }: VectorCollection): void {
  requireSound(
    changes.map(({ name, domain }, n) => {
      const field = source.fields.find((one) => one.name === name);
      if (!field) return problem(`fields/${n}/name`, 'must be a field of the layer');
      const wrong = domain && domainProblem(field, domain);
      return wrong ? problem(`fields/${n}/domain`, wrong) : undefined;
    }),
  );
}

function filterView(collection: VectorCollection, { layers }: Deps): Static<typeof FilterView> {
  const { filter: permanent } = layers.settingsOf(collection);
  return { layerId: collection.layerId, permanentFilter: permanent ?? null };
}

function requireFilter(permanent: Parameters<typeof permanentRows>[0], collection: VectorCollection): void {
  try {
    permanentRows(permanent, collection);
  } catch (error) {
    if (!(error instanceof Cql2Error || error instanceof ApiError)) throw error;
    refuse(problem('permanentFilter/expression', error.message));
  }
}

function readRelationship(input: Static<typeof RelationshipInput>): Relationship {
  const { id, description, cardinality, role, esriRelationshipId, ...rest } = input;
  return {
    id: id ?? randomUUID(),
    description: description ?? null,
    cardinality: cardinality ?? 'one-to-many',
    role: role ?? 'origin',
    esriRelationshipId: esriRelationshipId ?? null,
    ...rest,
  };
}

function requireRelationships(
  related: readonly Relationship[],
  { source }: VectorCollection,
  { catalog }: Deps,
): void {
  const ids = related.map(({ id }) => id);
  requireSound(
    related.map(({ id, relatedLayerId, role, originField, destinationField }, n) => {
      if (ids.indexOf(id) < n) return problem(`relationships/${n}/id`, 'is given twice');
      const other = catalog().byLayerId(relatedLayerId);
      if (!hasFeatures(other))
        return problem(`relationships/${n}/relatedLayerId`, 'must be a layer with features');
      const [origin, destination] =
        role === 'origin' ? [source, whole(other).source] : [whole(other).source, source];
      if (!hasField(origin, originField))
        return problem(`relationships/${n}/originField`, 'must be a field of the origin');
      if (!hasField(destination, destinationField))
        return problem(`relationships/${n}/destinationField`, 'must be a field of the destination');
      return undefined;
    }),
  );
}

function relationshipsView(
  collection: VectorCollection,
  { layers, catalog }: Deps,
): Static<typeof Relationships> {
  const related = (layers.settingsOf(collection).relationships ?? []).map((one) => ({
    ...one,
    relatedLayerId: catalog().byLayerId(one.relatedLayerId) ? one.relatedLayerId : -1,
  }));
  return { layerId: collection.layerId, relationships: related };
}
