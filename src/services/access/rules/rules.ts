import {
  ANY,
  BUILT_IN_ROLES,
  CLOSED,
  type DataAccess,
  type FieldMask,
  type LayerName,
  listLayerNames,
  listPermissionLabels,
  OPEN_ACCESS,
  type Role,
  type RowPolicy,
  type RuleScope,
  SERVICE,
} from '../../../core/access/access.js';
import type { Collection } from '../../../core/catalog/collection.js';
import type { DocumentStore, StoredDocument } from '../../../stores/state/documents.js';
import type { Announcements } from '../../cluster/announcements.js';
import { HashKey } from '../keys/hash-key.js';
import type { StateCipher } from '../keys/state-cipher.js';
import type { HiddenParts, HidingSettings } from './hidden.js';
import { type LostRestrictions, NOTHING_LOST, type RuleDocuments, serviceAccessId } from './marker.js';
import { claimsIn } from './row-filter.js';

/** Document kinds of rules. The values appear in messages. */
export const RULE_KINDS = {
  role: 'role',
  rows: 'row-level policy',
  mask: 'field mask policy',
  access: 'access policy',
} as const;

/** Kind of the documents that list the sources of a copy. Their id is the id of the copy. */
export const DERIVATION_KIND = 'derivation';

const KINDS: ReadonlySet<string> = new Set([...Object.values(RULE_KINDS), DERIVATION_KIND]);

/** Whether documents of a kind are rules for layers. */
export const isRule = (kind: string) => KINDS.has(kind);
/** Whether documents of a kind determine rights of their holders, in contrast to rules for layers. */
export const givesRights = (kind: string) => kind === RULE_KINDS.role || !isRule(kind);

/** A source of a copy at the time of the copy. */
export interface CopySourceLayer extends LayerName {
  /**
   * Parts that the settings of the source hid from all callers (`hiddenBySettings`), and that the copy lacks.
   * Undefined if unknown. States before 2026-11-29 contain a hash.
   */
  readonly hidden?: HiddenParts | string;
  /** The copy is a second layer of the table of the source. */
  readonly isTable?: true;
  /** The copy is a second name of the file of the source. */
  readonly isTwin?: true;
}

export interface Derivation {
  readonly sources: readonly CopySourceLayer[];
  /** Settings by which an administrator chose the hidden parts of a second layer of a table. */
  readonly chosen?: HidingSettings;
}

interface Rules extends RuleDocuments {
  readonly roles: readonly Role[];
  readonly rows: readonly RowPolicy[];
  readonly masks: readonly FieldMask[];
  readonly derivations?: ReadonlyMap<string, Derivation>;
  /** Access of layers if neither the layer nor its service has an access policy. Default: open. */
  readonly defaultAccess?: DataAccess;
  /** Restrictions of a lost state. */
  readonly lost?: LostRestrictions;
  /** Key for hashes of masks. Undefined if no mask uses it, or it cannot be read. */
  readonly hashKey?: string | undefined;
}

/** Properties of a collection that rules evaluate. */
export type RuledLayer = Pick<Collection, 'id' | 'layerId' | 'service'>;

/** All rules at one time. Immutable: a change creates a new set. */
export class RuleSet {
  readonly #roles: ReadonlyMap<string, Role>;
  readonly #rows: ByLayer<RowPolicy>;
  readonly #masks: ByLayer<FieldMask>;
  readonly #access: ReadonlyMap<string, DataAccess>;
  readonly #derivations: ReadonlyMap<string, Derivation>;
  readonly #defaultAccess: DataAccess;
  /** Restrictions of another state that were not set again in this one. */
  readonly lost: LostRestrictions;
  /** Types of the claims that policies use. */
  readonly claimTypes: readonly string[];
  /** The claim types with comparisons other than list membership. */
  readonly exactClaimTypes: ReadonlySet<string>;
  /** Names of the roles that row policies or masks apply to. */
  readonly limitingRoles: ReadonlySet<string>;
  readonly hashKey: string | undefined;

  constructor(
    /** Counts changes. */
    readonly version: number,
    rules: Rules,
  ) {
    this.#roles = new Map([...BUILT_IN_ROLES, ...rules.roles].map((role) => [role.name, role]));
    this.#rows = new ByLayer(rules.rows);
    this.#masks = new ByLayer(rules.masks);
    this.#access = rules.access;
    this.#derivations = rules.derivations ?? new Map();
    this.#defaultAccess = rules.defaultAccess ?? OPEN_ACCESS;
    this.lost = rules.lost ?? NOTHING_LOST;
    this.hashKey = rules.hashKey;
    this.claimTypes = [...new Set(rules.rows.flatMap(listClaims))].sort();
    const isListed = ({ filter, comparison }: RowPolicy) => !filter && comparison === 'in';
    this.exactClaimTypes = new Set(rules.rows.filter((policy) => !isListed(policy)).flatMap(listClaims));
    this.limitingRoles = new Set([...rules.rows, ...rules.masks].map(({ role }) => role));
  }

