import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { ANONYMOUS, type Reply } from '../../src/core/http/operation.js';
import { compileSchema } from '../../src/core/http/schema-check.js';
import type { AdminDeps } from '../../src/gateway/admin/deps.js';
import type { RunServices } from '../../src/gateway/admin/row-run.js';
import { Dispatcher } from '../../src/gateway/http/dispatch.js';
import { openApiDocument } from '../../src/gateway/http/openapi.js';
import { Router } from '../../src/gateway/http/router.js';
import { MANIFEST_KINDS } from '../../src/gateway/manifest/kinds.js';
import { supportTable } from '../../src/gateway/operations/admin/support-table.js';
import { adminOperations, GROUPS } from '../../src/gateway/start/management-groups.js';
import { permits } from '../../src/services/access/permissions.js';
import { NO_AUDIT } from '../support/no-audit.js';
import { wrongSchemas } from './documents.js';
import { contractOperations, OPEN } from './operations.js';

// Declaring operations needs no dependencies: only running one does.
const operations = adminOperations({} as AdminDeps, {} as RunServices);
const contract = contractOperations();
const key = (method: string, path: string) => `${method} ${path}`;
const declared = new Map(operations.map((o) => [key(o.method, o.path), o]));

describe('management API against its contract', () => {
  it('lists 381 operations on 308 paths', () => {
    expect(contract).toHaveLength(381);
    expect(new Set(contract.map(({ path }) => path)).size).toBe(308);
  });

  it('declares every operation of the contract, and no other', () => {
    const wanted = contract.map(({ method, path }) => key(method, `/api/v1/admin${path}`));
    expect([...declared.keys()].sort()).toEqual(wanted.sort());
    expect(operations).toHaveLength(declared.size);
  });

  it.each(contract)('$method $path', ({ method, path, summary }) => {
    const operation = declared.get(key(method, `/api/v1/admin${path}`))!;
    expect(operation.summary).toBe(summary);
    const isOpen = OPEN.has(key(method, path));
    expect(operation.permission).toMatch(isOpen ? /^public$/ : /^admin:[a-z-]+:(read|write)$/);
    expect(operation.surface).toBe('admin');
    expect(operation.tag).toBeTruthy();
    expect(Object.keys(operation.responses).length).toBeGreaterThan(0);
    const inPath = [...path.matchAll(/\{(\w+)\}/g)].map((found) => found[1]);
    const params = Object.values(operation.params).filter((param) => param.in === 'path');
    if (operation.built) expect(params.map((param) => param.name)).toEqual(inPath);
    // A GET never changes anything: it is audited only as an export, and not guarded by a write permission.
    if (method === 'GET')
      expect([
        operation.audited && !operation.exports,
        isOpen || operation.permission.endsWith(':read'),
      ]).toEqual([false, true]);
    // What one stranger is answered is never repeated to another one.
    if (isOpen) expect(operation.repeatable).toBe(false);
  });

  it('gives no operation more services than releases take', () => {
    const counts = GROUPS.flatMap(({ rows }) => rows).map(
      ({ implementation }) => implementation?.services.length ?? 0,
    );
    expect(Math.max(...counts)).toBe(14);
  });

  it('gives every operation an id of its own', () => {
    expect(new Set(operations.map((o) => o.id)).size).toBe(operations.length);
  });

  it('answers 501 with its name where it is not built', async () => {
    for (const operation of operations.filter((o) => !o.built)) {
      const run = async () => operation.run({} as never);
      await expect(run()).rejects.toMatchObject({
        status: 501,
        message: expect.stringContaining(operation.summary),
      });
    }
  });

  it('routes every path to its own operation', () => {
    const router = new Router(operations);
    for (const operation of operations) {
      const path = operation.path.replaceAll(/\{\w+\}/g, 'a-value');
      expect(router.find(path)?.route.methods.get(operation.method)).toBe(operation);
    }
  });

  it('has body schemas that compile, which servers do on use', () => {
    const bodies = operations.flatMap(({ body }) => (body ? [body.schema] : []));
    const schemas = [...bodies, ...MANIFEST_KINDS.map(({ schema }) => schema)];
    expect(schemas.length).toBeGreaterThan(80);
    // A value that each schema refuses, so that what lists all errors is compiled too.
    for (const schema of schemas) expect(() => compileSchema(schema)(Symbol('none'))).not.toThrow();
  });

  it('is taken by the dispatcher', () => {
    const pools = { run: () => Promise.reject(new Error('not asked')) };
    const seams = {
      pools,
      authenticate: () => ANONYMOUS,
      permits,
      audit: NO_AUDIT,
      once: (_request: unknown, work: () => Promise<Reply>) => work(),
    };
    expect(() => new Dispatcher({ operations, ...seams })).not.toThrow();
  });

  it('has schemas that are schemas', () => {
    expect(
      wrongSchemas(openApiDocument({ title: 't', description: 'd', serverUrl: '/' }, operations)),
    ).toEqual([]);
  });

  it('is documented operation by operation', () => {
    const info = { title: 't', description: 'd', serverUrl: 'http://x' };
    const { paths } = openApiDocument(info, operations);
    for (const { method, path, summary } of contract) {
      const entry = paths[`/api/v1/admin${path}`]![method.toLowerCase()] as Record<string, unknown>;
      expect(entry).toMatchObject({ summary, operationId: expect.any(String), tags: [expect.any(String)] });
      if (!OPEN.has(key(method, path)))
        expect(entry.responses).toMatchObject({ 401: expect.anything(), 403: expect.anything() });
    }
  });

  it('has a support table that is up to date', () => {
    const written = readFileSync(new URL('../../docs/reference/apis/operations.md', import.meta.url), 'utf8');
    expect(written, 'run: node dist/gateway/start/support.js > docs/reference/apis/operations.md').toBe(
      supportTable(GROUPS),
    );
  });
});
