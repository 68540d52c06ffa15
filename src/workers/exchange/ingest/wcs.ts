import type { CoveragePlan, CoveragePlanTask, RemoteCoverage } from '../../../core/exchange/ingest.js';
import {
  findOgcException,
  findXmlAttribute,
  findXmlText,
  getXmlChild,
  listXmlChildren,
  parseXmlDocument,
  type XmlNode,
} from '../../files/xml.js';
import { refused } from '../../storage/remote/allowed-hosts.js';
import { capabilitiesUrl, removeOgcParameters, wellAnswered } from './discover/index.js';
import { get, type RemoteAccess } from './http.js';
import { selectIds } from './select-ids.js';

/**
 * Coverages of a WCS 2.0 (OGC 09-110r4) or 1.0 (OGC 03-065r6). WCS 1.1 is refused, because its responses have several
 * parts.
 */

const TIFF = /tiff/i;

export async function planWcs(task: CoveragePlanTask, asking: RemoteAccess): Promise<CoveragePlan> {
  const read = async (url: string): Promise<{ name: string; root: XmlNode }> => {
    const document = parseXmlDocument(wellAnswered(await get({ ...task, url }, asking), url).bytes);
    const exception = findOgcException(document);
    if (exception !== undefined) throw refused(`it returned: ${exception}`);
    return document;
  };
  const { name, root } = await read(capabilitiesUrl(task.url, 'WCS', task.version ?? '2.0.1'));
  const version = findXmlAttribute(root, 'version') ?? '';
  if (name === 'Capabilities' && version.startsWith('2.0')) return planTwo({ task, read, root, version });
  if (name === 'WCS_Capabilities' && version.startsWith('1.0')) return planOne({ task, read, root, version });
  if (/Capabilities$/.test(name))
    throw refused(`it has version ${version.slice(0, 10)} of WCS. Supported are 2.0 and 1.0`);
  throw refused('it is not a WCS');
}

interface PlanInput {
  task: CoveragePlanTask;
  read(url: string): Promise<{ root: XmlNode }>;
  root: XmlNode;
  version: string;
}

async function planTwo({ task, read, root, version }: PlanInput): Promise<CoveragePlan> {
  const summaries = listXmlChildren(getXmlChild(root, 'Contents'), 'CoverageSummary');
  const ids = summaries.map((one) => findXmlText(one, 'CoverageId') ?? '').filter((id) => id !== '');
  const formats = listXmlChildren(getXmlChild(root, 'ServiceMetadata'), 'formatSupported').map(
    (one) => findXmlText(one) ?? '',
  );
  const format = geoTiff(formats) ?? 'image/tiff';
  const coverages: RemoteCoverage[] = [];
  for (const id of selectIds(ids, task.ids)) {
    const request = (name: string, more: Record<string, string>) =>
      requestUrl(task.url, { SERVICE: 'WCS', VERSION: version, REQUEST: name, COVERAGEID: id, ...more });
    const { root: described } = await read(request('DescribeCoverage', {}));
    const description = listXmlChildren(described, 'CoverageDescription')[0] ?? {};
    const fields = listXmlChildren(getXmlChild(description, 'rangeType', 'DataRecord'), 'field');
    const summary = summaries.find((one) => findXmlText(one, 'CoverageId') === id)!;
    coverages.push({
      id,
      title: findXmlText(summary, 'Title'),
      description: findXmlText(summary, 'Abstract'),
      bands: fields.flatMap((field) => findXmlAttribute(field, 'name') ?? []),
      crs: findXmlAttribute(getXmlChild(description, 'boundedBy', 'Envelope'), 'srsName'),
      url: request('GetCoverage', { FORMAT: format }),
    });
  }
  return { version, coverages };
}

