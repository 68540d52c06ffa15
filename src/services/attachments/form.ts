import { ApiError, badParameter } from '../../core/errors/errors.js';
import { LIMITS } from '../../core/kit/limits.js';
import { receiveForm, type UploadSource } from '../uploads/upload.js';
import { type CheckedFile, checkFile, withFile } from './intake.js';
import { ATTACHMENT_LIMITS } from './limits.js';

/** Fields of a form by their names in lower case, and the file, if the form has one. */
export interface AttachmentForm {
  readonly fields: Readonly<Record<string, string>>;
  readonly file: CheckedFile | undefined;
}

/** Part of the form that is the file. */
const FILE = 'attachment';
/** Bytes of a form without a file. */
const FORM_BYTES = 65_536;

export interface FormRules {
  /** Folder for files while a form is in use. */
  readonly directory: string;
  /**
   * Called with the fields in front of the file before it is stored; a rejection ends the upload. After `unauthenticated` it
   * is called again with all fields, as a token may be behind the file.
   */
  admit(fields: AttachmentForm['fields']): Promise<void>;
}

/** Receives a form, with its file on the disk while `work` runs. Throws 400 naming the field that is wrong, 413, 415. */
export async function withForm<T>(
  source: UploadSource,
  { directory, admit }: FormRules,
  work: (form: AttachmentForm) => Promise<T>,
): Promise<T> {
  if (/^application\/x-www-form-urlencoded\b/i.test(source.contentType ?? '')) {
    const fields = collectFields(new URLSearchParams(await formatText(source.bytes)));
    await admit(fields);
    return work({ fields, file: undefined });
  }
  const admission = new Admission(admit);
  try {
    const form = await receiveForm(source, {
      directory,
      maxBytes: LIMITS.attachmentBytes,
      admit: (fields) => admission.begin(collectFields(fields)),
    });
    const fields = collectFields(form.fields);
    if (!form.file) {
      await admit(fields);
      return await work({ fields, file: undefined });
    }
    const { path, fileName: name, mediaType } = form.file;
    return await withFile(path, async () => {
      await admission.finish(fields);
      const file = await checkFile(path, { name, mediaType }, FILE);
      return work({ fields, file });
    });
  } finally {
    admission.end();
  }
}

/** Files of unknown callers that are being received. */
let unknownFiles = 0;

/** Admits a form by the fields in front of its file, or by all fields. Few files of unknown callers are received at a time. */
class Admission {
  #isOpen = false;

  constructor(private readonly admit: FormRules['admit']) {}

  async begin(fields: AttachmentForm['fields']): Promise<void> {
    try {
      await this.admit(fields);
    } catch (error) {
      const mayFollow = error instanceof ApiError && error.code === 'unauthenticated' && !('token' in fields);
      if (!mayFollow || unknownFiles >= ATTACHMENT_LIMITS.unknownAttachments) throw error;
      unknownFiles++;
      this.#isOpen = true;
    }
  }

  async finish(fields: AttachmentForm['fields']): Promise<void> {
    if (this.#isOpen) await this.admit(fields);
  }

  end(): void {
    if (this.#isOpen) unknownFiles--;
  }
}

function collectFields(entries: Iterable<readonly [string, string]>): Readonly<Record<string, string>> {
  return Object.fromEntries([...entries].map(([name, value]) => [name.toLowerCase(), value]));
}

async function formatText(bytes: AsyncIterable<Uint8Array>): Promise<string> {
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of bytes) {
    size += part.byteLength;
    if (size > FORM_BYTES) throw badParameter('body', `must have at most ${FORM_BYTES} bytes`);
    parts.push(Buffer.from(part));
  }
  return Buffer.concat(parts).toString('utf8');
}
