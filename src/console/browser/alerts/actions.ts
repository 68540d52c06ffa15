import type { AlertsData } from '../../../core/catalog/alert-page-data.js';
import { type RequestFailure, type RequestSuccess, sendJson } from '../request.js';
import { revealButtons } from './buttons.js';

interface Page {
  refresh(): Promise<void>;
  show(zoneId: number): void;
}

/** A request that needs a confirmation. */
interface Question {
  readonly title: string;
  readonly text: string;
  readonly confirm: string;
  readonly hasNote: boolean;
  readonly hasUntil: boolean;
  readonly done: string;
  send(fields: { note: string; until: string }): Promise<RequestSuccess<unknown> | RequestFailure>;
}

/** Connects the buttons of events, rules, zones and channels. Rows come and go, so the page listens for all of them. */
export function connectActions(root: HTMLElement, { api }: AlertsData, page: Page): void {
  revealButtons(root);
  const fault = root.querySelector<HTMLElement>('[data-fault]')!;
  const done = root.querySelector<HTMLElement>('[data-done]')!;
  const dialog = root.querySelector<HTMLDialogElement>('[data-dialog]');
  const report = async (result: RequestSuccess<unknown> | RequestFailure, text: string) => {
    fault.hidden = !('problem' in result);
    if ('problem' in result) {
      fault.textContent = result.problem;
      fault.scrollIntoView({ block: 'nearest' });
      return;
    }
    done.textContent = text;
    await page.refresh();
  };
  root.addEventListener('click', ({ target }) => {
    const button = (target as Element).closest<HTMLElement>('button[data-key]');
    if (!button) return;
    const { action, enable, remove, pause, show, to, name } = button.dataset;
    const eventId = button.closest<HTMLElement>('[data-event]')?.dataset['event'];
    if (show !== undefined) page.show(Number(show));
    else if (action !== undefined && eventId !== undefined && dialog)
      ask(dialog, describeAction(api, action, eventId), button, report);
    else if (remove !== undefined && dialog)
      ask(dialog, describeRemoval(api, remove, name ?? ''), button, report);
    else if (enable !== undefined)
      void sendJson('PUT', `${api}/alerts/rules/${enable}/enabled`, { enabled: to === 'true' }).then(
        (result) => report(result, to === 'true' ? 'The rule is enabled.' : 'The rule is disabled.'),
      );
    else if (pause !== undefined)
      void sendJson('POST', `${api}/alerts/channels/${pause}/${to}`).then((result) =>
        report(result, to === 'pause' ? 'The channel is paused.' : 'The channel is sending again.'),
      );
    else if (button.hasAttribute('data-redrive'))
      void sendJson<{ redriven: number }>('POST', `${api}/alerts/dispatch/redrive`).then((result) =>
        report(result, 'The dead letters are sent again.'),
      );
  });
}

const DONE: Readonly<Record<string, string>> = {
  acknowledge: 'The event is acknowledged.',
  resolve: 'The event is resolved.',
  suppress: 'The event is suppressed.',
};

function describeAction(api: string, action: string, eventId: string): Question {
  const verb = `${action.charAt(0).toUpperCase()}${action.slice(1)}`;
  const isSuppression = action === 'suppress';
  return {
    title: `${verb} event ${eventId}`,
    text: isSuppression ? 'Until then, the rule sends nothing about this feature.' : '',
    confirm: verb,
    hasNote: true,
    hasUntil: isSuppression,
    done: DONE[action]!,
    send({ note, until }) {
      const time = Date.parse(until);
      const body = {
        ...(note === '' ? {} : { note }),
        ...(isSuppression
          ? { suppressUntil: Number.isNaN(time) ? until : new Date(time).toISOString() }
          : {}),
      };
      return sendJson('POST', `${api}/observability/alerts/${eventId}/${action}`, body);
    },
  };
}

function describeRemoval(api: string, path: string, name: string): Question {
  const isRule = path.startsWith('rules/');
  return {
    title: `Delete the ${isRule ? 'rule' : 'zone'} ${name}?`,
    text: isRule
      ? 'Its open incidents end. Its alert events stay.'
      : 'A zone that rules use cannot be deleted.',
    confirm: 'Delete',
    hasNote: false,
    hasUntil: false,
    done: isRule ? 'The rule is deleted.' : 'The zone is deleted.',
    send: () => sendJson('DELETE', `${api}/alerts/${path}`),
  };
}

const HOUR_MS = 3_600_000;

function ask(
  dialog: HTMLDialogElement,
  question: Question,
  opener: HTMLElement,
  report: (result: RequestSuccess<unknown> | RequestFailure, text: string) => Promise<void>,
): void {
  const find = <T extends HTMLElement>(selector: string) => dialog.querySelector<T>(selector)!;
  const form = find<HTMLFormElement>('form');
  const note = find<HTMLTextAreaElement>('[name="note"]');
  const until = find<HTMLInputElement>('[name="until"]');
  const fault = find('[data-dialog-fault]');
  const confirm = find<HTMLButtonElement>('[data-confirm]');
  find('[data-dialog-title]').textContent = question.title;
  find('[data-dialog-text]').textContent = question.text;
  find('[data-dialog-text]').hidden = question.text === '';
  find('[data-until]').hidden = !question.hasUntil;
  note.closest<HTMLElement>('.field')!.hidden = !question.hasNote;
  confirm.textContent = question.confirm;
  note.value = '';
  until.value = formatLocal(new Date(Date.now() + HOUR_MS));
  fault.hidden = true;
  const close = () => {
    dialog.close();
    opener.focus({ preventScroll: true });
  };
  find('[data-cancel]').onclick = close;
  form.onsubmit = async (event) => {
    event.preventDefault();
    confirm.disabled = true;
    const result = await question.send({ note: note.value.trim(), until: until.value });
    confirm.disabled = false;
    if ('problem' in result) {
      fault.textContent = result.problem;
      fault.hidden = false;
      return;
    }
    close();
    await report(result, question.done);
  };
  dialog.showModal();
}

/** `2026-11-30T15:04`, the value of a field of local times. */
function formatLocal(date: Date): string {
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}
