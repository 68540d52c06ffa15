/** Images with their georeference in a sidecar file. */

const PICTURE = /\.(png|jpe?g|webp|gif)$/i;

export function isPicture(path: string): boolean {
  return PICTURE.test(path);
}

/** Possible georeference files of a raster: `plan.pgw`, `plan.pngw`, `plan.wld`, and GDAL's `plan.png.aux.xml`. */
export function listWorldFiles(path: string): string[] {
  const extension = path.slice(path.lastIndexOf('.') + 1);
  const stem = path.slice(0, -extension.length);
  const short = `${extension.slice(0, 1)}${extension.slice(-1)}w`;
  const names = [short, `${extension}w`, 'wld'];
  return [
    ...names.map((name) => stem + name),
    ...names.map((name) => stem + name.toUpperCase()),
    `${path}.aux.xml`,
  ];
}
