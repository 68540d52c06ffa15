import type { Feature, MultiPolygon } from 'geojson';
import type { ZoneData } from '../../../core/catalog/alert-page-data.js';
import { formatMultiPolygonWkt, type Polygons, parsePolygonWkt } from '../../../core/geometry/polygon-wkt.js';
import { type RequestFailure, type RequestSuccess, sendJson } from '../request.js';
import type { AlertMap } from './alert-map.js';
import { AreaDrawing, type Corner } from './draw-area.js';
import { FieldProblem, findRuleField, readField, type ZoneDocument } from './rule-fields.js';

/** Positions that the page draws. The server accepts more. */
const MAX_POSITIONS = 200_000;
const WGS84 = 4326;

export interface FormZone {
  readonly zoneName: string;
  readonly serviceId: string;
  readonly wkt: string;
  readonly srid: number | null;
  readonly isActive: boolean;
  readonly metadata: Readonly<Record<string, string>>;
}

interface Options {
  /** Contains the form and the map. */
  readonly place: HTMLElement;
  readonly form: HTMLFormElement;
  readonly api: string;
  readonly zones: readonly ZoneData[];
  /** Path of the collection of a layer. */
  collectionOf(layerId: string): string | undefined;
  map(): AlertMap | undefined;
  /** Resolves with the map when the page has it. Undefined if it cannot have one. */
  readonly opened: Promise<AlertMap | undefined>;
}

/** The zone of the form: an existing or a new one, drawn on the map or written as text. */
export class ZoneEditor {
  readonly #options: Options;
  readonly #status: HTMLElement;
  #stored: RequestSuccess<ZoneDocument> | undefined;
  #drawing: AreaDrawing | undefined;

  constructor(options: Options) {
    this.#options = options;
    const { form } = options;
    const find = (name: string) => this.#find(name);
    this.#status = find('draw-status');
    findRuleField(form, 'wkt').addEventListener('input', () => this.draw());
    findRuleField(form, 'zoneId').addEventListener('change', () => void this.load());
    find('draw').addEventListener('click', () => void this.#startDrawing());
    find('undo').addEventListener('click', () => this.#drawing?.undo());
    find('finish').addEventListener('click', () => this.#finish());
    find('cancel-drawing').addEventListener('click', () => this.#drawing?.cancel());
    find('take-area').addEventListener('click', () => void this.#takeArea());
  }

  /** Fills in the chosen zone. */
  async load(): Promise<void> {
    const { form, api } = this.#options;
    const id = readField(form, 'zoneId');
    this.#stored = undefined;
    const set = (name: string, value: string) => {
      findRuleField(form, name).value = value;
    };
    if (id === '') {
      set('zoneName', '');
      set('wkt', '');
    } else {
      const result = await sendJson<ZoneDocument>('GET', `${api}/alerts/zones/${id}`);
      if (readField(form, 'zoneId') !== id) return;
      if ('problem' in result) {
        this.#tell(result.problem);
        return;
      }
      this.#stored = result;
      set('zoneName', result.value.zoneName);
      set('wkt', result.value.wkt ?? '');
      this.#tell('Changes of this zone apply to all rules that use it.');
    }
    this.draw();
  }

  /** The zone as the form has it. Undefined if it is stored like this. */
  read(): FormZone | undefined {
    const { form } = this.#options;
    const [zoneName, wkt] = [readField(form, 'zoneName'), readField(form, 'wkt')];
    const stored = this.#stored?.value;
    if (zoneName === '') throw new FieldProblem('zoneName', 'Enter a name for the zone.');
    if (wkt === '') throw new FieldProblem('wkt', 'Draw the zone on the map, or enter its area.');
    if (stored && stored.zoneName === zoneName && stored.wkt === wkt) return undefined;
    const { srid = WGS84, isActive = true, metadata = {} } = stored ?? {};
    return { zoneName, serviceId: 'default', wkt, srid, isActive, metadata };
  }

  /** Stores the zone if it is new or changed. Returns its id. */
  async save(): Promise<number | RequestFailure> {
    const { api, form } = this.#options;
    const draft = this.read();
    const stored = this.#stored;
    if (!draft) return stored!.value.zoneId;
    const result = stored
      ? await sendJson<ZoneDocument>('PUT', `${api}/alerts/zones/${stored.value.zoneId}`, draft, stored.etag)
      : await sendJson<ZoneDocument>('POST', `${api}/alerts/zones`, draft);
    if ('problem' in result) return result;
    // If the rule is refused, another attempt must not create the zone again.
    const { zoneId, zoneName, wkt } = result.value;
    const current = await sendJson<ZoneDocument>('GET', `${api}/alerts/zones/${zoneId}`);
    this.#stored = 'problem' in current ? result : current;
    const select = findRuleField(form, 'zoneId') as HTMLSelectElement;
    if (!stored) select.add(new Option(zoneName, String(zoneId)));
    select.value = String(zoneId);
    findRuleField(form, 'wkt').value = wkt ?? '';
    return zoneId;
  }

  /** Draws the area of the form on the map, and moves the map there. */
  draw(): void {
    const map = this.#options.map();
    const feature = this.#parse();
    map?.setDraft(feature ? [feature] : []);
    if (feature) map?.show([feature]);
  }

  #parse(): Feature | undefined {
    const { form, zones } = this.#options;
    const wkt = readField(form, 'wkt');
    const stored = this.#stored?.value;
    if (stored && stored.wkt === wkt) {
      const known = zones.find(({ zoneId }) => zoneId === stored.zoneId);
      if (known) return { type: 'Feature', properties: {}, geometry: known.area };
    }
    if (wkt === '' || (stored?.srid ?? WGS84) !== WGS84) return undefined;
    try {
      return build(parsePolygonWkt(wkt, MAX_POSITIONS).polygons);
    } catch {
      // An unfinished text is not an area. The server explains the problem on save.
      return undefined;
    }
  }

  async #startDrawing(): Promise<void> {
    const map = await this.#options.opened;
    if (!map) {
      this.#tell('The map is not available. Enter the area as text.');
      return;
    }
    if (this.#drawing) return;
    this.#showButtons(true);
    this.#find('draw-help').textContent = HELP;
    map.map.getContainer().scrollIntoView({ block: 'nearest' });
    this.#drawing = new AreaDrawing(map.map, {
      changed: (corners) => map.setDraft(outline(corners), corners),
      done: (corners) => {
        this.#drawing = undefined;
        this.#showButtons(false);
        this.#find('draw-help').textContent = corners
          ? `The zone has ${corners.length} corners.`
          : 'The drawing was cancelled.';
        if (corners)
          findRuleField(this.#options.form, 'wkt').value = formatMultiPolygonWkt([[close(corners)]]).replace(
            /^MULTIPOLYGON \((.*)\)$/,
            'POLYGON $1',
          );
        this.draw();
        this.#find('draw').focus({ preventScroll: true });
      },
    });
  }

  #find(name: string): HTMLElement {
    return this.#options.place.querySelector<HTMLElement>(`[data-${name}]`)!;
  }

  #finish(): void {
    const isArea = this.#drawing?.finish() ?? true;
    if (!isArea) this.#find('draw-help').textContent = 'An area has at least three corners.';
  }

