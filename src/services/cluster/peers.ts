import { randomUUID } from 'node:crypto';
import type { AnswerNote, AskNote } from '../../core/cluster/notes.js';

interface Question {
  readonly answers: unknown[];
  readonly resolve: () => void;
}

/** A gateway that is starting, or that is stuck, is not waited for any longer. */
const PATIENCE_MS = 1000;

/**
 * Questions that a gateway puts to the others that share its state: what one of them holds, all can tell. An answer
 * comes within a second or not at all. Nothing about sessions and listeners is kept in the state database.
 */
export class Peers {
  readonly #others: () => number;
  readonly #tell: (note: AskNote | AnswerNote) => void;
  readonly #topics = new Map<string, (about: unknown) => unknown>();
  readonly #questions = new Map<string, Question>();

  /** `others`: how many other gateways are there now. */
  constructor(others: () => number, tell: (note: AskNote | AnswerNote) => void) {
    this.#others = others;
    this.#tell = tell;
  }

  /** Says how this gateway answers questions of a topic: with data. */
  answer(topic: string, answer: (about: unknown) => unknown): void {
    this.#topics.set(topic, answer);
  }

  /** Answers of all gateways, this one's first; of those that did not answer in time there is none. */
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

  /** Takes what another gateway asks or answers. */
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
