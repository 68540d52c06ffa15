import { randomUUID } from 'node:crypto';
import type { AnswerNote, AskNote } from '../../core/cluster/notes.js';

interface Question {
  readonly answers: unknown[];
  readonly resolve: () => void;
}

/** A gateway that is starting, or that is stuck, is not waited for any longer. */
const PATIENCE_MS = 1000;

/**
 * Requests of a gateway to the other gateways that share its state, so that each can report the data of all. A
 * response that takes longer than a second is omitted. Sessions and listeners are not stored in the state database.
 */
export class Peers {
  readonly #others: () => number;
  readonly #tell: (note: AskNote | AnswerNote) => void;
  readonly #topics = new Map<string, (about: unknown) => unknown>();
  readonly #questions = new Map<string, Question>();

  /** `others`: the present number of other gateways. */
  constructor(others: () => number, tell: (note: AskNote | AnswerNote) => void) {
    this.#others = others;
    this.#tell = tell;
  }

  /** Sets the function that returns this gateway's response for a topic. */
  answer(topic: string, answer: (about: unknown) => unknown): void {
    this.#topics.set(topic, answer);
  }

  /** Responses of all gateways, starting with this one. Gateways that did not respond in time are omitted. */
  async ask<T>(topic: string, about: unknown = null): Promise<T[]> {
    const own = this.#topics.get(topic)!(about);
    if (this.#others() === 0) return [own as T];
    const ask = randomUUID();
    const answers: unknown[] = [own];
    let late: NodeJS.Timeout | undefined;
    await new Promise<void>((resolve) => {
      late = setTimeout(resolve, PATIENCE_MS);
      this.#questions.set(ask, { answers, resolve });
      this.#tell({ ask, topic, about });
    });
    clearTimeout(late);
    this.#questions.delete(ask);
    return answers as T[];
  }

  /** Processes a request or a response of another gateway. */
  hear(note: AskNote | AnswerNote): void {
    if ('ask' in note) {
      const answer = this.#topics.get(note.topic);
      if (answer) this.#tell({ answerTo: note.ask, answer: answer(note.about) });
      return;
    }
    const question = this.#questions.get(note.answerTo);
    question?.answers.push(note.answer);
    if (question && question.answers.length > this.#others()) question.resolve();
  }
}