  #showButtons(isDrawing: boolean): void {
    for (const name of ['undo', 'finish', 'cancel-drawing']) this.#find(name).hidden = !isDrawing;
    (this.#find('draw') as HTMLButtonElement).disabled = isDrawing;
  }

  async #takeArea(): Promise<void> {
    const { form, collectionOf } = this.#options;
    const id = readField(form, 'areaFeature');
    const collection = collectionOf(readField(form, 'areaLayer'));
    if (id === '' || collection === undefined) {
      this.#tell('Choose a layer, and enter the id of a feature.');
      return;
    }
    const result = await sendJson<Feature>('GET', `${collection}/items/${encodeURIComponent(id)}?f=json`);
    if ('problem' in result) {
      this.#tell(result.problem);
      return;
    }
    const { geometry } = result.value;
    if (geometry?.type !== 'Polygon' && geometry?.type !== 'MultiPolygon') {
      this.#tell('This feature has no area: its geometry is not a polygon.');
      return;
    }
    const polygons = (
      geometry.type === 'Polygon' ? [geometry.coordinates] : geometry.coordinates
    ) as Polygons;
    findRuleField(form, 'wkt').value = formatMultiPolygonWkt(polygons);
    this.#tell(`The zone is the area of feature ${id}.`);
    this.draw();
  }

  #tell(text: string): void {
    this.#status.textContent = text;
  }
}

const HELP =
  'Click the corners, and double-click the last one. On the keyboard: arrow keys move the map under the cross, Enter adds a corner, Backspace removes it, Escape cancels. Then press Finish.';

const close = (corners: readonly Corner[]): [number, number][] =>
  [...corners, corners[0]!].map(([x, y]) => [x, y]);

function outline(corners: readonly Corner[]): Feature[] {
  if (corners.length < 2) return [];
  if (corners.length > 2) return [build([[close(corners)]])];
  return [
    {
      type: 'Feature',
      properties: {},
      geometry: { type: 'LineString', coordinates: corners.map((one) => [...one]) },
    },
  ];
}

function build(polygons: Polygons): Feature<MultiPolygon> {
  return { type: 'Feature', properties: {}, geometry: { type: 'MultiPolygon', coordinates: polygons } };
}
