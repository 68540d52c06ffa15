import type { Config } from '../../core/config/config.js';
import { certificateFiles, certificateProblem, watchCertificate } from '../../services/kit/certificate.js';
import { exception, type Log } from '../../services/telemetry/log.js';
import type { HttpServer } from './server.js';

/**
 * Loads a new certificate when its files change, and redirects plain HTTP to HTTPS. Returns a function that stops
 * watching.
 */
export async function keepCertificate(
  server: Pick<HttpServer, 'redirectFrom' | 'renewCertificate'>,
  { host, tls }: Config['server'],
  log: Log,
): Promise<() => void> {
  const files = certificateFiles(tls);
  if (!files) return () => {};
  if (tls.redirectPort !== 0) await server.redirectFrom(host, tls.redirectPort);
  return watchCertificate(files, () => {
    const problem = certificateProblem(files);
    const renewed = problem === undefined ? server.renewCertificate() : Promise.reject(new Error(problem));
    renewed.then(
      () => log.write('http.certificate.renewed', {}),
      (error: unknown) => log.write('http.certificate.failed', exception(error)),
    );
  });
}
