/** A source of facts for support. Only the named fields of its items leave the machine. */
export interface FactCollector {
  readonly name: string;
  /** Names of the fields that the file contains. */
  readonly fields: readonly string[];
  /** Returns one item, or a list of them. Throws if the facts are not available. */
  collect(): Promise<object | readonly object[]>;
}

/** Facts of a collector, and names of the omitted fields. */
export interface FactSelection {
  readonly value: unknown;
  readonly omitted: readonly string[];
}

/** Copies the named fields of the items of a collector. */
export async function collectFields({ fields, collect }: FactCollector): Promise<FactSelection> {
  const found = await collect();
  const omitted = new Set<string>();
  const pick = (item: object) => {
    const entries = Object.entries(item);
    for (const [name] of entries) if (!fields.includes(name)) omitted.add(name);
    return Object.fromEntries(entries.filter(([name]) => fields.includes(name)));
  };
  const value = Array.isArray(found) ? found.map(pick) : pick(found);
  return { value, omitted: [...omitted].sort() };
}
