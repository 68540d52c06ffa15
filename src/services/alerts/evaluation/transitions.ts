import type { TriggerType } from '../../../core/alerts/alerts.js';
import type { RuleConditions } from '../../../core/alerts/conditions.js';
import type { AlertState } from '../../../stores/alerts/evaluation.js';

/** Side of a feature for a rule: inside or outside. */
export interface Side {
  /** The feature is in the zone, or exceeds the threshold. */
  readonly isInside: boolean;
  /** A feature that was inside is still inside: it is in the buffer, or did not clear the threshold. True if `isInside` is. */
  readonly isKept: boolean;
}

export const OUTSIDE: Side = { isInside: false, isKept: false };

/** A change of a feature, or a comparison with its state. */
export interface RuleInput {
  /** Before the edit. Undefined if unknown, as in a comparison of all features. */
  readonly before: Side | undefined;
  readonly after: Side;
  /** Milliseconds since 1970: the time of the edit. */
  readonly at: number;
  /** The feature was deleted. */
  readonly isGone: boolean;
  /** The move went through the zone. */
  readonly hasCrossed: boolean;
  /** Value of the time field as a number that grows with time. */
  readonly time: number | undefined;
  /** The state changes without an alert, because the rule is new or its zone moved. */
  readonly isSilent: boolean;
}

/** AlertEffect of an input. `start` opens an incident. `pass` opens and ends one. */
export type AlertEffect =
  | { readonly kind: 'start' | 'pass'; readonly at: number }
  | { readonly kind: 'end'; readonly by: string }
  | { readonly kind: 'ongoing' }
  /** The edit contradicts the state: the feature must be read again. */
  | { readonly kind: 'doubt' };

export interface TransitionRule {
  readonly trigger: TriggerType;
  readonly conditions: Pick<RuleConditions, 'settleSeconds' | 'dwellSeconds' | 'timeField'>;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
}

const NEW: AlertState = {
  isInside: false,
  since: 0,
  incident: undefined,
  dueAt: undefined,
  due: undefined,
  coolsUntil: undefined,
  newest: undefined,
};

export interface Transition {
  readonly state: AlertState;
  readonly effects: readonly AlertEffect[];
}

/** Returns the state after an input, and the effects. `now` is the time of the state's clock. */
export function applyChange(
  rule: TransitionRule,
  former: AlertState | undefined,
  input: RuleInput,
  now: number,
): Transition {
  const state = { ...(former ?? NEW) };
  const { timeField, settleSeconds } = rule.conditions;
  if (timeField !== undefined && !input.isGone) {
    const isLate =
      input.time === undefined || (state.newest !== undefined && input.time < Number(state.newest));
    const isKnown = !input.isSilent || state.newest !== undefined;
    if (isLate && isKnown) return { state, effects: [] };
    if (input.time !== undefined) state.newest = String(input.time);
  }
  trustEdit(rule, former, state, input);
  const isNext = state.isInside ? input.after.isKept : input.after.isInside;
  if (isContradicted(rule, state, input)) {
    const isUndecided = isNext !== state.isInside;
    return { state, effects: isUndecided ? [{ kind: 'doubt' }] : [] };
  }
  if (input.isSilent) return settleSilently(rule, state, isNext, input, now);
  if (isNext === state.isInside) return stay(rule, state, input);
  if (settleSeconds > 0 && !input.isGone) {
    if (state.due !== 'settle') Object.assign(state, { due: 'settle', dueAt: now + settleSeconds * 1000 });
    return { state, effects: [] };
  }
  const { dueAt } = state;
  const transition = change(rule, state, isNext, input, now);
  const hasDwelt = former?.due === 'dwell' && dueAt !== undefined && dueAt <= now && dueAt <= input.at;
  if (!hasDwelt || !input.before) return transition;
  const by = input.isGone ? 'deleted' : 'left';
  return {
    state,
    effects: [
      { kind: 'start', at: dueAt },
      { kind: 'end', by },
    ],
  };
}

/** Returns the state after a timer, and the effects. */
export function applyTimer(rule: TransitionRule, former: AlertState, now: number): Transition {
  const { due, dueAt } = former;
  const state: AlertState = { ...former, due: undefined, dueAt: undefined };
  if (dueAt === undefined) return { state, effects: [] };
  if (due === 'dwell') return { state, effects: state.isInside ? [{ kind: 'start', at: dueAt }] : [] };
  const input = { at: dueAt, isGone: false };
  return change(rule, state, !state.isInside, input, now);
}

