import { expect, it } from 'vitest';
import { maskSecrets } from '../../../src/core/diagnostics/secrets.js';
import { HARMLESS_TEXTS, SECRET_TEXTS } from '../support/secret-corpus.js';

it('finds 60 of 60 secrets, and nothing in 60 harmless texts', async () => {
  const missed: string[] = [];
  for (const { text, secret } of SECRET_TEXTS) {
    const { text: masked } = await maskSecrets(text);
    // No half of the secret remains either.
    const half = Math.ceil(secret.length / 2);
    if (masked.includes(secret.slice(0, half)) || masked.includes(secret.slice(-half))) missed.push(text);
  }
  const found: string[] = [];
  for (const text of HARMLESS_TEXTS) {
    const masked = await maskSecrets(text);
    if (masked.removed > 0) found.push(`${text} -> ${masked.text}`);
  }
  expect({ missed, found }).toEqual({ missed: [], found: [] });
  expect([SECRET_TEXTS.length, HARMLESS_TEXTS.length]).toEqual([60, 60]);
});

it('keeps the text around a secret', async () => {
  expect((await maskSecrets('/items?token=abcdef0123456789&limit=10')).text).toBe(
    '/items?token=[token]&limit=10',
  );
  expect((await maskSecrets('{"password":"open sesame","a":1}')).text).toBe(
    '{"password":"[password]","a":1}',
  );
});
