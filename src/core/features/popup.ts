/** Popup template of a layer. */
export interface PopupTemplate {
  /** Text with names of attributes in braces: `{NAME}, {ADMIN}`; null for the layer's own title. */
  readonly title: string | null;
  /** Attributes in display order. Empty: all. */
  readonly fields: readonly { readonly name: string; readonly label: string }[];
}

const MAX_FIELDS = 100;
const MAX_TEXT = 500;

/** Reads a `popupInfo` document as web maps write it: `title`, and `fieldInfos` of `fieldName`, `label` and `visible`. */
export function popupTemplate(document: object | null): PopupTemplate | null {
  if (!document) return null;
  const { title, fieldInfos } = document as Record<string, unknown>;
  const infos = Array.isArray(fieldInfos) ? fieldInfos.slice(0, MAX_FIELDS) : [];
  const fields = infos.flatMap((info: unknown) => {
    const { fieldName, label, visible } = (info ?? {}) as Record<string, unknown>;
    if (typeof fieldName !== 'string' || visible === false) return [];
    return [{ name: fieldName, label: shortText(label) ?? fieldName }];
  });
  return { title: shortText(title), fields };
}

function shortText(value: unknown): string | null {
  return typeof value === 'string' && value.trim() !== '' ? value.slice(0, MAX_TEXT) : null;
}

/** A title with the values of a feature; a name that it lacks leaves nothing. */
export function filledTitle(template: string, properties: Readonly<Record<string, unknown>>): string {
  return template.replace(/\{([^{}]{1,200})\}/g, (_, name: string) =>
    Object.hasOwn(properties, name) ? String(properties[name] ?? '') : '',
  );
}

/** The attributes that a template shows, by their labels. */
export function labelled(
  { fields }: PopupTemplate,
  properties: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  if (fields.length === 0) return { ...properties };
  const fieldsOfFeature = fields.filter(({ name }) => Object.hasOwn(properties, name));
  return Object.fromEntries(fieldsOfFeature.map(({ name, label }) => [label, properties[name]]));
}
