/** Code that shows a tileset. */

const literal = (url: string) => JSON.stringify(url).replaceAll('<', '\\u003c');

export const writeCesiumSnippet = (url: string): string =>
  `const tileset = await Cesium.Cesium3DTileset.fromUrl(${literal(url)});
viewer.scene.primitives.add(tileset);
await viewer.zoomTo(tileset);`;

/** A page with CesiumJS from a folder `cesium` next to it. */
export const writeHtmlSnippet = (url: string): string => `<!doctype html>
<link rel="stylesheet" href="cesium/Widgets/widgets.css">
<div id="scene" style="height: 100vh"></div>
<script>window.CESIUM_BASE_URL = 'cesium';</script>
<script src="cesium/Cesium.js"></script>
<script type="module">
const viewer = new Cesium.Viewer('scene', { baseLayer: false, baseLayerPicker: false, geocoder: false });
${writeCesiumSnippet(url)}
</script>`;
