import type { RequestFault } from '../request.js';
import { findRuleField } from './rule-fields.js';

/** Members of requests that the form has under another name. */
const FIELDS: Readonly<Record<string, string>> = { conditionsJson: 'other' };
/** Conditions with a separate field. */
const CONDITIONS = ['dwellSeconds', 'field', 'operator', 'value'];

/** Shows a message next to each field that it is about. Returns the first of these fields. */
export function showFaults(form: HTMLFormElement, faults: readonly RequestFault[]): HTMLElement | undefined {
  let first: HTMLElement | undefined;
  for (const { name, detail } of faults) {
    const field = findFaultyField(form, name.replace(/^\//, '').split('/').at(-1)!, detail);
    if (!field) continue;
    const message = document.createElement('span');
    message.className = 'field-fault';
    message.id = `fault-${field.getAttribute('name')}`;
    message.textContent = detail;
    field.setAttribute('aria-invalid', 'true');
    field.setAttribute('aria-errormessage', message.id);
    // A message in the label would be part of the name of the field.
    (field.closest('label') ?? field).after(message);
    field.closest('details')?.setAttribute('open', '');
    first ??= field;
  }
  return first;
}

function findFaultyField(form: HTMLFormElement, name: string, detail: string): HTMLElement | undefined {
  const condition = CONDITIONS.find((one) => new RegExp(`^${one}\\b`).test(detail));
  const own = name === 'conditionsJson' && condition !== undefined ? condition : (FIELDS[name] ?? name);
  const field = findRuleField(form, own) as HTMLElement | RadioNodeList | null;
  return field instanceof HTMLElement ? field : undefined;
}

export function clearFaults(form: HTMLFormElement): void {
  for (const message of form.querySelectorAll('.field-fault')) message.remove();
  for (const field of form.querySelectorAll('[aria-invalid]')) {
    field.removeAttribute('aria-invalid');
    field.removeAttribute('aria-errormessage');
  }
}
