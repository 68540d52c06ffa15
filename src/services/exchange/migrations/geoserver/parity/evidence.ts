import { readFile, rename, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { computeFingerprint } from '../../../../../core/values/fingerprint.js';
import { computeSignature } from '../../../../../core/values/signature.js';
import { writeZip, type ZipEntry } from '../../../../uploads/zip-writer.js';
import { LAYER_FILES } from './layer-probes.js';
import type { LayerParity, Scorecard } from './scorecard.js';

/** A layer of the evidence. */
export interface LayerEvidence extends LayerParity {
  readonly sourceLayer: string;
  readonly collectionId: string;
  /** Folder of its files. */
  readonly folder: string;
}

export interface ParityEvidence {
  readonly migrationId: string;
  readonly source: string;
  readonly sourceVersion: string | null;
  readonly generatedAt: string;
  readonly scorecard: Scorecard;
  readonly layers: readonly LayerEvidence[];
}

/** An archive of evidence, and what vouches for it. */
export interface EvidencePack {
  readonly path: string;
  readonly bytes: number;
  /** SHA-256 of its manifest, which has those of its files. */
  readonly digest: string;
  /** Null without a key. */
  readonly signature: string | null;
}

/**
 * Writes a ZIP archive with `scorecard.json`, the files of each layer, and `manifest.json` with the digests of all of
 * them. `signature.json` contains the digest of the manifest, signed like release packages. The archive gets its name
 * once it is complete.
 */
export async function writeEvidence(
  evidence: ParityEvidence,
  path: string,
  key: string,
): Promise<EvidencePack> {
  const { layers: _, ...head } = evidence;
  const files: { name: string; bytes: number; sha256: string }[] = [];
  let digest = '';
  let signature: string | null = null;
  async function* entries(): AsyncGenerator<ZipEntry> {
    for await (const entry of evidenceFiles(evidence)) {
      const { name, content } = entry;
      files.push({ name, bytes: content.length, sha256: computeFingerprint(content) });
      yield entry;
    }
    const manifest = readJson({ artifactKind: 'graticule.migration-evidence', version: 1, ...head, files });
    digest = computeFingerprint(manifest);
    signature = computeSignature(digest, key);
    yield { name: 'manifest.json', content: manifest };
    yield { name: 'signature.json', content: readJson({ digest, signature }) };
  }
  await writeZip(`${path}.new`, entries());
  await rename(`${path}.new`, path);
  return { path, bytes: (await stat(path)).size, digest, signature };
}

/** The files that the manifest lists. */
async function* evidenceFiles({ layers, ...head }: ParityEvidence): AsyncGenerator<ZipEntry> {
  const scorecard = { ...head, layers: layers.map(({ folder: _, ...layer }) => layer) };
  yield { name: 'scorecard.json', content: readJson(scorecard) };
  for (const { collectionId, folder } of layers)
    for (const file of LAYER_FILES) {
      const content = await readFile(join(folder, file)).catch(() => undefined);
      if (content) yield { name: `layers/${collectionId}/${file}`, content };
    }
}

const readJson = (value: unknown) => Buffer.from(`${JSON.stringify(value, null, 2)}\n`);
