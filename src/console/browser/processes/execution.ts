/** Response to a request that executes a process: a job, or a problem document. */
export interface ExecutionAnswer {
  readonly jobID?: string;
  readonly detail?: string;
  readonly errors?: readonly { readonly name: string }[];
}

/** Executes a process as a job. Without a response of the server, the status is 503. */
export async function postExecution(
  url: string,
  body: unknown,
): Promise<{ readonly status: number; readonly isAccepted: boolean; readonly answer: ExecutionAnswer }> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json', prefer: 'respond-async' },
    body: JSON.stringify(body),
  }).catch((error: Error) => new Response(JSON.stringify({ detail: error.message }), { status: 503 }));
  const answer = (await response.json().catch(() => ({}))) as ExecutionAnswer;
  return { status: response.status, isAccepted: response.ok && answer.jobID !== undefined, answer };
}
