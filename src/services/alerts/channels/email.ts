import { createHash } from 'node:crypto';
import { connect } from 'node:net';
import type { SendMailOptions } from 'nodemailer';
import { ConfigError } from '../../../core/config/config.js';
import { escapeHtml } from '../../../core/values/html.js';
import type { AllowedHosts } from '../../../workers/storage/remote/allowed-hosts.js';
import type { Sender } from '../../deliveries/lane.js';
import { DELIVERY_LIMITS } from '../../deliveries/limits.js';
import { ACCEPTED, type Outcome, refuseMessage, retry } from '../../deliveries/outcome.js';
import { type AlertContent, readContent } from './content.js';
import { cleanText } from './plain-text.js';

/** Maximum characters of a subject. */
const SUBJECT = 180;
/** Maximum milliseconds for a complete mail, which has several commands. */
const MAIL_MS = 3 * DELIVERY_LIMITS.attemptMs;

export interface MailSettings {
  readonly server: string;
  readonly user: string;
  readonly password: string;
  readonly from: string;
  readonly to: readonly string[];
}

const ICONS = { info: 'Info', warning: 'Warning', critical: 'Critical' } as const;

/** Mail with a text and an HTML part. All mails about an incident are in one thread. */
export function formatMail(
  { id, incident, severity, title, facts }: AlertContent,
  { from, to }: Pick<MailSettings, 'from' | 'to'>,
): SendMailOptions {
  const domain = /@([\w.-]+)/.exec(from)?.[1] ?? 'localhost';
  const formatId = (text: string) =>
    `<${createHash('sha256').update(text).digest('hex').slice(0, 40)}@${domain}>`;
  const subject = cleanText(`${ICONS[severity]}: ${title}`, SUBJECT);
  const rows = facts.map(
    ([name, value]) => `<tr><th align="left">${escapeHtml(name)}</th><td>${escapeHtml(value)}</td></tr>`,
  );
  const thread = incident === undefined ? undefined : formatId(incident);
  return {
    from,
    to: [...to],
    subject,
    messageId: formatId(id),
    ...(thread === undefined ? {} : { inReplyTo: thread, references: thread }),
    headers: { 'auto-submitted': 'auto-generated', 'x-svc-event-id': cleanText(id) },
    text: `${subject}\n\n${facts.map(([name, value]) => `${name}: ${value}`).join('\n')}\n`,
    html: `<!DOCTYPE html><html><body><h2>${escapeHtml(subject)}</h2><table>${rows.join('')}</table></body></html>`,
    disableFileAccess: true,
    disableUrlAccess: true,
  };
}

interface SmtpTarget {
  readonly url: URL;
  readonly secure: boolean;
  readonly requireTLS: boolean;
}

/** The SMTP server of a setting, if data can be sent to it. Throws `ConfigError`. */
function readServer(server: string, allowed: AllowedHosts): SmtpTarget {
  const setting = 'alerts.channels.email.server';
  const [, protocol, host] = /^(smtps?):\/\/([^/@?#]+)\/?$/.exec(server) ?? [];
  const secure = protocol === 'smtps';
  if (host === undefined || !URL.canParse(`http://${host}`))
    throw new ConfigError([`${setting}: must be smtps://HOST:PORT or smtp://HOST:PORT.`]);
  const withPort = /:\d+$/.test(host) ? host : `${host}:${secure ? 465 : 587}`;
  // The list of hosts is about URLs of HTTP: a connection with TLS is as safe as HTTPS.
  const isListed = allowed.problemOf(new URL(`http://${withPort}`)) === undefined;
  const problem = isListed ? undefined : allowed.problemOfReceiver(new URL(`https://${withPort}`));
  if (problem !== undefined) throw new ConfigError([`${setting}: ${problem}.`]);
  return { url: new URL(`http://${withPort}`), secure, requireTLS: !secure && !isListed };
}

/** Sends mails, one at a time: people cannot drop repeated ones. */
export function createMailer(settings: MailSettings, allowed: AllowedHosts): Sender {
  const target = readServer(settings.server, allowed);
  if (settings.from === '')
    throw new ConfigError(['alerts.channels.email.from: must be a mailbox, for example alerts@example.org.']);
  return {
    batch: 1,
    send: (eventId, body, signal) =>
      sendMail(formatMail(readContent(eventId, body), settings), { target, settings, allowed, signal }),
  };
}

interface MailContext {
  readonly target: SmtpTarget;
  readonly settings: MailSettings;
  readonly allowed: AllowedHosts;
  readonly signal: AbortSignal;
}

async function sendMail(
  mail: SendMailOptions,
  { target, settings, allowed, signal }: MailContext,
): Promise<Outcome> {
  const { url, secure, requireTLS } = target;
  const { user, password: pass } = settings;
  const { createTransport } = await import('nodemailer');
  const ends = AbortSignal.any([signal, AbortSignal.timeout(MAIL_MS)]);
  const host = url.hostname.replace(/^\[|\]$/g, '');
  // The URL parser omits port 80.
  const port = Number(url.port || 80);
  const socket = connect({ host, port, lookup: allowed.lookupOf(url), signal: ends });
  try {
    await new Promise<void>((resolve, reject) => {
      socket.once('connect', resolve).once('error', reject);
      socket.setTimeout(DELIVERY_LIMITS.attemptMs, () => socket.destroy(new Error('no answer in time')));
    });
    const transport = createTransport({
      ...{ host, port, secure, requireTLS, connection: socket },
      ...(user === '' ? {} : { auth: { user, pass } }),
      tls: { servername: host },
      greetingTimeout: DELIVERY_LIMITS.attemptMs,
      socketTimeout: DELIVERY_LIMITS.attemptMs,
    });
    const ended = new Promise<never>((_resolve, reject) => {
      socket.once('error', reject).once('close', () => reject(new Error('the connection was closed')));
    });
    ended.catch(() => {});
    await Promise.race([transport.sendMail(mail), ended]);
    return ACCEPTED;
  } catch (error) {
    return readMailError(error as Error);
  } finally {
    socket.destroy();
  }
}

/** Commands about the mail. Errors of other commands do not depend on it. */
const MAIL_COMMANDS = /^(MAIL FROM|RCPT TO|DATA)/;

/** A permanent reply (5xx) to a command about the mail refuses it. */
function readMailError(error: Error & { responseCode?: number; command?: string }): Outcome {
  const { responseCode = 0, command = '', message } = error;
  const text = cleanText(message);
  return responseCode >= 500 && MAIL_COMMANDS.test(command) ? refuseMessage(text) : retry(text);
}
