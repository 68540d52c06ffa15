import { badParameter } from '../../core/errors.js';
import { LIMITS } from '../../core/limits.js';
import { receiveUpload, type UploadSource } from '../upload.js';
import { type CheckedFile, checkFile, withFile } from './intake.js';

/** What came with a form, by the names of its fields in lower case, and the file, if it has one. */
export interface AttachmentForm {
  readonly fields: Readonly<Record<string, string>>;
  readonly file: CheckedFile | undefined;
}

/** Part of the form that is the file. */
const FILE = 'attachment';
/** Bytes of a form without a file. */
const FORM_BYTES = 65_536;

export interface FormRules {
  /** Where files are stored while a form is used. */
  readonly directory: string;
  /** Called with the fields of the form before its file is stored; a rejection ends the upload. */
  admit(fields: AttachmentForm['fields']): Promise<void>;
}

/** Receives a form, with its file on the disk while `work` runs. Throws 400 naming the field that is wrong, 413, 415. */
export async function withForm<T>(
  source: UploadSource,
  { directory, admit }: FormRules,
  work: (form: AttachmentForm) => Promise<T>,
): Promise<T> {
  if (/^application\/x-www-form-urlencoded\b/i.test(source.contentType ?? '')) {
    const fields = fieldsOf(new URLSearchParams(await textOf(source.bytes)));
    await admit(fields);
    return work({ fields, file: undefined });
  }
  const { path, fileName, mediaType, fields } = await receiveUpload(source, {
    directory,
    maxBytes: LIMITS.attachmentBytes,
    admit: (fields) => admit(fieldsOf(fields)),
  });
  return withFile(path, async () => {
    const file = await checkFile(path, { name: fileName, mediaType }, FILE);
    return work({ fields: fieldsOf(fields), file });
  });
}

function fieldsOf(entries: Iterable<readonly [string, string]>): Readonly<Record<string, string>> {
  return Object.fromEntries([...entries].map(([name, value]) => [name.toLowerCase(), value]));
}

async function textOf(bytes: AsyncIterable<Uint8Array>): Promise<string> {
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of bytes) {
    size += part.byteLength;
    if (size > FORM_BYTES) throw badParameter('body', `must not have more than ${FORM_BYTES} bytes`);
    parts.push(Buffer.from(part));
  }
  return Buffer.concat(parts).toString('utf8');
}
