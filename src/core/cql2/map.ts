import { isArray, isCall, isInterval, isProperty, type Operand } from './ast.js';

/** Returns the tree with each operand replaced by `change`, from the leaves up. Geometry literals are unchanged. */
export function mapOperands(operand: Operand, change: (operand: Operand) => Operand): Operand {
  if (typeof operand !== 'object') return change(operand);
  if (isArray(operand)) return change(operand.map((member) => mapOperands(member, change)));
  if (isCall(operand))
    return change({ op: operand.op, args: operand.args.map((arg) => mapOperands(arg, change)) });
  if (!isInterval(operand)) return change(operand);
  const [start, end] = operand.interval.map((one) =>
    typeof one === 'string' ? one : mapOperands(one, change),
  );
  return change({ interval: [start, end] } as Operand);
}

/** Whether a tree has to do with a property. */
export function concerns(operand: Operand, property: string): boolean {
  let isThere = false;
  mapOperands(operand, (one) => {
    if (typeof one === 'object' && !isArray(one) && isProperty(one)) isThere ||= one.property === property;
    return one;
  });
  return isThere;
}
