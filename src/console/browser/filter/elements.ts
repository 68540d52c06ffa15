/** Parts of forms. */

export function element<K extends keyof HTMLElementTagNameMap>(
  name: K,
  attributes: Readonly<Record<string, string>> = {},
  ...content: readonly (Node | string)[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...content);
  return made;
}

export function button(text: string, action: () => void): HTMLButtonElement {
  const made = element('button', { type: 'button' }, text);
  made.addEventListener('click', action);
  return made;
}

export function select(label: string, options: readonly (readonly [string, string])[]): HTMLSelectElement {
  return element(
    'select',
    { 'aria-label': label },
    ...options.map(([value, text]) => element('option', { value }, text)),
  );
}
