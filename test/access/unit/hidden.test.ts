import { describe, expect, it } from 'vitest';
import { hidesAtMost, lackedParts } from '../../../src/services/access/rules/hidden.js';

describe('a copy whose source hides', () => {
  it.each([
    ['nothing', { fields: [] }, true],
    ['a field that it lacks', { fields: ['a'] }, true],
    ['a field that it has', { fields: ['a', 'b'] }, false],
    ['rows', { rows: 'f', fields: [] }, false],
  ])('%s shows as much as the source: %j %s', (_, now, isShown) => {
    expect(hidesAtMost(now, { fields: ['a'] })).toBe(isShown);
  });

  it('something is closed where a hash of an earlier release says what it lacks', () => {
    for (const hash of ['', '0123456789abcdef']) {
      expect(hidesAtMost({ fields: [] }, lackedParts(hash))).toBe(true);
      expect(hidesAtMost({ fields: ['a'] }, lackedParts(hash))).toBe(false);
      expect(hidesAtMost({ rows: 'f', fields: [] }, lackedParts(hash))).toBe(false);
    }
  });
});
