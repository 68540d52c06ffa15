/** The files that node-gyp builds. */
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

/** Returns the path of a build file, from both src/ and dist/. Throws if it does not exist. */
export function builtFile(name: string): string {
  const path = fileURLToPath(new URL(`../../build/Release/${name}`, import.meta.url));
  if (!existsSync(path)) {
    throw new Error(`The native part is not built: ${path} is missing. Run ./run build.`);
  }
  return path;
}

let loaded: unknown;

/** The exports of the addon, loaded on first use. Every thread has its own. */
export function nativeAddon(): unknown {
  loaded ??= createRequire(import.meta.url)(builtFile('graticule.node'));
  return loaded;
}
