/** Features where a raster has them, for functions of GDAL that do not know that longitudes come again. */

import type { Feature } from 'gdal-async';
import { RESULT_TABLE } from '../../../core/processes/feature-processes.js';
import type { GeoPackageSource } from '../../../core/sources/vector-source.js';
import { type Dataset, gdal } from '../../gdal/gdal.js';
import { connect } from '../../providers/geopackage/connection.js';
import { inspectGeoPackage } from '../../providers/geopackage/schema/inspect.js';
import { pixelsAround, zonesOver } from './zones.js';

export interface PlacedFeatures {
  path: string;
  remove(): void;
}

/**
 * Returns a GeoPackage with the features in the coordinates of the raster. This is the given file if no feature must
 * be shifted. Otherwise it is a copy in memory, in which a feature on both sides of the raster's edge occurs twice.
 */
export function placeFeatures(dataset: Dataset, path: string): PlacedFeatures {
  const shifts = shiftsById(dataset, path);
  const isMoved = [...shifts.values()].some((own) => own.some((shift) => shift !== 0));
  if (!isMoved) return { path, remove: () => undefined };
  const copy = `/vsimem/placed-${process.pid}-${copies++}.gpkg`;
  writeCopy(path, copy, shifts);
  return { path: copy, remove: () => void gdal.vsimem.release(copy) };
}

let copies = 0;

/** Shift to the east for each feature on the raster. */
function shiftsById(dataset: Dataset, path: string): Map<number, readonly number[]> {
  const source = inspectGeoPackage(path)[0]!.source as GeoPackageSource;
  const db = connect(path, true);
  try {
    const { zones } = zonesOver(db, source, pixelsAround(dataset));
    return new Map(zones.map(({ id, parts }) => [id, parts.map(({ shift }) => shift)]));
  } finally {
    db.close();
  }
}

function writeCopy(path: string, copy: string, shifts: ReadonlyMap<number, readonly number[]>): void {
  const source = gdal.open(path, 'r', ['GPKG']);
  const target = gdal.drivers.get('GPKG').create(copy);
  try {
    const from = source.layers.get(RESULT_TABLE);
    const to = target.layers.create(RESULT_TABLE, from.srs, gdal.wkbUnknown);
    from.fields.forEach((field) => {
      to.fields.add(field);
    });
    from.features.forEach((feature) => {
      for (const shift of shifts.get(feature.fid) ?? []) {
        const moved = new gdal.Feature(to);
        moved.fields.set(feature.fields.toObject());
        moved.setGeometry(movedEast(feature, shift));
        to.features.add(moved);
      }
    });
  } finally {
    target.close();
    source.close();
  }
}

function movedEast(feature: Feature, shift: number) {
  const geometry = feature.getGeometry()!.toObject();
  return gdal.Geometry.fromGeoJson(moveEast(geometry, shift) as object);
}

/** A GeoJSON geometry, or a part of its coordinates, moved along x. */
function moveEast(part: unknown, shift: number): unknown {
  if (Array.isArray(part)) {
    const [x, ...rest] = part as unknown[];
    return typeof x === 'number' ? [x + shift, ...rest] : part.map((member) => moveEast(member, shift));
  }
  const { coordinates, geometries, ...rest } = part as Record<string, unknown>;
  if (geometries)
    return { ...rest, geometries: (geometries as unknown[]).map((one) => moveEast(one, shift)) };
  return { ...rest, coordinates: moveEast(coordinates, shift) };
}
