/** The part of @mapnik/mapnik that we use; the package has no types of its own. */
declare module '@mapnik/mapnik' {
  type Callback<T> = (error: Error | null | undefined, result: T) => void;

  class Color {
    constructor(css: string);
    constructor(r: number, g: number, b: number, a: number, premultiplied?: boolean);
    readonly r: number;
    readonly g: number;
    readonly b: number;
    readonly a: number;
  }

  class Image {
    constructor(width: number, height: number, options?: { premultiplied?: boolean });
    static fromBufferSync(
      width: number,
      height: number,
      buffer: Buffer,
      options?: { premultiplied?: boolean },
    ): Image;
    fillSync(color: Color): void;
    premultiplied(): boolean;
    premultiply(callback: Callback<Image>): void;
    demultiply(callback: Callback<Image>): void;
    composite(source: Image, options: { dx?: number; dy?: number }, callback: Callback<Image>): void;
    data(): Buffer;
    encode(format: string, callback: Callback<Buffer>): void;
    view(x: number, y: number, width: number, height: number): ImageView;
    isSolid(callback: Callback<boolean>): void;
    getPixel(x: number, y: number): number;
  }

  class ImageView {
    encode(format: string, callback: Callback<Buffer>): void;
  }

  class MapnikMap {
    constructor(width: number, height: number, srs?: string);
    fromStringSync(xml: string, options?: { strict?: boolean }): void;
  }

  class VectorTile {
    constructor(z: number, x: number, y: number, options?: { tile_size?: number; buffer_size?: number });
    setDataSync(data: Buffer): void;
    names(): string[];
    render(
      map: MapnikMap,
      surface: Image,
      options: { buffer_size?: number; scale?: number; scale_denominator?: number },
      callback: Callback<Image>,
    ): void;
  }

  function register_default_input_plugins(): void;
  function registerFonts(path: string): boolean;

  const mapnik: {
    Color: typeof Color;
    Image: typeof Image;
    Map: typeof MapnikMap;
    VectorTile: typeof VectorTile;
    register_default_input_plugins: typeof register_default_input_plugins;
    registerFonts: typeof registerFonts;
  };
  export default mapnik;
  export type { Color, Image, ImageView, MapnikMap, VectorTile };
}