/** Returns the server's name for GeoTIFF, or otherwise for plain TIFF, from its formats. */
function geoTiff(formats: readonly string[]): string | undefined {
  const fitting = formats.filter((one) => TIFF.test(one) || /^GTiff/i.test(one));
  return (
    fitting.find((one) => one === 'image/tiff') ?? fitting.find((one) => /geo|gtiff/i.test(one)) ?? fitting[0]
  );
}

async function planOne({ task, read, root, version }: PlanInput): Promise<CoveragePlan> {
  const briefs = listXmlChildren(getXmlChild(root, 'ContentMetadata'), 'CoverageOfferingBrief');
  const ids = briefs.map((one) => findXmlText(one, 'name') ?? '').filter((id) => id !== '');
  const coverages: RemoteCoverage[] = [];
  for (const id of selectIds(ids, task.ids)) {
    const about = { SERVICE: 'WCS', VERSION: version, COVERAGE: id };
    const { root: described } = await read(requestUrl(task.url, { ...about, REQUEST: 'DescribeCoverage' }));
    coverages.push(
      readCoverage(id, listXmlChildren(described, 'CoverageOffering')[0] ?? {}, task.url, about),
    );
  }
  return { version, coverages };
}

/** Requests of 1.0 name the window and the size, as the server describes them. */
function readCoverage(
  id: string,
  offering: XmlNode,
  url: string,
  about: Record<string, string>,
): RemoteCoverage {
  const domain = getXmlChild(offering, 'domainSet', 'spatialDomain');
  const crsList = getXmlChild(offering, 'supportedCRSs');
  const native =
    findXmlText(crsList, 'nativeCRSs') ?? findXmlText(crsList, 'requestResponseCRSs') ?? 'EPSG:4326';
  const crs = native.split(/\s+/)[0]!;
  const envelope = listXmlChildren(domain, 'Envelope').find(
    (one) => findXmlAttribute(one, 'srsName') === crs,
  );
  const [low, high] = listXmlChildren(envelope ?? {}, 'pos').map((one) => findXmlText(one) ?? '');
  const box = [low, high].flatMap((pos) => (pos ?? '').trim().split(/\s+/).map(Number));
  const grid = getXmlChild(domain, 'RectifiedGrid', 'limits', 'GridEnvelope');
  const [from, to] = ['low', 'high'].map((side) =>
    (findXmlText(grid, side) ?? '').trim().split(/\s+/).map(Number),
  );
  const [width, height] = [0, 1].map((axis) => to![axis]! - from![axis]! + 1);
  if (box.length !== 4 || !box.every(Number.isFinite) || !(width! > 0) || !(height! > 0))
    throw refused(`its coverage ${id.slice(0, 100)} has no envelope in ${crs.slice(0, 40)}, or no grid`);
  const formats = listXmlChildren(getXmlChild(offering, 'supportedFormats'), 'formats').map(
    (one) => findXmlText(one) ?? '',
  );
  const format = geoTiff(formats);
  if (format === undefined) throw refused(`its coverage ${id.slice(0, 100)} is not available as GeoTIFF`);
  const window = { CRS: crs, BBOX: box.join(','), WIDTH: String(width), HEIGHT: String(height) };
  return {
    id,
    title: findXmlText(offering, 'label'),
    description: findXmlText(offering, 'description'),
    bands: readBands(offering),
    crs,
    url: requestUrl(url, { ...about, REQUEST: 'GetCoverage', FORMAT: format, ...window }),
  };
}

function readBands(offering: XmlNode): string[] {
  const axes = listXmlChildren(getXmlChild(offering, 'rangeSet', 'RangeSet'), 'axisDescription');
  const values = axes.flatMap((axis) =>
    listXmlChildren(getXmlChild(axis, 'AxisDescription', 'values'), 'singleValue'),
  );
  return values.flatMap((value) => findXmlText(value) ?? []);
}

function requestUrl(address: string, parameters: Record<string, string>): string {
  const url = new URL(removeOgcParameters(address));
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
  return url.href;
}
