import { describe, expect, it } from 'vitest';
import type { FieldMask, RowPolicy } from '../../../src/core/access/access.js';
import type { ArchiveCollection } from '../../../src/core/catalog/collection.js';
import { ANONYMOUS } from '../../../src/core/http/operation.js';
import { rulePolicy } from '../../../src/services/access/rules/policy.js';
import { RuleSet } from '../../../src/services/access/rules/rules.js';

/** Tiles are stored with all of their features and attributes: a rule that takes some of them away closes the archive. */

type Rules = Partial<{ rows: RowPolicy[]; masks: FieldMask[] }>;

function isOpen(archive: Partial<ArchiveCollection>, rules: Rules): boolean {
  const set = new RuleSet(1, { roles: [], rows: [], masks: [], access: new Map(), ...rules });
  const collection = {
    ...{ kind: 'archive', id: 'towns', layerId: 7, format: 'mvt', vectorLayers: [], ...archive },
  } as unknown as ArchiveCollection;
  return rulePolicy(() => set)(ANONYMOUS, collection, 'read').allowed;
}

const layer = (...names: string[]) => ({
  id: 'places',
  fields: Object.fromEntries(names.map((name) => [name, 'String'])),
});
const mask = (attribute: string) => [
  { id: 'm', service: '*', layer: '*', role: 'anonymous', attribute } as unknown as FieldMask,
];

describe('an archive of vector tiles', () => {
  it('is closed by a mask for all layers of an attribute that it holds', () => {
    const vectorLayers = [layer('name'), layer('kind', 'owner')];
    expect(isOpen({ vectorLayers }, { masks: mask('owner') })).toBe(false);
    expect(isOpen({ vectorLayers }, { masks: mask('height') })).toBe(true);
    expect(isOpen({ vectorLayers }, {})).toBe(true);
  });

  it('is closed by each mask where its metadata does not list the attributes', () => {
    expect(isOpen({}, { masks: mask('height') })).toBe(false);
    expect(isOpen({ vectorLayers: [layer('name'), layer()] }, { masks: mask('height') })).toBe(false);
  });
});

describe('an archive of pictures', () => {
  it('has no attributes to hide, and is closed by policies for rows alone', () => {
    expect(isOpen({ format: 'png' }, { masks: mask('height') })).toBe(true);
    const rows = [{ id: 'r', service: '*', layer: '*', role: 'anonymous' } as unknown as RowPolicy];
    expect(isOpen({ format: 'png' }, { rows })).toBe(false);
  });
});
