/** Parts of forms. */

export function createHtmlElement<K extends keyof HTMLElementTagNameMap>(
  name: K,
  attributes: Readonly<Record<string, string>> = {},
  ...content: readonly (Node | string)[]
): HTMLElementTagNameMap[K] {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...content);
  return node;
}

export function button(text: string, action: () => void): HTMLButtonElement {
  const node = createHtmlElement('button', { type: 'button' }, text);
  node.addEventListener('click', action);
  return node;
}

export function select(label: string, options: readonly (readonly [string, string])[]): HTMLSelectElement {
  return createHtmlElement(
    'select',
    { 'aria-label': label },
    ...options.map(([value, text]) => createHtmlElement('option', { value }, text)),
  );
}
