import { letUserDrawBox } from '../filter/box.js';
import '../page-map.js';

/** Form of the search for items: a box drawn on the map, days for the time, and no empty parameters. */

const form = document.querySelector<HTMLFormElement>('[data-stac-search]');
if (form) {
  connectBox(form);
  connectDays(form);
  form.addEventListener('submit', () => leaveOutEmpty(form));
}

function connectBox(form: HTMLFormElement): void {
  const button = form.querySelector<HTMLButtonElement>('[data-draw-box]')!;
  const field = form.elements.namedItem('bbox') as HTMLInputElement;
  button.hidden = false;
  button.addEventListener('click', async () => {
    const box = await letUserDrawBox();
    if (box) field.value = box.join(',');
    field.focus();
  });
}

/** Days write the interval. */
function connectDays(form: HTMLFormElement): void {
  const field = form.elements.namedItem('datetime') as HTMLInputElement;
  const [from, to] = ['[data-from]', '[data-to]'].map((name) => form.querySelector<HTMLInputElement>(name)!);
  form.querySelector<HTMLElement>('[data-days]')!.hidden = false;
  const [start = '', end = ''] = field.value.split('/');
  from!.value = /^\d{4}/.test(start) ? start.slice(0, 10) : '';
  to!.value = /^\d{4}/.test(end) ? end.slice(0, 10) : '';
  const write = () => {
    const [first, last] = [from!.value, to!.value];
    field.value =
      first || last ? `${first ? `${first}T00:00:00Z` : '..'}/${last ? `${last}T23:59:59Z` : '..'}` : '';
  };
  from!.addEventListener('input', write);
  to!.addEventListener('input', write);
}

function leaveOutEmpty(form: HTMLFormElement): void {
  const empty = [...form.elements].filter(
    (field): field is HTMLInputElement => 'name' in field && 'value' in field && field.value === '',
  );
  for (const field of empty) field.disabled = true;
  // The browser can show the page again from its cache.
  setTimeout(() => {
    for (const field of empty) field.disabled = false;
  });
}
