import { randomUUID } from 'node:crypto';
import type { AnswerNote, AskNote } from '../../core/cluster/notes.js';

interface Question {
  readonly answers: unknown[];
  /** Processes without a response yet. */
  readonly missing: Set<string>;
  readonly resolve: () => void;
}

/** Responses of the processes, starting with this one. */
export interface PeerAnswers<T> {
  readonly answers: readonly T[];
  /** Processes that did not respond in time. */
  readonly missing: readonly string[];
}

/** A gateway that is starting, or that is stuck, is not waited for any longer. */
const PATIENCE_MS = 1000;

/**
 * Requests of a gateway to the other gateways that share its state, so that each can report the data of all. A
 * response that takes longer than a second is omitted. Sessions and listeners are not stored in the state database.
 */
export class Peers {
  readonly #instance: string;
  readonly #others: () => readonly string[];
  readonly #tell: (note: AskNote | AnswerNote) => void;
  readonly #topics = new Map<string, (about: unknown) => unknown>();
  readonly #questions = new Map<string, Question>();

  /** `instance` names this gateway, and `others` the other ones that are present. */
  constructor(instance: string, others: () => readonly string[], tell: (note: AskNote | AnswerNote) => void) {
    this.#instance = instance;
    this.#others = others;
    this.#tell = tell;
  }

  /** Sets the function that returns this gateway's response for a topic, or a promise of it that does not reject. */
  answer(topic: string, answer: (about: unknown) => unknown): void {
    this.#topics.set(topic, answer);
  }

  /** Responses of all gateways, starting with this one. Gateways that did not respond in time are omitted. */
  async ask<T>(topic: string, about: unknown = null): Promise<T[]> {
    return [...(await this.gather<T>(topic, about)).answers];
  }

  /** Like `ask`. Also names the gateways that did not respond in time. */
  async gather<T>(topic: string, about: unknown = null): Promise<PeerAnswers<T>> {
    const own = this.#topics.get(topic)!(about);
    const missing = new Set(this.#others());
    const answers: unknown[] = [own];
    if (missing.size === 0) return { answers: [(await own) as T], missing: [] };
    const ask = randomUUID();
    let late: NodeJS.Timeout | undefined;
    await new Promise<void>((resolve) => {
      late = setTimeout(resolve, PATIENCE_MS);
      this.#questions.set(ask, { answers, missing, resolve });
      this.#tell({ ask, topic, about });
    });
    clearTimeout(late);
    answers[0] = await own;
    this.#questions.delete(ask);
    return { answers: answers as T[], missing: [...missing] };
  }

  /** Processes a request or a response of another gateway. */
  hear(note: AskNote | AnswerNote): void {
    if ('ask' in note) {
      const answer = this.#topics.get(note.topic)?.(note.about);
      const tell = (it: unknown) => this.#tell({ answerTo: note.ask, from: this.#instance, answer: it });
      if (!this.#topics.has(note.topic)) return;
      if (answer instanceof Promise) void answer.then(tell, () => {});
      else tell(answer);
      return;
    }
    const question = this.#questions.get(note.answerTo);
    if (!question) return;
    question.answers.push(note.answer);
    question.missing.delete(note.from);
    if (question.missing.size === 0) question.resolve();
  }
}
