import { ApiError } from '../../core/errors/errors.js';
import { asksForHtml } from '../../core/http/media.js';
import { defineOperation, type Exchange, type Operation, type Param } from '../../core/http/operation.js';
import { editFormPage } from '../pages/geoservices/operation-page.js';
import { createPageReply } from '../pages/page-reply.js';
import type { common } from './features/feature-server.js';

interface PostForm<P extends Record<string, Param<string>>> {
  readonly about: ReturnType<typeof common>;
  /** Path of the operation, which ends with its verb. */
  readonly path: string;
  readonly pathParams: P;
  readonly summary: string;
  readonly fields: readonly Pick<Param, 'name' | 'description'>[];
  /** Throws if the caller cannot use the form. */
  requireAccess(x: Exchange<P>): void;
}

/** Form for browsers at the path of an operation that only supports POST. Other clients get 405. */
export function postFormOperation<P extends Record<string, Param<string>>>(form: PostForm<P>): Operation {
  const { path, pathParams, summary, fields, requireAccess } = form;
  const { failure: _, present: _present, ...about } = form.about;
  const verb = path.slice(path.lastIndexOf('/') + 1);
  return defineOperation({
    ...about,
    method: 'GET',
    id: `geoservices.form${verb[0]!.toUpperCase()}${verb.slice(1)}`,
    path,
    summary: `Form: ${summary.toLowerCase()}`,
    params: pathParams,
    responses: { 200: { description: 'Page with the form. The form sends its content by POST.' } },
    run(x) {
      if (!asksForHtml(x.header('accept')))
        throw new ApiError('method-not-allowed', `GET: is not a method of ${verb}. Use POST.`, {
          headers: { allow: 'POST, OPTIONS' },
        });
      requireAccess(x as Exchange<P>);
      return createPageReply(editFormPage(x, { verb, summary, params: fields, values: {} }));
    },
  });
}
