export interface FormPart {
  name: string;
  content: string | Buffer;
  filename?: string;
}

/** A multipart/form-data body. */
export function multipart(parts: readonly FormPart[]): { contentType: string; body: Buffer } {
  const boundary = 'graticule-test-boundary';
  const chunks = parts.flatMap(({ name, content, filename }) => {
    const file =
      filename === undefined ? '' : `; filename="${filename}"\r\nContent-Type: application/octet-stream`;
    return [
      Buffer.from(`--${boundary}\r\nContent-Disposition: form-data; name="${name}"${file}\r\n\r\n`),
      Buffer.from(content),
      Buffer.from('\r\n'),
    ];
  });
  const body = Buffer.concat([...chunks, Buffer.from(`--${boundary}--\r\n`)]);
  return { contentType: `multipart/form-data; boundary=${boundary}`, body };
}
