import { type CatalogSnapshot, whole } from '../../core/collection.js';
import { isLost, isUsable } from './policy.js';
import type { RuleSet } from './rules.js';

/** A rule that cannot be kept any more: the layer is closed for those whom it is about. */
export interface Finding {
  readonly collection: string;
  readonly role: string;
  readonly message: string;
}

/** The rules that name attributes which are gone, or are of another type by now. */
export function findingsOf(rules: RuleSet, { vectors }: CatalogSnapshot): Finding[] {
  return vectors.map(whole).flatMap((collection) => [
    ...rules
      .rowPolicies(collection)
      .filter((policy) => !isUsable(policy, collection))
      .map((policy) => finding(collection.id, policy, 'a policy for rows')),
    ...rules
      .masks(collection)
      .filter((mask) => isLost(mask, collection))
      .map((mask) => finding(collection.id, mask, 'a field mask')),
  ]);
}

function finding(
  collection: string,
  { role, attribute }: { role: string; attribute: string | null },
  by: string,
): Finding {
  const message = `${collection} is closed for the role ${role}: ${by} names ${attribute === null ? 'attributes' : `'${attribute}'`} that the layer does not have, or not of that type.`;
  return { collection, role, message };
}

/** Tells each finding once, for as long as it lasts. */
export class FindingWatch {
  #last: ReadonlySet<string> = new Set();

  constructor(private readonly tell: (finding: Finding) => void) {}

  look(rules: RuleSet, catalog: CatalogSnapshot): void {
    const findings = findingsOf(rules, catalog);
    for (const one of findings) if (!this.#last.has(one.message)) this.tell(one);
    this.#last = new Set(findings.map(({ message }) => message));
  }
}
