/** Quadtree of longitude and latitude: level 0 has two cells of 180 degrees, from the west; rows count from the north. */

import type { Box } from '../geometry/box.js';
import { SCENE_LIMITS } from './limits.js';

/** Address of a cell, and of the tile with its features. */
export interface CellAddress {
  level: number;
  column: number;
  row: number;
}

/** Cells with features, as a tree whose leaves have few features. */
export interface SceneNode extends CellAddress {
  features: number;
  /** West, south, east and north of the features in degrees. They can extend beyond the cell. */
  box: Box;
  /** Lowest and highest height in metres above the ellipsoid. */
  low: number;
  high: number;
  /** Empty for leaves. */
  children: readonly SceneNode[];
}

/** Numbers of a cell: column, row, features, west, south, east, north, lowest and highest height. */
const CELL_NUMBERS = 9;

/** Beyond the world by less than a millimetre, so that the last column and the first row include their outer sides. */
const OUTSIDE = 1e-9;

/** Returns west, south, east and north of a cell in degrees. */
export function computeCellBox({ level, column, row }: CellAddress): Box {
  const size = 180 / 2 ** level;
  const [west, north] = [column * size - 180, 90 - row * size];
  const isLast = column === 2 ** (level + 1) - 1;
  return [west, north - size, west + size + (isLast ? OUTSIDE : 0), north + (row === 0 ? OUTSIDE : 0)];
}

/** Whether the quadtree has a cell. */
export function isCell({ level, column, row }: CellAddress): boolean {
  return level <= SCENE_LIMITS.maxLevel && column < 2 ** (level + 1) && row < 2 ** level;
}

/**
 * Builds the tree of the cells of a level. A cell whose children have together at most `maxFeatures` features is a leaf.
 * Returns the smallest cell with all features, or two cells of level 0. Empty without a feature.
 */
export function buildSceneTree(
  cells: Float64Array,
  level: number,
  maxFeatures: number,
): readonly SceneNode[] {
  let nodes: SceneNode[] = [];
  for (let i = 0; i < cells.length; i += CELL_NUMBERS) {
    const [column, row, features, west, south, east, north, low, high] = cells.subarray(i, i + CELL_NUMBERS);
    const box: Box = [west!, south!, east!, north!];
    if (features! > 0)
      nodes.push({
        level,
        column: column!,
        row: row!,
        features: features!,
        box,
        low: low!,
        high: high!,
        children: [],
      });
  }
  for (let parent = level - 1; parent >= 0 && nodes.length > 1; parent--)
    nodes = joinCells(nodes, parent, maxFeatures);
  return nodes;
}

/** The parents of all cells of one level. */
function joinCells(nodes: readonly SceneNode[], level: number, maxFeatures: number): SceneNode[] {
  const groups = new Map<number, SceneNode[]>();
  for (const node of nodes) {
    const key = (node.row >> 1) * 2 ** 26 + (node.column >> 1);
    const group = groups.get(key);
    if (group) group.push(node);
    else groups.set(key, [node]);
  }
  return [...groups.values()].map((children) => {
    const [{ column, row }] = children as [SceneNode];
    const features = children.reduce((sum, node) => sum + node.features, 0);
    const sides = (side: 0 | 1 | 2 | 3) => children.map(({ box }) => box[side]);
    return {
      level,
      column: column >> 1,
      row: row >> 1,
      features,
      box: [Math.min(...sides(0)), Math.min(...sides(1)), Math.max(...sides(2)), Math.max(...sides(3))],
      low: Math.min(...children.map(({ low }) => low)),
      high: Math.max(...children.map(({ high }) => high)),
      children: features <= maxFeatures ? [] : children,
    };
  });
}
