import { mapImage } from '../processes/catalogue/map.js';
import { planProcess } from '../processes/catalogue/plan.js';
import { malformed, type PackageFinding } from './findings.js';

/** Payloads of the families of packages, as the parts of a server that they use. */

export const PACKAGE_FAMILIES = [
  ...(['query', 'analysis_plan', 'map_package', 'dashboard_report', 'form', 'app_package'] as const),
  ...(['workflow', 'gp', 'etl'] as const),
] as const;
export type PackageFamily = (typeof PACKAGE_FAMILIES)[number];

type Members = Readonly<Record<string, unknown>>;

/** A part of the server that a package uses. `path` is the JSON pointer into the payload. */
export type PackageUse =
  /** A query of features: `collection`, and parameters of the items operation. */
  | {
      readonly kind: 'query';
      readonly path: string;
      readonly collection: string;
      readonly parameters: Members;
    }
  /** An execution of a process (OGC API Processes). */
  | { readonly kind: 'process'; readonly path: string; readonly process: string; readonly body: Members }
  /** A style that publication gives to a layer. */
  | { readonly kind: 'style'; readonly path: string; readonly collection: string; readonly style: unknown }
  /** A form that adds features to a collection. */
  | {
      readonly kind: 'form';
      readonly path: string;
      readonly collection: string;
      readonly fields: readonly string[];
    };

/** Maximum number of parts of a package. */
const MAX_PACKAGE_USES = 100;

/** Reads the payload of a family. Adds to `findings` each part that has another form. */
export function readPackagePayload(
  family: PackageFamily,
  payload: unknown,
  findings: PackageFinding[],
): PackageUse[] {
  const members = requireObject(payload, '', findings);
  if (!members) return [];
  const uses = READERS[family](members, '', findings);
  if (uses.length <= MAX_PACKAGE_USES) return uses;
  findings.push(
    malformed('', `The payload has ${uses.length} parts. At most ${MAX_PACKAGE_USES} are allowed.`),
  );
  return [];
}

type Reader = (payload: Members, path: string, findings: PackageFinding[]) => PackageUse[];

const readQuery: Reader = (payload, path, findings) => {
  const { collection, ...parameters } = payload;
  const id = requireText(collection, `${path}/collection`, findings);
  return id === undefined ? [] : [{ kind: 'query', path, collection: id, parameters }];
};

const readProcess: Reader = (payload, path, findings) => {
  const { processId, ...body } = payload;
  const id = requireText(processId, `${path}/processId`, findings);
  return id === undefined ? [] : [{ kind: 'process', path, process: id, body }];
};

/** A plan of steps, and members of its execution. */
const readPlan: Reader = (payload, path) => {
  const { planId, steps, plan = { planId, steps }, ...body } = payload;
  return [{ kind: 'process', path, process: planProcess.id, body: { ...body, inputs: { plan } } }];
};

/** A map page, and styles by the ids of its layers. */
const readMap: Reader = (payload, path, findings) => {
  const { styles = {}, ...inputs } = payload;
  const own = requireObject(styles, `${path}/styles`, findings);
  return [
    { kind: 'process', path, process: mapImage.id, body: { inputs } },
    ...Object.entries(own ?? {}).map(
      ([collection, style]): PackageUse => ({
        ...{ kind: 'style', collection, style },
        path: `${path}/styles/${collection.replaceAll('~', '~0').replaceAll('/', '~1')}`,
      }),
    ),
  ];
};

const readForm: Reader = (payload, path, findings) => {
  const { collection, fields } = payload;
  const id = requireText(collection, `${path}/collection`, findings);
  const names = requireList(fields, `${path}/fields`, findings).flatMap((field, i) => {
    const name = typeof field === 'object' && field !== null ? (field as Members)['name'] : field;
    return requireText(name, `${path}/fields/${i}/name`, findings) ?? [];
  });
  return id === undefined ? [] : [{ kind: 'form', path, collection: id, fields: names }];
};

const readWidgets: Reader = (payload, path, findings) =>
  readEach(payload, path, 'widgets', readQuery, findings);

/** An app reads collections, prints maps, executes processes and fills in forms. */
const readApp: Reader = (payload, path, findings) => {
  const parts: [string, Reader][] = [
    ['dataBindings', readQuery],
    ['maps', readMap],
    ['processes', readProcess],
    ['forms', readForm],
  ];
  const present = parts.filter(([name]) => payload[name] !== undefined);
  if (present.length === 0)
    findings.push(
      malformed(path, 'The payload needs at least one of dataBindings, maps, processes and forms.'),
    );
  return present.flatMap(([name, read]) => readEach(payload, path, name, read, findings));
};

const READERS: Readonly<Record<PackageFamily, Reader>> = {
  query: readQuery,
  gp: readProcess,
  analysis_plan: readPlan,
  workflow: readPlan,
  etl: readPlan,
  map_package: readMap,
  dashboard_report: readWidgets,
  form: readForm,
  app_package: readApp,
};

function readEach(
  payload: Members,
  path: string,
  name: string,
  read: Reader,
  findings: PackageFinding[],
): PackageUse[] {
  return requireList(payload[name], `${path}/${name}`, findings).flatMap((part, i) => {
    const at = `${path}/${name}/${i}`;
    const members = requireObject(part, at, findings);
    return members ? read(members, at, findings) : [];
  });
}

function requireObject(value: unknown, path: string, findings: PackageFinding[]): Members | undefined {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Members;
  findings.push(malformed(path, `${path === '' ? 'The payload' : path} must be an object.`));
  return undefined;
}

function requireList(value: unknown, path: string, findings: PackageFinding[]): readonly unknown[] {
  if (Array.isArray(value) && value.length > 0) return value;
  findings.push(malformed(path, `${path} must be an array with at least one item.`));
  return [];
}

function requireText(value: unknown, path: string, findings: PackageFinding[]): string | undefined {
  if (typeof value === 'string' && value !== '') return value;
  findings.push(malformed(path, `${path} must be a string that is not empty.`));
  return undefined;
}
