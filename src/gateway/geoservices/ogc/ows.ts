import { ApiError, type ErrorCode } from '../../../core/errors/errors.js';
import { xmlEscaped } from '../../../core/values/xml-text.js';
import { type Members, readTextMember } from '../members.js';
import { textElement, writeOgcElement, type XmlFailure } from './ogc-requests.js';

/** Requests and exceptions of services that follow OGC Web Services Common (OGC 06-121): WCS and WMTS. */

/** Error codes by exception code; 400 for all others. Those with 404 are codes of WCS 2.0 and its extensions. */
const ERROR_CODES = {
  MissingParameterValue: 'invalid-parameter',
  InvalidParameterValue: 'invalid-parameter',
  VersionNegotiationFailed: 'invalid-parameter',
  InvalidEncodingSyntax: 'invalid-parameter',
  TileOutOfRange: 'invalid-parameter',
  OperationNotSupported: 'not-implemented',
  NoSuchCoverage: 'not-found',
  emptyCoverageIdList: 'not-found',
  InvalidAxisLabel: 'not-found',
  InvalidSubsetting: 'not-found',
  NoSuchField: 'not-found',
  IllegalFieldSequence: 'not-found',
  InvalidScaleFactor: 'not-found',
  InvalidExtent: 'not-found',
  ScaleAxisUndefined: 'not-found',
  'SubsettingCrs-NotSupported': 'not-found',
  'OutputCrs-NotSupported': 'not-found',
} as const satisfies Record<string, ErrorCode>;

export type OwsCode = keyof typeof ERROR_CODES;

const MAX_LOCATOR = 100;
const MAX_LIST = 1000;

/**
 * `locator` is the value that the standard requires with the code: usually the name of the parameter, or its invalid
 * part.
 */
export function owsError(code: OwsCode, locator: string, detail: string): ApiError {
  return new ApiError(ERROR_CODES[code], detail, {
    errors: [{ name: locator.slice(0, MAX_LOCATOR), detail, code }],
  });
}

interface ReportForm {
  readonly namespace: string;
  readonly version: string;
  /** Names of parameters as the standard writes them, by their names in capitals. */
  readonly locators: Readonly<Record<string, string>>;
}

/** The exception report of a failure. A failure without a code is one of its parameter. */
export function owsReport({ message, parameter, code }: XmlFailure, form: ReportForm): string {
  const exceptionCode = code ?? (parameter === undefined ? 'NoApplicableCode' : 'InvalidParameterValue');
  const locator = code === undefined && parameter ? findLocator(parameter, form) : parameter;
  const text = writeOgcElement('ows:ExceptionText', xmlEscaped(message));
  const exception = writeOgcElement('ows:Exception', text, {
    exceptionCode,
    ...(locator === undefined ? {} : { locator }),
  });
  const attributes = { 'xmlns:ows': form.namespace, version: form.version };
  return writeOgcElement('ows:ExceptionReport', exception, attributes);
}

const findLocator = (parameter: string, { locators }: ReportForm) =>
  locators[parameter.toUpperCase()] ?? parameter;

/** A parameter that must be there. Throws MissingParameterValue. */
export function requireText(pairs: Members, locator: string, maxLength = MAX_LIST): string {
  const name = locator.toUpperCase();
  const text = readTextMember(pairs, name, maxLength);
  if (text === undefined)
    throw owsError('MissingParameterValue', locator, `${name}: the parameter is missing. Add it.`);
  return text;
}

/** A parameter that must be there with one value. Throws MissingParameterValue and InvalidParameterValue. */
export function requireValue(pairs: Members, locator: string, value: string): void {
  const text = requireText(pairs, locator);
  if (text === value) return;
  const detail = `${locator.toUpperCase()}: '${text.slice(0, 40)}' is not supported. Use ${value}.`;
  throw owsError('InvalidParameterValue', locator, detail);
}

/** The operation that a request names. Throws for another service, and OperationNotSupported. */
export function requireOperation<T extends string>(
  pairs: Members,
  service: string,
  operations: readonly T[],
): T {
  const name = requireText(pairs, 'service');
  if (name.toUpperCase() !== service) {
    const detail = `SERVICE: '${name.slice(0, 40)}' is not the service at this URL. Use ${service}.`;
    throw owsError('InvalidParameterValue', 'service', detail);
  }
  const request = requireText(pairs, 'request');
  const operation = operations.find((one) => one.toLowerCase() === request.toLowerCase());
  if (operation !== undefined) return operation;
  const known = operations.join(', ');
  const detail = `REQUEST: '${request.slice(0, 40)}' is not an operation of this service. Use ${known}.`;
  throw owsError('OperationNotSupported', request, detail);
}

/** Throws VersionNegotiationFailed where `ACCEPTVERSIONS` names none of the versions that there are. */
export function negotiateVersion(pairs: Members, versions: readonly string[]): void {
  const list = readTextMember(pairs, 'ACCEPTVERSIONS', MAX_LIST);
  if (list === undefined || list.split(',').some((one) => versions.includes(one.trim()))) return;
  const detail = `ACCEPTVERSIONS: none of '${list.slice(0, 80)}' is supported. Use ${versions.join(' or ')}.`;
  throw owsError('VersionNegotiationFailed', '', detail);
}

/** The test for the sections of a capabilities document that `SECTIONS` names. Throws InvalidParameterValue. */
export function readSections<T extends string>(pairs: Members, known: readonly T[]): (section: T) => boolean {
  const names = readTextMember(pairs, 'SECTIONS', MAX_LIST)
    ?.split(',')
    .map((one) => one.trim()) ?? ['All'];
  const unknown = names.find((name) => name !== 'All' && !(known as readonly string[]).includes(name));
  if (unknown !== undefined) {
    const detail = `SECTIONS: there is no section '${unknown.slice(0, 40)}'. Use All, ${known.join(', ')}.`;
    throw owsError('InvalidParameterValue', 'sections', detail);
  }
  return (section) => names.includes('All') || names.includes(section);
}

/** The server does not know its operator. The schemas require a name, and a contact that may be empty. */
export const serviceProvider = writeOgcElement(
  'ows:ServiceProvider',
  textElement('ows:ProviderName', 'Graticule') + writeOgcElement('ows:ServiceContact', ''),
);

/** The operations of a capabilities document, which are called by GET. */
export function operationsMetadata(address: string, operations: readonly string[], content = ''): string {
  const get = writeOgcElement('ows:Get', content, { 'xlink:type': 'simple', 'xlink:href': `${address}?` });
  const http = writeOgcElement('ows:DCP', writeOgcElement('ows:HTTP', get));
  return writeOgcElement(
    'ows:OperationsMetadata',
    operations.map((name) => writeOgcElement('ows:Operation', http, { name })).join(''),
  );
}
