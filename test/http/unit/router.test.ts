import { describe, expect, it } from 'vitest';
import { defineOperation, type Operation } from '../../../src/core/http/operation.js';
import { Router } from '../../../src/gateway/http/router.js';

function operation(path: string): Operation {
  return defineOperation({
    id: path,
    method: 'GET',
    path,
    surface: 'site',
    protocol: 'Site',
    summary: path,
    permission: 'public',
    responses: {},
    run: () => ({ status: 204 }),
  });
}

describe('the router', () => {
  const router = new Router(
    ['/', '/docs', '/docs/{surface}', '/ogc/features/', '/ogc/features/collections'].map(operation),
  );
  const templateOf = (path: string) => router.find(path)?.route.template;

  it.each([
    ['/', '/'],
    ['/docs', '/docs'],
    ['/docs/', '/docs'],
    ['/docs/tiles', '/docs/{surface}'],
    ['/ogc/features', '/ogc/features/'],
    ['/ogc/features/', '/ogc/features/'],
    ['/ogc/features/collections', '/ogc/features/collections'],
    ['/ogc/features/collections/', '/ogc/features/collections'],
  ])('finds %s at %s, with or without a trailing slash', (path, template) =>
    expect(templateOf(path)).toBe(template),
  );

  it.each(['', '/docs//', '/ogc', '/ogc/features//', '/docs/a/b', '/docs/%zz'])(
    'finds nothing at %j',
    (path) => expect(templateOf(path)).toBeUndefined(),
  );

  it('goes back where a literal leads nowhere, and forgets what it had taken for a parameter', () => {
    const forks = new Router(
      ['/{set}/tiles/{tile}', '/maps/{map}/legend', '/{set}/{map}/{kind}/legend'].map(operation),
    );
    const found = (path: string) => {
      const match = forks.find(path);
      return match && [match.route.template, match.values];
    };
    expect(found('/maps/1/legend')).toEqual(['/maps/{map}/legend', ['1']]);
    expect(found('/maps/tiles/7')).toEqual(['/{set}/tiles/{tile}', ['maps', '7']]);
    expect(found('/maps/1/png/legend')).toEqual(['/{set}/{map}/{kind}/legend', ['maps', '1', 'png']]);
    expect(found('/maps/1/png/other')).toBeUndefined();
  });
});
