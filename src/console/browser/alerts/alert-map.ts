import type { Feature, FeatureCollection } from 'geojson';
import { type GeoJSONSource, type LayerSpecification, type Map as MapLibreMap, Popup } from 'maplibre-gl';
import type { IncidentData, ZoneData } from '../../../core/catalog/alert-page-data.js';
import { computeBounds, viewBounds } from '../bounds.js';
import { onThemeChange } from '../theme.js';

const ZONES = 'alert-zones';
const INCIDENTS = 'alert-incidents';
const DRAFT = 'alert-draft';
const POINTS = 'alert-draft-points';
const CLOSEST = 13;

/** Zones, incidents and a drawn area on the map of a page. */
export class AlertMap {
  readonly #data = new Map<string, FeatureCollection>();

  private constructor(readonly map: MapLibreMap) {}

  /** Resolves when the map has its layers. */
  static async open(map: MapLibreMap): Promise<AlertMap> {
    if (map.getContainer().dataset['mapState'] === 'loading')
      await new Promise<void>((resolve) => map.once('style.load', () => resolve()));
    const own = new AlertMap(map);
    for (const id of [ZONES, INCIDENTS, DRAFT, POINTS])
      map.addSource(id, { type: 'geojson', data: { type: 'FeatureCollection', features: [] } });
    for (const layer of createLayers(readColors(map))) map.addLayer(layer);
    onThemeChange(() => own.#recolor());
    map.on('click', INCIDENTS, ({ features, lngLat }) => {
      const title = features?.[0]?.properties['title'];
      const text = document.createElement('p');
      text.textContent = String(title ?? '');
      new Popup({ maxWidth: '18rem' }).setLngLat(lngLat).setDOMContent(text).addTo(map);
    });
    return own;
  }

  setZones(zones: readonly ZoneData[]): void {
    this.#set(
      ZONES,
      zones.map(({ zoneId, name, isActive, area }) => ({
        ...{ type: 'Feature', id: zoneId, properties: { name, isActive }, geometry: area },
      })),
    );
  }

  setIncidents(incidents: readonly IncidentData[]): void {
    this.#set(
      INCIDENTS,
      incidents.map(({ eventId, title, severity, position }) => ({
        ...{ type: 'Feature', id: eventId, properties: { title, severity } },
        geometry: { type: 'Point', coordinates: [...position] },
      })),
    );
    // Tests and styles of the page read the number of incidents on the map.
    this.map.getContainer().dataset['incidents'] = String(incidents.length);
  }

  /** Shows an area that is drawn. `corners`: those of an unfinished area. */
  setDraft(features: readonly Feature[], corners: readonly (readonly [number, number])[] = []): void {
    this.#set(DRAFT, features);
    this.#set(
      POINTS,
      corners.map((corner) => ({
        ...{ type: 'Feature', properties: {}, geometry: { type: 'Point', coordinates: [...corner] } },
      })),
    );
  }

  show(features: readonly Pick<Feature, 'geometry'>[]): void {
    const box = computeBounds(features.map(({ geometry }) => geometry));
    if (box) this.showBox(box);
  }

  showBox(box: readonly [number, number, number, number]): void {
    this.map.fitBounds(viewBounds(box), { padding: 40, maxZoom: CLOSEST, duration: 0 });
  }

  showZone(id: number): void {
    this.show(this.#data.get(ZONES)?.features.filter((one) => one.id === id) ?? []);
  }

  #set(id: string, features: readonly unknown[]): void {
    const collection = { type: 'FeatureCollection', features: [...features] } as FeatureCollection;
    this.#data.set(id, collection);
    void this.map.getSource<GeoJSONSource>(id)?.setData(collection);
  }

  #recolor(): void {
    for (const { id, paint = {} } of createLayers(readColors(this.map)))
      for (const [name, value] of Object.entries(paint))
        this.map.setPaintProperty(id, name as never, value as never);
  }
}

type Colors = Readonly<Record<'zone' | 'draft' | 'paper' | 'info' | 'warning' | 'critical', string>>;

function readColors(map: MapLibreMap): Colors {
  const style = getComputedStyle(map.getContainer());
  const read = (name: string) => style.getPropertyValue(name).trim();
  return {
    zone: read('--accent'),
    draft: read('--map-highlight'),
    paper: read('--paper'),
    info: read('--severity-info'),
    warning: read('--severity-warning'),
    critical: read('--severity-critical'),
  };
}

function createLayers({ zone, draft, paper, ...severities }: Colors): LayerSpecification[] {
  const polygons = ['==', ['geometry-type'], 'Polygon'] as never;
  const bySeverity = [
    ...['match', ['get', 'severity'], 'critical', severities.critical],
    ...['warning', severities.warning, severities.info],
  ] as never;
  const circle = (color: string, radius: number) => ({
    ...{ 'circle-color': color, 'circle-radius': radius },
    ...{ 'circle-stroke-color': paper, 'circle-stroke-width': 2 },
  });
  return [
    { id: `${ZONES}/fill`, type: 'fill', source: ZONES, paint: { 'fill-color': zone, 'fill-opacity': 0.15 } },
    {
      ...{ id: `${ZONES}/line`, type: 'line', source: ZONES },
      paint: {
        'line-color': zone,
        'line-width': ['case', ['get', 'isActive'], 2, 1] as never,
        'line-opacity': ['case', ['get', 'isActive'], 1, 0.5] as never,
      },
    },
    {
      ...{ id: `${DRAFT}/fill`, type: 'fill', source: DRAFT, filter: polygons },
      paint: { 'fill-color': draft, 'fill-opacity': 0.2 },
    },
    { id: `${DRAFT}/line`, type: 'line', source: DRAFT, paint: { 'line-color': draft, 'line-width': 2.5 } },
    { id: POINTS, type: 'circle', source: POINTS, paint: circle(draft, 5) },
    { id: INCIDENTS, type: 'circle', source: INCIDENTS, paint: circle(bySeverity, 8) },
  ];
}
