import { badParameter } from '../../../core/errors/errors.js';
import { plainText } from '../../../core/values/percent.js';
import { parseLenientJson } from '../../../services/geoservices/geometry.js';
import type {
  InputDefinition,
  OutputDefinition,
  ProcessDefinition,
} from '../../../services/processes/definition.js';
import type { Members } from '../members.js';

/** Inputs and outputs of processes as parameters of geoprocessing tasks. */

interface Schema {
  readonly type?: string;
  readonly enum?: readonly unknown[];
  readonly default?: unknown;
  readonly items?: Schema;
}

const SCALARS: Readonly<Record<string, string>> = {
  number: 'GPDouble',
  integer: 'GPLong',
  boolean: 'GPBoolean',
  string: 'GPString',
};

type Definition = InputDefinition | OutputDefinition;

/** GeoServices type of a parameter. A parameter without such a type is a text with JSON. */
export function getGpDataType(definition: Definition): string {
  if (definition.isFeatures) return 'GPFeatureRecordSetLayer';
  if (definition.isRaster) return 'GPRasterDataLayer';
  if (isList(definition)) return 'GPMultiValue:GPRasterDataLayer';
  if ('isFile' in definition && (definition.isFile || definition.isTiles)) return 'GPDataFile';
  const { type, items } = definition.schema as Schema;
  if (type === 'array') return `GPMultiValue:${SCALARS[items?.type ?? ''] ?? 'GPString'}`;
  return SCALARS[type ?? ''] ?? 'GPString';
}

const isList = (definition: Definition) => 'isRasterList' in definition && definition.isRasterList === true;

/** Document of a task. */
export function taskDocument({ id, title, description, keywords, inputs, outputs }: ProcessDefinition) {
  return {
    name: id,
    displayName: title,
    description,
    category: keywords[0] ?? '',
    helpUrl: '',
    executionType: 'esriExecutionTypeAsynchronous',
    parameters: [
      ...Object.entries(inputs).map(([name, input]) => ({
        ...buildParameter(name, input, 'Input'),
        parameterType: `esriGPParameterType${input.isOptional ? 'Optional' : 'Required'}`,
      })),
      ...Object.entries(outputs).map(([name, output]) => ({
        ...buildParameter(name, output, 'Output'),
        parameterType: 'esriGPParameterTypeDerived',
      })),
    ],
  };
}

function buildParameter(name: string, definition: Definition, direction: 'Input' | 'Output') {
  const { enum: choices, default: usual = null } = definition.schema as Schema;
  return {
    name,
    dataType: getGpDataType(definition),
    displayName: definition.title,
    description: definition.description,
    direction: `esriGPParameterDirection${direction}`,
    defaultValue: usual,
    dependency: '',
    category: '',
    ...(choices ? { choiceList: choices } : {}),
  };
}

/** Parameters of the request that are not inputs of the task. */
const OTHERS = new Set([
  'f',
  'token',
  'callback',
  'returnZ',
  'returnM',
  'context',
  'returnFeatureCollection',
]);

/** Inputs of an execution, as a client sends them: by their names, as JSON or as text. */
export function readGpInputs(
  { inputs }: ProcessDefinition,
  members: Members,
  baseUrl: string,
): Record<string, unknown> {
  const sent: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(members)) {
    if (OTHERS.has(name) || name.startsWith('env:') || value === '' || value === undefined) continue;
    const input = Object.hasOwn(inputs, name) ? inputs[name]! : undefined;
    sent[name] = input ? parseInput(name, input, value, baseUrl) : value;
  }
  return sent;
}

function parseInput(name: string, input: InputDefinition, value: unknown, baseUrl: string): unknown {
  const read =
    typeof value === 'string' && isStructured(input, value) ? parseLenientJson(name, value) : value;
  if (input.isFeatures) return parseFeatures(name, read, baseUrl);
  if (input.isRaster) return parseRaster(read, baseUrl);
  if (input.isRasterList && Array.isArray(read)) return read.map((one) => parseRaster(one, baseUrl));
  return read;
}

/** Whether a text is JSON: numbers, booleans and plain lists are read as text where executions are read. */
function isStructured({ schema, isFeatures, isRaster }: InputDefinition, text: string): boolean {
  const isText = (schema as Schema).type === 'string' && !isFeatures && !isRaster;
  return !isText && /^\s*[[{]/.test(text);
}

const LAYER_PATH = /^\/rest\/services\/[^/]+\/(?:Feature|Map)Server\/(\d{1,10})(?:\/query)?\/?$/;
const IMAGE_PATH = /^\/rest\/services\/([^/]+)\/ImageServer\/?$/;

/** Reads a feature set, or the URL of a layer of this server, optionally with a CQL2 condition. */
function parseFeatures(name: string, value: unknown, baseUrl: string): unknown {
  if (typeof value !== 'object' || value === null) return value;
  const { url, filter } = value as { url?: unknown; filter?: unknown };
  if (typeof url !== 'string') return value;
  const own = ownAddress(url, baseUrl);
  const layer = own && LAYER_PATH.exec(own.path);
  if (!layer) return { href: url };
  for (const [member, said] of own.query)
    if (member !== 'f' && member !== 'token' && !(member === 'where' && ALL.test(said)))
      throw badParameter(
        name,
        `must have its condition in filter (CQL2), not in ${member.slice(0, 60)} of the URL`,
      );
  return { collection: layer[1]!, ...(filter === undefined ? {} : { filter }) };
}

const ALL = /^\s*1\s*=\s*1\s*$/;

function parseRaster(value: unknown, baseUrl: string): unknown {
  if (typeof value !== 'object' || value === null) return value;
  const { url } = value as { url?: unknown };
  if (typeof url !== 'string') return value;
  const image = IMAGE_PATH.exec(ownAddress(url, baseUrl)?.path ?? '');
  return image ? { collection: plainText(image[1]!) } : { href: url };
}

/** The path and the query of an address of this server; undefined for one of another. */
function ownAddress(url: string, baseUrl: string): { path: string; query: URLSearchParams } | undefined {
  const address = URL.canParse(url, baseUrl) ? new URL(url, baseUrl) : undefined;
  if (address?.origin !== new URL(baseUrl).origin) return undefined;
  return { path: belowProxy(address.pathname), query: address.searchParams };
}

/** Below /arcgis, and below the path of a proxy, it is the same. */
const belowProxy = (pathname: string) => pathname.slice(Math.max(0, pathname.indexOf('/rest/services/')));
