/** The state of the viewer in its URL: `#map=3.2/47.1/8.5&layers=roads,lakes:60&time=1999-02-28T00:00:00Z&colors=dem:colormap%3Dgray`. */
export interface Permalink {
  readonly view?: ViewerPosition;
  /** Those that are shown, top first. */
  readonly layers?: readonly LayerState[];
  /** RFC 3339 instant or interval; absent for all times. */
  readonly time?: string | undefined;
  /** Bands and colours of rasters. */
  readonly colors?: readonly LayerColors[];
}

export interface LayerColors {
  readonly id: string;
  /** Parameters of maps and tiles. */
  readonly query: string;
}

interface ViewerPosition {
  /** Longitude and latitude. */
  readonly center: [number, number];
  readonly zoom: number;
}

export interface LayerState {
  readonly id: string;
  /** Percent. */
  readonly opacity: number;
}

const MAX_TIME = 100;
const MAX_COLORS = 4000;

/** Reads what can be read; what is malformed is as if it were absent. */
export function readPermalink(hash: string): Permalink {
  const parts = new Map(
    hash
      .replace(/^#/, '')
      .split('&')
      .map((part): [string, string] => {
        const at = part.indexOf('=');
        return at < 0 ? [part, ''] : [part.slice(0, at), part.slice(at + 1)];
      }),
  );
  const view = readView(parts.get('map'));
  const layers = parts.get('layers');
  const colors = parts.get('colors')?.slice(0, MAX_COLORS).split(',').flatMap(readColors) ?? [];
  const time = decoded(parts.get('time') ?? '').slice(0, MAX_TIME);
  return {
    ...(view ? { view } : {}),
    ...(layers === undefined ? {} : { layers: layers.split(',').flatMap(readLayer) }),
    ...(colors.length > 0 ? { colors } : {}),
    ...(/^[0-9TZ:./+-]+$/i.test(time) ? { time } : {}),
  };
}

function readView(text = ''): ViewerPosition | undefined {
  const [zoom, lat, lng] = text.split('/').map(Number);
  if (zoom === undefined || lat === undefined || lng === undefined) return undefined;
  if (![zoom, lat, lng].every(Number.isFinite) || Math.abs(lat) > 90 || zoom < 0 || zoom > 24)
    return undefined;
  return { center: [lng, lat], zoom };
}

function readLayer(text: string): LayerState[] {
  const [, id = '', percent] = /^([^:]+)(?::(\d{1,3}))?$/.exec(text) ?? [];
  if (id === '') return [];
  return [{ id: decoded(id), opacity: percent === undefined ? 100 : Math.min(100, Number(percent)) }];
}

function readColors(text: string): LayerColors[] {
  const [, id = '', query = ''] = /^([^:]+):(.+)$/.exec(text) ?? [];
  return id === '' ? [] : [{ id: decoded(id), query: decoded(query) }];
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return '';
  }
}

/** The same place in few characters: a position as exact as a pixel of the zoom. */
export function writePermalink({ view, layers, time, colors = [] }: Permalink): string {
  const parts: string[] = [];
  if (view) {
    const decimals = Math.max(0, Math.ceil((view.zoom * Math.LN2 + Math.log(512 / 360)) / Math.LN10));
    const [lng, lat] = view.center.map((value) => value.toFixed(decimals));
    parts.push(`map=${Number(view.zoom.toFixed(2))}/${lat}/${lng}`);
  }
  if (layers) {
    const entries = layers.map(
      ({ id, opacity }) => encodeURIComponent(id) + (opacity < 100 ? `:${opacity}` : ''),
    );
    parts.push(`layers=${entries.join(',')}`);
  }
  if (time !== undefined) parts.push(`time=${time}`);
  const entries = colors.map(({ id, query }) => `${encodeURIComponent(id)}:${encodeURIComponent(query)}`);
  if (entries.length > 0) parts.push(`colors=${entries.join(',')}`);
  return `#${parts.join('&')}`;
}

export function samePermalink(a: string, b: string): boolean {
  return decoded(a) === decoded(b);
}
