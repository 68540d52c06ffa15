/** Sends the request of the form on a page of the API reference, and shows the response. */

/** Characters of a response that the page shows. */
const MAX_TEXT = 200_000;

const form = document.querySelector<HTMLFormElement>('form[data-request]');
if (form) follow(form);

function follow(form: HTMLFormElement): void {
  form.querySelector<HTMLElement>('[data-send]')!.hidden = false;
  const isEdit = form.method === 'post';
  if (!isEdit) form.addEventListener('input', () => showUrl(buildUrl(form)));
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    if (isEdit) {
      const { formAction = form.action } = (event.submitter ?? {}) as Partial<HTMLButtonElement>;
      return void send(formAction, readFields(form));
    }
    const url = buildUrl(form);
    if ((event.submitter as HTMLButtonElement | null)?.name === 'open') location.assign(url);
    else void send(url);
  });
}

/** Path and query of the request, from the fields `path.NAME` and `query.NAME`. */
function buildUrl(form: HTMLFormElement): string {
  let path = form.dataset['request']!;
  const query = new URLSearchParams();
  for (const [key, value] of new FormData(form)) {
    if (typeof value !== 'string' || value === '') continue;
    const dot = key.indexOf('.');
    const name = key.slice(dot + 1);
    if (key.slice(0, dot) === 'path') path = path.replace(`{${name}}`, encodeURIComponent(value));
    else query.set(name, value);
  }
  const text = query.toString();
  return location.origin + path + (text === '' ? '' : `?${text}`);
}

function showUrl(url: string): void {
  document.querySelector('[data-request-text]')!.textContent = url;
  const command = document.querySelector('[data-curl]')!;
  command.textContent = command.textContent!.replace(/'[^']*'/, `'${url.replace(/'/g, "'\\''")}'`);
}

/** Fields with a value; in a form with files, as parts of a message. */
function readFields(form: HTMLFormElement): URLSearchParams | FormData {
  const isMultipart = form.enctype === 'multipart/form-data';
  const fields = isMultipart ? new FormData() : new URLSearchParams();
  for (const [name, value] of new FormData(form)) {
    if (value instanceof File ? value.size === 0 : value === '') continue;
    if (fields instanceof FormData) fields.set(name, value);
    else fields.set(name, String(value));
  }
  return fields;
}

/** Sends a request, by POST if it has a body. */
async function send(url: string, body?: URLSearchParams | FormData): Promise<void> {
  if (!body) showUrl(url);
  const place = document.querySelector('[data-response]')!;
  place.replaceChildren(line('Waiting for the response'));
  const started = performance.now();
  try {
    // A page is for people who read it in a browser: this shows the response that programs get.
    const response = await fetch(url, {
      headers: { accept: 'application/json, */*;q=0.5' },
      ...(body && { method: 'POST', body }),
    });
    const content = await response.blob();
    const milliseconds = Math.round(performance.now() - started);
    const type = response.headers.get('content-type') ?? 'no media type';
    const facts = `${response.status} ${response.statusText}, ${type}, ${content.size.toLocaleString('en')} bytes, ${milliseconds} ms`;
    place.replaceChildren(line(facts), await showBody(content, type), showHeaders(response.headers));
  } catch (error) {
    place.replaceChildren(line(`The request failed: ${String(error)}`));
  }
}

function line(text: string): HTMLElement {
  const element = document.createElement('p');
  element.textContent = text;
  return element;
}

async function showBody(body: Blob, type: string): Promise<HTMLElement> {
  if (type.startsWith('image/') && !type.startsWith('image/tiff')) {
    const image = document.createElement('img');
    image.className = 'response-image';
    image.alt = 'Image of the response';
    image.src = URL.createObjectURL(body);
    return image;
  }
  if (!/json|text|xml|csv|javascript/.test(type))
    return line('The page does not show this media type. Open the response instead.');
  const text = await body.slice(0, MAX_TEXT).text();
  const shown = /json/.test(type) && body.size <= MAX_TEXT ? indent(text) : text;
  const rest = body.size > MAX_TEXT ? '\n…' : '';
  return code(shown + rest, 'Response');
}

function indent(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

function showHeaders(headers: Headers): HTMLElement {
  const details = document.createElement('details');
  const summary = document.createElement('summary');
  summary.textContent = 'Response headers';
  details.append(
    summary,
    code([...headers].map(([name, value]) => `${name}: ${value}`).join('\n'), 'Response headers'),
  );
  return details;
}

function code(text: string, label: string): HTMLElement {
  const box = document.createElement('div');
  box.className = 'code';
  const pre = document.createElement('pre');
  pre.tabIndex = 0;
  pre.setAttribute('role', 'region');
  pre.setAttribute('aria-label', label);
  const element = document.createElement('code');
  element.textContent = text;
  pre.append(element);
  box.append(pre);
  return box;
}
