import { xml, xmlText } from './xml-writer.js';

/** AnchorPoint of one of the nine anchors of MapLibre: the position in the graphic that is drawn at the point. */
export function pointAnchor(anchor: string | undefined): string | undefined {
  if (anchor === undefined) return undefined;
  const x = anchor.endsWith('left') ? 0 : anchor.endsWith('right') ? 1 : 0.5;
  const y = anchor.startsWith('bottom') ? 0 : anchor.startsWith('top') ? 1 : 0.5;
  return xml('se:AnchorPoint', [xmlText('se:AnchorPointX', x), xmlText('se:AnchorPointY', y)]);
}
