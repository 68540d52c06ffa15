import { expect, it } from 'vitest';
import type { Collection } from '../../../src/core/catalog/collection.js';
import { MemberTexts } from '../../../src/gateway/surface/member-texts.js';

const make = (id: string) => ({ id }) as Collection;

it('writes each collection once for a base URL, in the order of the list', () => {
  const texts = new MemberTexts();
  const [a, b] = [make('a'), make('b')];
  const described: string[] = [];
  const write = (baseUrl: string, of: Collection[]) =>
    JSON.parse(
      texts.write(
        baseUrl,
        of,
        ({ id }) => {
          described.push(`${baseUrl} ${id}`);
          return { id, href: `${baseUrl}/${id}` };
        },
        { links: [] },
      ),
    );
  expect(write('http://x', [a, b])).toEqual({
    collections: [
      { id: 'a', href: 'http://x/a' },
      { id: 'b', href: 'http://x/b' },
    ],
    links: [],
  });
  expect(write('http://x', [b, a]).collections.map(({ id }: Collection) => id)).toEqual(['b', 'a']);
  expect(described).toEqual(['http://x a', 'http://x b']);
  // A collection that changed is another object.
  write('http://x', [make('a')]);
  expect(write('http://y', [a]).collections[0].href).toBe('http://y/a');
  expect(described.slice(2)).toEqual(['http://x a', 'http://y a']);
  expect(write('http://x', [])).toEqual({ collections: [], links: [] });
});
