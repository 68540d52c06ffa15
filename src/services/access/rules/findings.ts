import { hasFeatures } from '../../../core/catalog/abilities.js';
import type { ChangedCollection } from '../../../core/catalog/catalog-change.js';
import {
  type CatalogSnapshot,
  type Collection,
  type VectorCollection,
  whole,
} from '../../../core/catalog/collection.js';
import type { LostRestrictions } from './marker.js';
import { isLost, isUsable } from './policy.js';
import type { RuleSet } from './rules.js';

/** A rule that can no longer be applied. The layer is closed for the callers of the rule. */
export interface Finding {
  readonly collection: string;
  readonly role: string;
  readonly message: string;
}

/** Rules that name deleted attributes, or attributes whose type changed. */
function findFindings(rules: RuleSet, shown: VectorCollection): Finding[] {
  const collection = whole(shown);
  return [
    ...rules
      .rowPolicies(collection)
      .filter((policy) => !isUsable(policy, collection))
      .map((policy) => finding(collection.id, policy, 'a policy for rows')),
    ...rules
      .masks(collection)
      .filter((mask) => isLost(mask, collection))
      .map((mask) => finding(collection.id, mask, 'a field mask')),
  ];
}

function finding(
  collection: string,
  { role, attribute }: { role: string; attribute: string | null },
  by: string,
): Finding {
  const message = `layer ${collection} is hidden from role ${role}: ${by} refers to ${attribute === null ? 'columns' : `column '${attribute}'`} that the layer does not have or that has another type`;
  return { collection, role, message };
}

/** Layers that are closed now, and the reasons. */
export function listClosedLayers(
  rules: RuleSet,
  catalog: CatalogSnapshot,
): Pick<Finding, 'collection' | 'message'>[] {
  return [
    ...catalog.vectors.flatMap((one) => findFindings(rules, one)),
    ...describeRenames(rules, catalog).map(({ collection, warning: message }) => ({ collection, message })),
  ];
}

/** Reports each finding once, for as long as it lasts. */
export class FindingWatch {
  /** Findings by collection. Collections without findings are omitted. */
  #last: ReadonlyMap<string, readonly Finding[]> = new Map();

  constructor(private readonly tell: (finding: Finding) => void) {}

  /** The rules changed. */
  look(rules: RuleSet, { vectors }: CatalogSnapshot): void {
    const all = vectors.map((one) => [one.id, findFindings(rules, one)] as const);
    this.#show(new Map(all.filter(([, findings]) => findings.length > 0)));
  }

  /** Collections changed. */
  follow(rules: RuleSet, changed: readonly ChangedCollection[]): void {
    const current = new Map(this.#last);
    for (const { before, after } of changed) {
      if (before) current.delete(before.id);
      const findings = hasFeatures(after) ? findFindings(rules, after) : [];
      if (after && findings.length > 0) current.set(after.id, findings);
    }
    this.#show(current);
  }

  #show(current: ReadonlyMap<string, readonly Finding[]>): void {
    const messages = new Set([...this.#last.values()].flat().map(({ message }) => message));
    this.#last = current;
    for (const one of [...current.values()].flat()) if (!messages.has(one.message)) this.tell(one);
  }
}

/** Reports the collections that are closed as they have the table or file of a restricted layer, once for as long as that lasts. */
export class RenameWatch {
  readonly #closed = new Set<string>();

  constructor(private readonly tell: (collection: string, former: string, message: string) => void) {}

  /** The rules changed. */
  look(rules: RuleSet, { collections }: CatalogSnapshot): void {
    for (const one of collections) this.#look(rules, one);
  }

  /** Collections changed. */
  follow(rules: RuleSet, changed: readonly ChangedCollection[]): void {
    for (const { before, after } of changed)
      if (after) this.#look(rules, after);
      else if (before) this.#closed.delete(before.id);
  }

  #look(rules: RuleSet, collection: Collection): void {
    const { id } = collection;
    const [former] = rules.findFormer(collection);
    if (former === undefined) this.#closed.delete(id);
    else if (!this.#closed.has(id)) {
      this.#closed.add(id);
      this.tell(id, former, describeRename(id, former));
    }
  }
}

/** The warnings of collections that are closed until an operator decides. */
export function describeRenames(
  rules: RuleSet,
  { collections }: CatalogSnapshot,
): { collection: string; warning: string }[] {
  return collections.flatMap((one) =>
    rules
      .findFormer(one)
      .slice(0, 1)
      .map((former) => ({ collection: one.id, warning: describeRename(one.id, former) })),
  );
}

function describeRename(id: string, former: string): string {
  return `layer ${id} is hidden from all but administrators: its table or file belongs to the restricted layer ${former}. Restore that name, or set the policies of ${id}, its access policy last.`;
}

/** Maximum names in a message. */
const MAX_NAMES = 20;

/** Reports the layers that are closed because their state was lost, once for as long as that lasts. */
export class LossWatch {
  #last: ReadonlySet<string> = new Set();

  constructor(private readonly tell: (message: string) => void) {}

  look(lost: LostRestrictions): void {
    const names = lost.names();
    if (names.some((name) => !this.#last.has(name))) this.tell(describeLoss(lost, names));
    this.#last = new Set(names);
  }
}

function describeLoss({ marks }: LostRestrictions, names: readonly string[]): string {
  const cause = marks.some(({ state }) => state === null)
    ? 'The seal of restricted.json is not valid: the file or security.stateKey was changed, or another state wrote it.'
    : 'A different state database restricted layers of this data folder.';
  const shown = names.slice(0, MAX_NAMES).join(', ');
  const more = names.length > MAX_NAMES ? ` and ${names.length - MAX_NAMES} more` : '';
  return `${cause} Only administrators can read: ${shown}${more}. Restore the previous state database, or set an access policy for each layer or its service.`;
}
