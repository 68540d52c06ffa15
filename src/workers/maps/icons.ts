import { writeFileSync } from 'node:fs';
import { scratchStem } from '../engine/settings.js';
import { iconSvg } from '../styles/symbols/icons.js';

/** Colours that an icon gets before Mapnik draws it. */
export interface IconColors {
  readonly fill: string;
  readonly halo?: { readonly color: string; readonly width: number };
}

/** Files of the images that styles name, for Mapnik reads files only. */
export interface Icons {
  /** Returns the path of an SVG file: black without colours, and empty if there is no icon of that name. */
  file(name: string, colors?: IconColors): string;
}

const EMPTY = '<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1" viewBox="0 0 1 1"></svg>';

/** Icons that are written at their first use, next to the engine's other temporary files. */
export class IconFiles implements Icons {
  readonly #paths = new Map<string, string>();

  file(name: string, colors?: IconColors): string {
    const svg = iconSvg(name);
    // Names can come from features. Names without an icon share one file.
    if (svg === undefined) return this.#written('', EMPTY);
    const key = colors ? `${name} ${colors.fill} ${colors.halo?.color} ${colors.halo?.width}` : name;
    return this.#written(key, svg, colors);
  }

  #written(key: string, svg: string, colors?: IconColors): string {
    let path = this.#paths.get(key);
    if (path === undefined) {
      path = write(this.#paths.size, coloured(svg, colors));
      this.#paths.set(key, path);
    }
    return path;
  }
}

function write(number: number, svg: string): string {
  const path = `${scratchStem()}-${process.pid}-icon-${number}.svg`;
  writeFileSync(path, svg);
  return path;
}

/** A halo surrounds the shape: its line is drawn first, and the shape covers the inner half. */
function coloured(svg: string, colors: IconColors | undefined): string {
  if (!colors) return svg;
  const { fill, halo } = colors;
  return svg.replace(/<path ([^>]*)\/>/, (_, path: string) => {
    const shape = `<path fill="${fill}" ${path}/>`;
    if (!halo) return shape;
    const line = `stroke="${halo.color}" stroke-width="${2 * halo.width}" stroke-linejoin="round"`;
    return `<path fill="${halo.color}" ${line} ${path}/>${shape}`;
  });
}
