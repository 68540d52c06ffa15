import type { Icons } from '../icons.js';
import type { LayerValues } from '../layer-values.js';
import { withTokens } from './tokens.js';

/** File of the image that a property names, or the attribute that holds it. Features whose image is unknown have none. */
export function iconFile(values: LayerValues, icons: Icons, name: string): string {
  const file = (image: unknown) => icons.file(imageName(image));
  const tokens = withTokens(values, name);
  if (tokens) return `[${values.attribute((feature) => file(tokens(feature)))}]`;
  return values.derive<[unknown]>([name], file);
}

function imageName(image: unknown): string {
  if (typeof image === 'string') return image;
  return (image as { name?: string } | null | undefined)?.name ?? '';
}
