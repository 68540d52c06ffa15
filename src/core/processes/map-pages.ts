/** Layout of PDF maps, and the task that writes them. Lengths are points of 1/72 inch from the upper left. */

/** Millimetres, the shorter side first. */
export const PAPERS = {
  A5: [148, 210],
  A4: [210, 297],
  A3: [297, 420],
  letter: [216, 279],
} as const;
export type Paper = keyof typeof PAPERS;

export interface MapPageRequest {
  paper: Paper;
  isPortrait: boolean;
  hasTitle: boolean;
  hasLegend: boolean;
}

/** x, y, width, height. */
export type Frame = readonly [number, number, number, number];

export interface PageLayout {
  readonly width: number;
  readonly height: number;
  readonly title: Frame;
  readonly map: Frame;
  readonly legend: Frame;
  readonly foot: Frame;
}

const POINTS_PER_MM = 72 / 25.4;
const MARGIN = 30;
const TITLE = 30;
const FOOT = 36;
const LEGEND = 150;
const GAP = 10;

export function pageLayout({ paper, isPortrait, hasTitle, hasLegend }: MapPageRequest): PageLayout {
  const [short, long] = PAPERS[paper].map((mm) => mm * POINTS_PER_MM) as [number, number];
  const [width, height] = isPortrait ? [short, long] : [long, short];
  const top = MARGIN + (hasTitle ? TITLE : 0);
  const bottom = height - MARGIN - FOOT;
  const right = width - MARGIN - (hasLegend ? LEGEND + GAP : 0);
  return {
    width,
    height,
    title: [MARGIN, MARGIN, width - 2 * MARGIN, TITLE],
    map: [MARGIN, top, right - MARGIN, bottom - top],
    legend: [width - MARGIN - LEGEND, top, LEGEND, bottom - top],
    foot: [MARGIN, bottom + GAP, width - 2 * MARGIN, FOOT - GAP],
  };
}

export interface LegendPart {
  title: string;
  png: Uint8Array;
  width: number;
  height: number;
}

export interface MapPageTask {
  layout: PageLayout;
  /** JPEG, of the shape of its frame. */
  map: Uint8Array;
  title: string;
  legend: LegendPart[];
  /** Metres over the ground along the map's width, in its middle. */
  metres: number;
  /** Degrees by which north is turned clockwise from the top. */
  north: number;
  /** Attribution and other text of the footer. */
  note: string;
  /** PDF to create. */
  output: string;
}

/** A round length that is at most a quarter of `metres`, for a bar of the scale. */
export function barMetres(metres: number): number {
  const most = metres / 4;
  const power = 10 ** Math.floor(Math.log10(most));
  return ([5, 2].find((digit) => digit * power <= most) ?? 1) * power;
}
