import { readFile } from 'node:fs/promises';
import { importJWK, type JWK } from 'jose';

/** Reads a JWKS file with Ed25519 public keys. Rejects with an error that names the file and its problem. */
export async function readLicenceKeys(path: string): Promise<JWK[]> {
  if (path === '') return [];
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new Error(`${path} cannot be read (${error.code ?? error.message})`);
  });
  const keys = parseKeys(text);
  if (!keys) throw new Error(`${path} is not a JSON Web Key Set`);
  for (const key of keys) await requireKey(path, key);
  const ids = keys.map(({ kid }) => kid);
  if (new Set(ids).size < ids.length) throw new Error(`${path}: two keys have the same kid`);
  return keys;
}

function parseKeys(text: string): JWK[] | undefined {
  try {
    const { keys } = JSON.parse(text) as { keys?: unknown };
    return Array.isArray(keys) ? (keys as JWK[]) : undefined;
  } catch {
    return undefined;
  }
}

async function requireKey(path: string, key: JWK): Promise<void> {
  const { kid, kty, crv } = key ?? {};
  if (typeof kid !== 'string' || kid === '') throw new Error(`${path}: a key has no kid`);
  if (kty !== 'OKP' || crv !== 'Ed25519') throw new Error(`${path}: the key ${kid} is not an Ed25519 key`);
  if ('d' in key) throw new Error(`${path}: the key ${kid} is a private key`);
  await importJWK(key, 'EdDSA').catch(() => {
    throw new Error(`${path}: the key ${kid} is not valid`);
  });
}
