/** Option of an object schema: members that the schema does not name are kept as they came, also when it is stored. */
export const OPEN_OBJECT = { additionalProperties: true };