  /** Names of all roles, the built-in ones first. */
  get roleNames(): string[] {
    return [...this.#roles.keys()];
  }

  role(name: string): Role | undefined {
    return this.#roles.get(name);
  }

  /** Permission labels of the existing roles in a list. */
  labelsOf(roles: readonly string[]): readonly string[] {
    const grants = roles.flatMap((name) => this.#roles.get(name)?.permissions ?? []);
    return [...new Set(grants.flatMap(listPermissionLabels))];
  }

  get accessOfService(): DataAccess {
    return this.#access.get(ANY) ?? (this.lost.hasService(SERVICE) ? CLOSED : this.#defaultAccess);
  }

  /** Access policy of a service. Default: the policy of the default service. */
  accessOfNamed(service: string): DataAccess {
    const own = this.#access.get(serviceAccessId(service));
    return own ?? (this.lost.hasService(service) ? CLOSED : this.accessOfService);
  }

  /** Access policy of a collection: of its layer, else of its service, else of the default service. */
  accessOf(layer: RuledLayer): DataAccess {
    if (this.isLost(layer)) return CLOSED;
    return this.#access.get(this.accessIdOf(layer)) ?? this.#defaultAccess;
  }

  /**
   * Whether a lost state closes the collection to all users except administrators. The lost state restricted it, or a
   * layer with the same table or file (`findFormer`). A policy for the collection opens it again.
   */
  isLost({ id, layerId, service = SERVICE }: RuledLayer): boolean {
    if (this.#hasPolicy({ id, layerId })) return false;
    return this.lost.hasLayer(id, service) || this.#formerOf(id).length > 0;
  }

  /** Layers that a lost state restricted, and whose table or file the collection has. Empty if the collection has a policy. */
  findFormer({ id, layerId }: RuledLayer): readonly string[] {
    return this.#hasPolicy({ id, layerId }) ? [] : this.#formerOf(id);
  }

  #hasPolicy(layer: Pick<RuledLayer, 'id' | 'layerId'>): boolean {
    return listLayerNames(layer).some((name) => this.#access.has(name));
  }

  #formerOf(id: string): readonly string[] {
    return this.lost.findFormer(id, this.sourcesOf(id));
  }

  /** Id of the access policy of a collection. If no policy is stored, the id of the default service. */
  accessIdOf({ id, layerId, service = SERVICE }: RuledLayer): string {
    const ids = [...listLayerNames({ id, layerId }), serviceAccessId(service)];
    return ids.find((one) => this.#access.has(one)) ?? ANY;
  }

  /** The layers that a collection is a copy of. */
  sourcesOf(id: string): readonly CopySourceLayer[] {
    return this.#derivations.get(id)?.sources ?? [];
  }

  /** Settings by which an administrator chose the hidden parts of a second layer of a table. */
  chosenOf(id: string): HidingSettings | undefined {
    return this.#derivations.get(id)?.chosen;
  }

  /** Row policies of a collection, for all roles. */
  rowPolicies(collection: RuledLayer): readonly RowPolicy[] {
    return this.#rows.of(collection);
  }

  masks(collection: RuledLayer): readonly FieldMask[] {
    return this.#masks.of(collection);
  }
}

/** Types of the claims that a policy uses. */
function listClaims({ claimType, filter }: RowPolicy): string[] {
  const types = claimType === null ? [] : [claimType];
  try {
    return filter ? [...types, ...claimsIn(filter)] : types;
  } catch {
    // A policy with an invalid filter closes its layers regardless of claims.
    return types;
  }
}

/** Rules by the layers that they name. */
class ByLayer<R extends RuleScope> {
  readonly #rules = new Map<string, R[]>();

  constructor(rules: readonly R[]) {
    for (const rule of rules) {
      const before = this.#rules.get(rule.layer);
      if (before) before.push(rule);
      else this.#rules.set(rule.layer, [rule]);
    }
  }

  of({ id, layerId, service: own = SERVICE }: RuledLayer): readonly R[] {
    const names = [ANY, ...listLayerNames({ id, layerId })];
    const named = names.flatMap((name) => this.#rules.get(name) ?? []);
    return named.filter(({ service }) => service === ANY || service === own);
  }
}

export const NO_RULES = new RuleSet(0, { roles: [], rows: [], masks: [], access: new Map() });

/** Documents of a change of access. `all` if missed changes make the documents unknown. */
export type AccessSubjects = readonly { readonly kind: string; readonly id: string }[] | 'all';

export interface RuleChange {
  readonly before: RuleSet;
  readonly after: RuleSet;
  readonly subjects: AccessSubjects;
}

/** Whether changes of documents of a kind concern a listener. */
export type Concern = (kind: string) => boolean;

const concernsAll: Concern = () => true;

export interface RuleOptions {
  /** Access of layers without an access policy. Default: open. */
  readonly defaultAccess?: DataAccess;
  /** Stores the restrictions next to the data, and returns those of lost states. */
  readonly marker?: { update(rules: RuleDocuments): Promise<LostRestrictions> };
}

/**
 * The active rules. They are stored as documents, and every process of the state follows them. A marker next to the data
 * contains the names of restricted layers. After a loss of the state database, the new state reads the marker, and keeps
 * these layers closed until an administrator sets their policies again.
 */
export class AccessRules {
  #current = NO_RULES;
  #lost: Rules['lost'];
  readonly #documents: DocumentStore;
  readonly #hashKey: HashKey;
  readonly #listeners = new Set<{ changed(change: RuleChange): void; readonly concerns: Concern }>();
  readonly #others: { load(): Promise<void>; readonly concerns: Concern }[] = [];
  #rules: Rules | undefined;

  constructor(
    documents: DocumentStore,
    announcements: Pick<Announcements, 'on'>,
    sealing: StateCipher,
    private readonly options: RuleOptions = {},
  ) {
    this.#documents = documents;
    this.#hashKey = new HashKey(documents, sealing);
    announcements.on('access', (subjects) => this.load(subjects as AccessSubjects));
  }

  get current(): RuleSet {
    return this.#current;
  }

  /** Calls the listener after each change that concerns it. Returns a function that stops this. */
  follow(changed: (change: RuleChange) => void, concerns: Concern = concernsAll): () => void {
    const listener = { changed, concerns };
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Loads another component after each change that concerns it, before the change counts as applied. */
  loadWith(load: () => Promise<void>, concerns: Concern): void {
    this.#others.push({ load, concerns });
  }

  /**
   * Writes the marker again after settings of layers or the catalog have changed. Does nothing before the first load.
   */
  async mark(): Promise<void> {
    if (!this.#rules) return;
    const lost = await this.options.marker?.update(this.#rules);
    if (this.#current !== NO_RULES && isOther(lost, this.#lost)) this.#apply(this.#rules, lost, 'all');
  }

  /** Applies a change: loads the changed documents, and notifies the listeners. */
  async load(subjects: AccessSubjects = 'all'): Promise<void> {
    const concerned = this.#others.filter(({ concerns }) => isAbout(subjects, concerns));
    const others = Promise.all(concerned.map((one) => one.load()));
    if (isAbout(subjects, isRule)) return this.#loadRules(subjects, others);
    await others;
    this.#tell({ before: this.#current, after: this.#current, subjects });
  }

  async #loadRules(subjects: AccessSubjects, others: Promise<unknown>): Promise<void> {
    const list = <T>(kind: string) => this.#documents.list<T>(kind);
    const [roles, rows, masks, access, derivations] = await Promise.all([
      list<Role>(RULE_KINDS.role),
      list<RowPolicy>(RULE_KINDS.rows),
      list<FieldMask>(RULE_KINDS.mask),
      list<DataAccess>(RULE_KINDS.access),
      list<Derivation>(DERIVATION_KIND),
    ]);
    await others;
    const hashes = masks.some(({ body }) => body.treatment === 'hash');
    const hashKey = hashes ? await this.#hashKey.read() : undefined;
    const { defaultAccess = OPEN_ACCESS, marker } = this.options;
    const rules: Rules = {
      roles: roles.map(bodyOf),
      rows: rows.map(bodyOf),
      masks: masks.map(bodyOf),
      access: new Map(access.map(({ id, body }) => [id, body])),
      derivations: new Map(derivations.map(({ id, body }) => [id, body])),
      defaultAccess,
      hashKey,
    };
    this.#rules = rules;
    // Lost restrictions are unknown until the first reading of the marker. Later changes apply immediately, like
    // changes of the catalog.
    if (this.#current !== NO_RULES) this.#apply(rules, this.#lost, subjects);
    // `load` resolves after the marker is written: if the state were lost before, the data would be open.
    const lost = await marker?.update(rules);
    if (this.#current === NO_RULES || isOther(lost, this.#lost)) this.#apply(rules, lost, subjects);
  }

  #apply(rules: Rules, lost: Rules['lost'], subjects: AccessSubjects): void {
    this.#lost = lost;
    const before = this.#current;
    const after = new RuleSet(before.version + 1, { ...rules, ...(lost ? { lost } : {}) });
    this.#current = after;
    this.#tell({ before, after, subjects });
  }

  #tell(change: RuleChange): void {
    for (const { changed, concerns } of this.#listeners)
      if (isAbout(change.subjects, concerns)) changed(change);
  }
}

const isOther = (one: Rules['lost'], other: Rules['lost']) =>
  (one ?? NOTHING_LOST).signature !== (other ?? NOTHING_LOST).signature;

const isAbout = (subjects: AccessSubjects, concerns: Concern) =>
  subjects === 'all' || subjects.some(({ kind }) => concerns(kind));

const bodyOf = <T>({ body }: StoredDocument<T>): T => body;
