import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

const TEXTS = /^(licen[cs]e|notice|copying|copyright)([-._].*)?$/i;

/** Writes what the licences of bundled packages ask to be passed on. `inputs` are paths of files within packages. */
export async function writeLicences(path, title, inputs) {
  const folders = new Set(inputs.flatMap((input) => packageFolder(input) ?? []));
  const packages = await Promise.all([...folders].map(describe));
  packages.sort((a, b) => a.heading.localeCompare(b.heading));
  const rule = '='.repeat(80);
  const parts = packages.map(({ heading, text }) => `${rule}\n${heading}\n${rule}\n\n${text.trim()}\n`);
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, `${title}\n\n${parts.join('\n')}`);
}

/** Folder of the package that a file belongs to; undefined for files of our own. */
function packageFolder(input) {
  return /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(input)?.[1];
}

async function describe(folder) {
  const { name, version, license, homepage } = JSON.parse(
    await readFile(join(folder, 'package.json'), 'utf8'),
  );
  const heading = `${name} ${version} (${license ?? 'see below'})`;
  const names = (await readdir(folder)).filter((file) => TEXTS.test(file)).sort();
  const texts = await Promise.all(names.map((file) => readFile(join(folder, file), 'utf8')));
  if (texts.length === 0) texts.push(await licenceOfReadme(folder, `Licence: ${license}. ${homepage ?? ''}`));
  return { heading, text: texts.join('\n\n') };
}

/** Some packages keep their licence at the end of their readme. */
async function licenceOfReadme(folder, otherwise) {
  const readme = ['README.md', 'readme.md', 'Readme.md'].map((name) => join(folder, name)).find(existsSync);
  const text = readme ? await readFile(readme, 'utf8') : '';
  return /^#+\s*licen[cs]e\b[\s\S]*/im.exec(text)?.[0] ?? otherwise;
}
