import type { ProcessData } from '../../core/catalog/page-data.js';
import { letUserDrawBox } from './filter/box.js';
import { pageData } from './page.js';
import { type ExecutionAnswer, postExecution } from './processes/execution.js';

/** Sends the form of a process, and goes to the page of its job. */

/** Request of an earlier job in the fragment of the URL, which the page of this job links. */
const REQUEST = '#request=';

const place = document.querySelector<HTMLElement>('[data-process]');
if (place) connect(place, pageData<ProcessData>('process-data'));

function connect(element: HTMLElement, data: ProcessData): void {
  element.hidden = false;
  const form = element.querySelector('form')!;
  fillIn(form, data);
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    void execute(form, data);
  });
  for (const button of form.querySelectorAll<HTMLButtonElement>('[data-draw-box]'))
    button.addEventListener('click', async () => {
      const box = await letUserDrawBox();
      const field = fieldNamed(form, button.dataset['drawBox']!);
      if (box && field) field.value = box.join(',');
      field?.focus();
    });
}

interface Request {
  inputs?: Record<string, unknown>;
  outputs?: Record<string, { publish?: { collection?: string } }>;
}

/** Fills in the inputs of an earlier job. Inputs without a field are omitted. */
function fillIn(form: HTMLFormElement, data: ProcessData): void {
  if (!location.hash.startsWith(REQUEST)) return;
  let request: Request;
  try {
    request = JSON.parse(decodeURIComponent(location.hash.slice(REQUEST.length))) as Request;
  } catch {
    return;
  }
  const set = (name: string, value: unknown) => {
    const field = fieldNamed(form, name);
    if (!field || value === undefined) return;
    field.value = typeof value === 'string' ? value : JSON.stringify(value);
    field.closest('details')?.setAttribute('open', '');
  };
  for (const [name, type] of Object.entries(data.inputs)) {
    const value = request.inputs?.[name];
    if (type !== 'layer' && type !== 'raster') {
      set(name, value);
      continue;
    }
    const { collection, href, filter } = (value ?? {}) as Record<string, unknown>;
    set(name, collection ?? href);
    // The field takes CQL2 as text.
    if (typeof filter === 'string') set(`${name}:filter`, filter);
  }
  if (data.output !== null) set(':publish', request.outputs?.[data.output]?.publish?.collection);
}

async function execute(form: HTMLFormElement, data: ProcessData): Promise<void> {
  const fault = form.querySelector<HTMLElement>('[data-fault]')!;
  fault.hidden = true;
  for (const field of form.querySelectorAll('[aria-invalid]')) field.removeAttribute('aria-invalid');
  const { status, isAccepted, answer } = await postExecution(data.execution, readBody(form, data));
  if (isAccepted) return location.assign(`${data.jobs}/${answer.jobID}?f=html`);
  fault.replaceChildren(...faultText(status, answer, data));
  fault.hidden = false;
  for (const { name } of answer.errors ?? []) {
    const field = fieldNamed(form, name.split('/')[2] ?? '');
    field?.setAttribute('aria-invalid', 'true');
    field?.closest('details')?.setAttribute('open', '');
  }
  fault.scrollIntoView({ block: 'nearest' });
}

function faultText(status: number, { detail }: ExecutionAnswer, { signIn }: ProcessData): (Node | string)[] {
  if (status === 401) {
    const link = document.createElement('a');
    link.href = `${signIn}?to=${encodeURIComponent(location.pathname + location.search)}`;
    link.textContent = 'Sign in';
    return [link, ' to execute processes.'];
  }
  return [detail ?? `The server returned ${status}.`];
}

function readBody(form: HTMLFormElement, data: ProcessData): object {
  const inputs: Record<string, unknown> = {};
  for (const [name, type] of Object.entries(data.inputs)) {
    const text = readText(form, name);
    if (text === '') continue;
    if (type === 'layer' || type === 'raster') inputs[name] = readLayer(form, name, text, data);
    else inputs[name] = type === 'json' ? parseJson(text) : text;
  }
  const collection = readText(form, ':publish');
  if (collection === '' || data.output === null) return { inputs };
  return { inputs, outputs: { [data.output]: { publish: { collection } } } };
}

/** A URL, or a collection with an optional filter and bounding box. */
function readLayer(form: HTMLFormElement, name: string, text: string, { geometries }: ProcessData): unknown {
  if (/^https?:/i.test(text)) return { href: text };
  const filter = readText(form, `${name}:filter`);
  const box = readText(form, `${name}:box`);
  const geometry = (geometries[text] ?? 'geom').replaceAll('"', '""');
  const parts = [
    ...(filter === '' ? [] : [box === '' ? filter : `(${filter})`]),
    ...(box === '' ? [] : [`S_INTERSECTS("${geometry}", BBOX(${box}))`]),
  ];
  return { collection: text, ...(parts.length === 0 ? {} : { filter: parts.join(' AND ') }) };
}

/** Text that is not JSON is sent unchanged, and the server reports the error. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function fieldNamed(form: HTMLFormElement, name: string): HTMLInputElement | null {
  return form.elements.namedItem(name) as HTMLInputElement | null;
}

function readText(form: HTMLFormElement, name: string): string {
  return fieldNamed(form, name)?.value.trim() ?? '';
}
