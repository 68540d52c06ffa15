import type { IconColors, Icons } from '../icons.js';
import type { LayerValues } from '../layer-values.js';
import { withTokens } from './tokens.js';

/** Returns the file of the image that a property names, or the attribute that contains it. */
export function iconFile(values: LayerValues, icons: Icons, name: string, colors?: IconColors): string {
  const file = (image: unknown) => icons.file(imageName(image), colors);
  const tokens = withTokens(values, name);
  if (tokens) return `[${values.attribute((feature) => file(tokens(feature)))}]`;
  return values.derive<[unknown]>([name], file);
}

function imageName(image: unknown): string {
  if (typeof image === 'string') return image;
  return (image as { name?: string } | null | undefined)?.name ?? '';
}
