import Type from 'typebox';

/** Extension of the contract: processes of the server that did not respond, so that their records are missing. */
export const MissingInstances = Type.Array(Type.String(), {
  description: 'Processes that did not respond within a second. Their records are missing.',
});