/**
 * Uses the side before the edit if the feature has no state. Also uses it for a feature that entered
 * after the creation of the rule, because the first comparison of all features can be later than that edit.
 */
function trustEdit(
  { trigger, createdAt }: TransitionRule,
  former: AlertState | undefined,
  state: AlertState,
  { before, after, at, isSilent }: RuleInput,
): void {
  if (!before || isSilent) return;
  if (!former) {
    if (before.isInside) Object.assign(state, { isInside: true, since: at });
    return;
  }
  const isSeeded = state.isInside && state.incident === undefined && trigger !== 'exit';
  const hasEntered = !before.isKept && after.isInside && at >= createdAt;
  if (isSeeded && hasEntered) Object.assign(state, { isInside: false });
}

/**
 * Whether the edit started from another side than the state has. Either a comparison of all features has already seen
 * what follows, or the state lacks a change. States that lag behind the feature on purpose are not compared.
 */
function isContradicted(
  { conditions: { timeField, settleSeconds } }: TransitionRule,
  { isInside }: AlertState,
  { before, isSilent }: RuleInput,
): boolean {
  if (!before || isSilent || timeField !== undefined || settleSeconds > 0) return false;
  return isInside ? !before.isKept : before.isInside;
}

function settleSilently(
  rule: TransitionRule,
  state: AlertState,
  isInside: boolean,
  { at }: RuleInput,
  now: number,
): Transition {
  const effects: AlertEffect[] = [];
  if (state.incident !== undefined && isInside !== isOpenInside(rule))
    effects.push({ kind: 'end', by: 'zone-changed' });
  if (isInside === state.isInside) return { state, effects };
  Object.assign(state, { isInside, since: at, due: undefined, dueAt: undefined });
  if (isInside) startDwelling(rule, state, now);
  return { state, effects };
}

/** Side on which incidents of a rule are open: those of exit rules, outside. */
const isOpenInside = ({ trigger }: TransitionRule) => trigger !== 'exit';

function stay(rule: TransitionRule, state: AlertState, input: RuleInput): Transition {
  if (state.due === 'settle') Object.assign(state, { due: undefined, dueAt: undefined });
  const effects: AlertEffect[] = [];
  if (input.isGone && state.incident !== undefined) effects.push({ kind: 'end', by: 'deleted' });
  else if (input.before && state.incident !== undefined && state.isInside === isOpenInside(rule))
    // A comparison does not show that the feature was edited.
    effects.push({ kind: 'ongoing' });
  if (input.hasCrossed && !state.isInside && rule.trigger !== 'dwell') {
    if (state.incident !== undefined) effects.push({ kind: 'end', by: 're-entered' });
    effects.push({ kind: rule.trigger === 'exit' ? 'start' : 'pass', at: input.at });
  }
  return { state, effects };
}

function change(
  rule: TransitionRule,
  state: AlertState,
  isInside: boolean,
  { at, isGone }: Pick<RuleInput, 'at' | 'isGone'>,
  now: number,
): Transition {
  const effects: AlertEffect[] = [];
  Object.assign(state, { isInside, since: at, due: undefined, dueAt: undefined });
  const isExit = rule.trigger === 'exit';
  if (isInside) {
    if (isExit && state.incident !== undefined) effects.push({ kind: 'end', by: 're-entered' });
    if (rule.trigger === 'dwell') startDwelling(rule, state, now);
    else if (!isExit) effects.push({ kind: 'start', at });
  } else {
    if (!isExit && state.incident !== undefined)
      effects.push({ kind: 'end', by: isGone ? 'deleted' : 'left' });
    // A feature that no longer exists has not left.
    if (isExit && !isGone) effects.push({ kind: 'start', at });
  }
  return { state, effects };
}

/** Starts the dwell time by the clock of the state, because edits can contain times of other clocks. */
function startDwelling({ trigger, conditions }: TransitionRule, state: AlertState, now: number): void {
  if (trigger === 'dwell')
    Object.assign(state, { due: 'dwell', dueAt: now + conditions.dwellSeconds * 1000 });
}

/** Whether a state is equivalent to no state. */
export const isForgettable = (state: AlertState, now: number): boolean =>
  !state.isInside &&
  state.incident === undefined &&
  state.due === undefined &&
  state.newest === undefined &&
  (state.coolsUntil ?? 0) <= now;
