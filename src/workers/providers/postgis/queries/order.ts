import { TaskFailure } from '../../../../core/errors/failure.js';
import type { PageKey, SortKey } from '../../../../core/features/features.js';
import { findField } from '../../../../core/features/features.js';
import type { PostgisSource } from '../../../../core/sources/vector-source.js';
import { readIntegerId } from '../../integer-ids.js';
import type { SqlParams } from '../connections/params.js';
import { buildCompositeCondition, findCompositeKey, parseCompositeId } from '../edits/composite-keys.js';
import { column } from '../schema/names.js';

/** One key of an order. NULL is greater than every value, as PostgreSQL's indexes have it. */
interface OrderKey {
  name: string;
  sqlType: string;
  nullable: boolean;
  descending: boolean;
}

const ID_TYPES: Record<PostgisSource['idType'], string> = { integer: 'int8', string: 'text', uuid: 'uuid' };

/** An order of features: the sort keys, then the id. */
export class Order {
  readonly #keys: OrderKey[];
  readonly #ids: OrderKey[];

  constructor(
    private readonly source: PostgisSource,
    sort: readonly SortKey[],
    backwards: boolean,
  ) {
    this.#keys = sort.map((key) => orderKey(source, key, backwards));
    this.#ids = idKeys(source, backwards);
  }

  /** Columns of a row's page key, in addition to the id, as text that PostgreSQL reads back exactly. */
  get keyColumns(): string[] {
    return this.#keys.map(({ name }) => `${column(name)}::text`);
  }

  get orderBy(): string {
    return this.#all.map(({ name, descending }) => `${column(name)}${descending ? ' DESC' : ''}`).join(', ');
  }

  get #all(): OrderKey[] {
    return [...this.#keys, ...this.#ids];
  }

  /** The condition on rows that follow a key. */
  after(key: PageKey, params: SqlParams): string {
    if (key.values.length !== this.#keys.length)
      throw new TaskFailure('invalid-input', 'The page key does not belong to this order.');
    const composite = findCompositeKey(this.source);
    const ids = composite ? parseCompositeId(composite, key.id) : [key.id];
    if (!ids) throw new TaskFailure('invalid-input', 'The page key does not belong to this order.');
    const places = [
      ...this.#keys.map((order, i) => readPlace(order, key.values[i]!, params)),
      ...this.#ids.map((order, i) => readPlace(order, ids[i]!, params)),
    ];
    return asRow(this.#all, places) ?? asChoices(places);
  }
}

/** Conditions that compare a row with the value of one key: it follows, or it is equal. */
interface Place {
  column: string;
  value: string | null;
  follows: string;
  same: string;
}

function readPlace(key: OrderKey, value: string | number | boolean | null, params: SqlParams): Place {
  const name = column(key.name);
  if (value === null) {
    return {
      column: name,
      value,
      follows: key.descending ? `${name} IS NOT NULL` : 'FALSE',
      same: `${name} IS NULL`,
    };
  }
  const param = params.add(value, key.sqlType);
  const greater = key.nullable ? `(${name} > ${param} OR ${name} IS NULL)` : `${name} > ${param}`;
  return {
    column: name,
    value: param,
    follows: key.descending ? `${name} < ${param}` : greater,
    same: `${name} = ${param}`,
  };
}

/**
 * Returns one row comparison, for which an index over the keys is used. Undefined unless all keys have the same
 * direction and no NULL.
 */
function asRow(keys: readonly OrderKey[], places: readonly Place[]): string | undefined {
  const alike = keys.every(({ nullable, descending }) => !nullable && descending === keys[0]!.descending);
  if (!alike) return undefined;
  const names = places.map((place) => place.column).join(', ');
  const values = places.map((place) => place.value).join(', ');
  return `(${names}) ${keys[0]!.descending ? '<' : '>'} (${values})`;
}

function asChoices(places: readonly Place[]): string {
  const choices = places.map((place, i) =>
    [...places.slice(0, i).map(({ same }) => same), place.follows].join(' AND '),
  );
  return `(${choices.map((choice) => `(${choice})`).join(' OR ')})`;
}

function orderKey(source: PostgisSource, { field: name, descending }: SortKey, backwards: boolean): OrderKey {
  if (name === source.idColumn) return { ...idKey(source, backwards), descending: descending !== backwards };
  const field = findField(source, name);
  if (!field || field.type === 'json' || field.type === 'binary')
    throw new TaskFailure('invalid-input', `Features cannot be sorted by '${name}'.`);
  const { nullable, sqlType = 'text' } = field;
  return { name, sqlType, nullable, descending: descending !== backwards };
}

function idKey(source: PostgisSource, backwards: boolean): OrderKey {
  return { name: source.idColumn, sqlType: ID_TYPES[source.idType], nullable: false, descending: backwards };
}

/** Last keys of the order. Composite keys use their own columns, because their index has that order. */
function idKeys(source: PostgisSource, backwards: boolean): OrderKey[] {
  const parts = findCompositeKey(source)?.parts;
  return parts
    ? parts.map(({ name, sqlType = 'text' }) => ({ name, sqlType, nullable: false, descending: backwards }))
    : [idKey(source, backwards)];
}

/** The type that values of a field, or of the id column, are compared as. */
export function keyType(source: PostgisSource, name: string): string {
  if (name === source.idColumn) return ID_TYPES[source.idType];
  return findField(source, name)?.sqlType ?? 'text';
}

/** The condition on the row of an id; undefined when no row can have it. */
export function idIs(source: PostgisSource, id: string, params: SqlParams): string | undefined {
  const composite = findCompositeKey(source);
  if (composite) return buildCompositeCondition(composite, id, params);
  if (!isId(source, id)) return undefined;
  return `${column(source.idColumn)} = ${params.add(id, ID_TYPES[source.idType])}`;
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

function isId(source: PostgisSource, id: string): boolean {
  switch (source.idType) {
    case 'integer':
      // Written the one way that we write it, so that a feature has one URL.
      return readIntegerId(id) !== undefined;
    case 'uuid':
      return UUID.test(id);
    case 'string':
      return !id.includes('\u0000');
  }
}
