import Type from 'typebox';
import { describe, expect, it } from 'vitest';
import { memberBinder } from '../../src/core/http/member-binder.js';

const Optional = Type.Optional;
const Body = Type.Object({
  name: Type.String(),
  note: Optional(Type.String()),
  cleared: Optional(Type.Union([Type.String(), Type.Null()])),
  kind: Optional(Type.Enum(['a', 'b'])),
  scope: Optional(Type.Object({ roleName: Type.String(), limit: Optional(Type.Integer()) })),
  grants: Optional(Type.Array(Type.Object({ layerId: Type.Integer() }))),
  labels: Optional(Type.Record(Type.String(), Type.String())),
  shapes: Optional(Type.Record(Type.String(), Type.Object({ sideLength: Type.Number() }))),
  style: Optional(Type.Object({})),
  anything: Optional(Type.Unknown()),
  domain: Optional(
    Type.Union([
      Type.Object({ type: Type.Literal('coded'), codedValues: Type.Array(Type.String()) }),
      Type.Object({ type: Type.Literal('range'), maxValue: Type.Number() }),
      Type.Null(),
    ]),
  ),
  strict: Optional(Type.Object({ allowAll: Optional(Type.Boolean()) }, { additionalProperties: false })),
  record: Optional(Type.Object({ runId: Type.String() }, { additionalProperties: true })),
});
const bind = memberBinder(Body)!;

describe('members of bodies', () => {
  it.each<[title: string, sent: object, bound: object]>([
    ['bind in any case', { NAME: 'x', Note: 'y' }, { name: 'x', note: 'y' }],
    [
      'bind in objects and lists',
      { Scope: { ROLENAME: 'r' }, grants: [{ LayerID: 1 }] },
      { scope: { roleName: 'r' }, grants: [{ layerId: 1 }] },
    ],
    ['keep the keys of maps', { Labels: { Name: 'a', name: 'b' } }, { labels: { Name: 'a', name: 'b' } }],
    [
      'bind in the values of maps',
      { shapes: { Big: { SIDELENGTH: 2 } } },
      { shapes: { Big: { sideLength: 2 } } },
    ],
    [
      'keep free objects',
      { style: { Version: 8, Layers: [{ Id: 1 }] } },
      { style: { Version: 8, Layers: [{ Id: 1 }] } },
    ],
    ['keep values of any kind', { anything: { A: null } }, { anything: { A: null } }],
    [
      'bind in the alternative that the type names',
      { domain: { TYPE: 'range', MAXVALUE: 3 } },
      { domain: { type: 'range', maxValue: 3 } },
    ],
    [
      'bind in the first alternative without a type',
      { domain: { CodedValues: ['a'] } },
      { domain: { codedValues: ['a'] } },
    ],
    [
      'are absent when they are null and optional',
      { note: null, KIND: null, scope: null, grants: null, labels: null, style: null },
      {},
    ],
    [
      'are null where null has a meaning',
      { cleared: null, domain: null, anything: null },
      { cleared: null, domain: null, anything: null },
    ],
    ['are null where they are required', { name: null }, { name: null }],
    [
      'are absent when they are null and nested',
      { scope: { RoleName: 'r', limit: null } },
      { scope: { roleName: 'r' } },
    ],
    [
      'are dropped when the schema does not name them',
      { name: 'x', isAdmin: true, scope: { roleName: 'r', evil: 1 } },
      { name: 'x', scope: { roleName: 'r' } },
    ],
    [
      'are kept for the check that refuses them',
      { strict: { AllowAll: true, allowAl: false } },
      { strict: { allowAll: true, allowAl: false } },
    ],
    ['are kept in records', { record: { RunId: '1', Other: null } }, { record: { runId: '1', Other: null } }],
  ])('%s', (_title, sent, bound) => {
    expect(bind(sent)).toEqual(bound);
  });

  it.each<[value: unknown]>([[[]], ['text'], [null], [1]])('leave %j to the check', (value) => {
    expect(bind(value)).toEqual(value);
  });

  it('are refused when they are given in two cases', () => {
    expect(() => bind({ scope: { roleName: 'a', RoleName: 'b' } })).toThrow(
      expect.objectContaining({
        status: 400,
        message: expect.stringMatching(
          /^scope\.roleName: is given more than once, in different case\. Send roleName once\.$/,
        ),
      }),
    );
  });

  it('survive names that all objects have', () => {
    const bound = bind(JSON.parse('{"name":"x","__proto__":{"note":"y"},"constructor":1}')) as object;
    expect(bound).toEqual({ name: 'x' });
    const kept = bind(JSON.parse('{"labels":{"__proto__":"y"}}')) as { labels: object };
    expect(Object.keys(kept.labels)).toEqual(['__proto__']);
  });

  it('need no binder where nothing has a name', () => {
    for (const schema of [
      Type.String(),
      Type.Object({}),
      Type.Array(Type.Integer()),
      Type.Union([Type.Object({}), Type.Null()]),
    ])
      expect(memberBinder(schema)).toBeUndefined();
  });
});
