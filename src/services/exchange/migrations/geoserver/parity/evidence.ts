import { readFile, rename, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { computeFingerprint } from '../../../../../core/values/fingerprint.js';
import { computeSignature } from '../../../../../core/values/signature.js';
import { ZipWriter } from '../../../../uploads/zip-writer.js';
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
 * Writes a ZIP archive: `scorecard.json`, the files of each layer, `manifest.json` with the digests of all of them, and
 * `signature.json` with the digest of the manifest, signed as release packages are. It has its name once it is whole.
 */
export async function writeEvidence(
  evidence: ParityEvidence,
  path: string,
  key: string,
): Promise<EvidencePack> {
  const { layers, ...head } = evidence;
  const zip = await ZipWriter.create(`${path}.new`);
  try {
    const files: { name: string; bytes: number; sha256: string }[] = [];
    const add = async (name: string, content: Uint8Array) => {
      await zip.add(name, content);
      files.push({ name, bytes: content.length, sha256: computeFingerprint(content) });
    };
    const scorecard = { ...head, layers: layers.map(({ folder: _, ...layer }) => layer) };
    await add('scorecard.json', jsonOf(scorecard));
    for (const { collectionId, folder } of layers)
      for (const name of LAYER_FILES) {
        const content = await readFile(join(folder, name)).catch(() => undefined);
        if (content) await add(`layers/${collectionId}/${name}`, content);
      }
    const manifest = jsonOf({ artifactKind: 'graticule.migration-evidence', version: 1, ...head, files });
    const digest = computeFingerprint(manifest);
    const signature = computeSignature(digest, key);
    await zip.add('manifest.json', manifest);
    await zip.add('signature.json', jsonOf({ digest, signature }));
    await zip.close();
    await rename(`${path}.new`, path);
    return { path, bytes: (await stat(path)).size, digest, signature };
  } catch (error) {
    await zip.abandon().catch(() => {});
    throw error;
  }
}

const jsonOf = (value: unknown) => Buffer.from(`${JSON.stringify(value, null, 2)}\n`);
