import { describe, expect, it } from 'vitest';
import { hideSecrets, hideSecretsIn } from '../../../src/core/sources/hidden-secrets.js';

describe('secrets in texts of settings', () => {
  it.each([
    ['https://me:pass@host/path?f=1', 'https://***@host/path?f=1'],
    ['https://me:p@ss@host/path', 'https://***@host/path'],
    ['https://me:p/ss@host/path', 'https://***@host/path'],
    ['postgres://me:pass@host/db', 'postgres://me@host/db'],
    ['https://host/x?sig=abc&se=1', 'https://host/x?sig=***&se=1'],
    ['https://host/x?X-Amz-Signature=abc', 'https://host/x?X-Amz-Signature=***'],
    ['https://host/x?api%4Bey=abc', 'https://host/x?api%4Bey=***'],
    ["host=a password='b c' dbname=d", 'host=a password=*** dbname=d'],
    ['a@b.example', 'a@b.example'],
    ['demo/data', 'demo/data'],
  ])('%s', (text, shown) => {
    expect(hideSecrets(text)).toBe(shown);
  });

  it('masks members of objects in lists, and names', () => {
    const value = [{ url: 'https://u:p@h/', apiKey: 'k', nested: { password: 'x', secret: '' } }];
    expect(hideSecretsIn(value)).toEqual([
      { url: 'https://***@h/', apiKey: '***', nested: { password: '***', secret: '' } },
    ]);
    expect(hideSecretsIn({ 'mysql://u:p@h/d': 1, n: null })).toEqual({ 'mysql://***@h/d': 1, n: null });
  });
});
