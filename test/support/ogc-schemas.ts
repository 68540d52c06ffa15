import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** The schemas of OGC in test/fixtures/ogc-schemas.tgz, unpacked. */
export class OgcSchemas {
  readonly folder = mkdtempSync(join(tmpdir(), 'graticule-schemas-'));

  constructor() {
    execFileSync('tar', ['xzf', 'test/fixtures/ogc-schemas.tgz', '-C', this.folder]);
  }

  /**
   * Throws with the messages of xmllint for documents that are not valid. `schema` is a path such as
   * `ogc/wcs/2.0/wcsAll.xsd`, which is read once for all of them.
   */
  validate(schema: string, ...documents: string[]): void {
    const files = documents.map((document, i) => {
      const file = join(this.folder, `document-${i}.xml`);
      writeFileSync(file, document);
      return file;
    });
    const kind = schema.endsWith('.dtd') ? '--dtdvalid' : '--schema';
    execFileSync('xmllint', ['--nonet', '--noout', kind, schema, ...files], {
      cwd: this.folder,
      env: { ...process.env, XML_CATALOG_FILES: join(this.folder, 'catalog.xml') },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}
