import Type, { type TSchema } from 'typebox';
import { CHANNELS } from '../alerts/alerts.js';

/** Settings of the targets to which alerts are sent. A channel without a target is not configured. */

const text = (description: string, extra = {}) => Type.String({ description, default: '', ...extra });
const secret = (description: string) => text(description, { 'x-secret': true });
const section = <T extends Record<string, TSchema>>(properties: T) =>
  Type.Object(properties, { additionalProperties: false, default: {} });
const list = (description: string) => Type.Array(Type.String(), { description, default: [] });
const cap = (ratePerMinute: number) => ({
  ratePerMinute: Type.Integer({
    description:
      'Maximum number of messages per minute on all servers. Further alerts are joined into the last message of the minute.',
    default: ratePerMinute,
    minimum: 1,
    maximum: 100_000,
  }),
});

const REGION = 'AWS region. Default: the region in the target.';
const ENDPOINT = 'URL of the service, for compatible services. Default: the endpoint of AWS.';

export const AlertChannelsSchema = section({
  webhook: section({
    url: text(
      'HTTPS URL that receives alerts, or HTTP URL of a host in remote.allow. See docs/how-to/operate/alert-channels.md.',
    ),
    secret: secret('Key that signs the requests, at least 16 characters.'),
    ...cap(600),
  }),
  websocket: section(cap(6000)),
  email: section({
    server: text(
      'SMTP server: smtps://HOST:465, or smtp://HOST:587, which must support STARTTLS unless the host is in remote.allow.',
    ),
    user: text('User name for the SMTP server. Default: no sign-in.'),
    password: secret('Password for the SMTP server.'),
    from: text('Sender address.'),
    to: list('Addresses that receive one mail per alert.'),
    ...cap(30),
  }),
  digest: section({
    to: list('Addresses that receive one mail for all alerts of an interval, through the server of email.'),
    minutes: Type.Integer({
      description: 'Minimum minutes between two digest mails.',
      default: 60,
      minimum: 1,
      maximum: 1440,
    }),
  }),
  slack: section({ url: secret('URL of an incoming webhook of Slack.'), ...cap(30) }),
  microsoft_teams: section({ url: secret('URL of a Workflows webhook of Microsoft Teams.'), ...cap(30) }),
  aws_sns: section({
    topicArn: text('ARN of the SNS topic. Credentials come from the standard sources of the AWS SDK.'),
    region: text(REGION),
    endpoint: text(ENDPOINT),
    ...cap(6000),
  }),
  aws_sqs: section({
    queueUrl: text('URL of the SQS queue. Credentials come from the standard sources of the AWS SDK.'),
    region: text(REGION),
    endpoint: text(ENDPOINT),
    ...cap(6000),
  }),
  azure_eventgrid: section({
    url: text('URL of an Event Grid topic with the CloudEvents 1.0 schema.'),
    key: secret('Access key of the topic.'),
    ...cap(6000),
  }),
  azure_eventhub: section({
    url: text('URL of the event hub: https://NAMESPACE.servicebus.windows.net/HUB'),
    keyName: text('Name of the shared access policy.'),
    key: secret('Key of the shared access policy.'),
    ...cap(6000),
  }),
});

export const OperatorNoticesSchema = section({
  channels: Type.Array(Type.Union(CHANNELS.map((name) => Type.Literal(name))), {
    description: 'Alert channels that also receive notices to operators. Default: none.',
    default: [],
  }),
  minSeverity: Type.Union([Type.Literal('warning'), Type.Literal('error')], {
    description: 'Minimum severity of the operator notices that alert channels receive.',
    default: 'warning',
  }),
});
