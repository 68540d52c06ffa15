/** Texts with one secret each, and harmless texts that resemble them. All secrets are made up when the module loads. */

const ALPHABETS = {
  hex: '0123456789abcdef',
  base32: 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567',
  digits: '0123456789',
  letters: 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789',
};

let state = 53;
/** The same characters in each run. */
function draw(length: number, alphabet: keyof typeof ALPHABETS = 'letters'): string {
  const characters = ALPHABETS[alphabet];
  return Array.from({ length }, () => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return characters[Math.floor((state / 2 ** 31) * characters.length)];
  }).join('');
}
const base64 = (text: string) => Buffer.from(text).toString('base64');
const base64url = (text: string) => Buffer.from(text).toString('base64url');
const jwt = () => {
  const head = base64url(JSON.stringify({ alg: 'HS256', typ: 'JWT' }));
  return `${head}.${base64url(JSON.stringify({ sub: draw(12), exp: 1_900_000_000 }))}.${draw(43)}`;
};
const pem = (kind: string) =>
  `-----BEGIN ${kind}-----\n${[1, 2, 3].map(() => draw(64)).join('\n')}\n-----END ${kind}-----`;
const around = (before: string, secret: string, after = '') => ({ text: before + secret + after, secret });

export const SECRET_TEXTS: readonly { readonly text: string; readonly secret: string }[] = [
  // Connection strings
  around('postgresql://gis:', draw(12), '@db.example.org:5432/gis'),
  around('postgres://gis:', `${draw(6)}%40${draw(4)}`, '@db/gis?sslmode=require'),
  around('could not connect to "host=db user=gis password=', draw(10), ' dbname=gis"'),
  around("host=db password='", `${draw(5)} ${draw(5)}`, "' dbname=gis"),
  around('PG:host=db user=gis password=', draw(14), ' active_schema=public'),
  around('mysql://root:', draw(16), '@10.0.0.4/maps'),
  around('redis://:', draw(20), '@cache:6379/0'),
  around('mongodb+srv://app:', draw(12), '@cluster0.example.net/test'),
  around('amqp://guest:', draw(9), '@broker:5672/%2f'),
  around('Server=tcp:sql;Database=gis;User ID=sa;Password=', draw(15), ';Encrypt=true'),
  around('Server=sql;Uid=sa;Pwd=', draw(11), ';'),
  around('DefaultEndpointsProtocol=https;AccountName=maps;AccountKey=', `${draw(86)}==`, ';'),
  around('Endpoint=sb://x.example/;SharedAccessKeyName=r;SharedAccessKey=', `${draw(43)}=`, ''),
  around('ftp://user:', draw(8), '@files.example.org/a.zip'),
  around('https://user:', draw(18), '@wfs.example.org/ows?service=WFS'),
  // Queries
  around('GET /rest/services?f=json&token=', draw(40), ' failed'),
  around('https://tiles.example.org/1/2/3?access_token=', `pk.${draw(60)}`, '&fresh=true'),
  around('https://maps.example.org/api?key=', draw(39), '&v=weekly'),
  around('/items?apikey=', draw(32, 'hex'), '&limit=10'),
  around('/items?api_key=', draw(24), ''),
  around('https://b.example.org/o.tif?X-Amz-Signature=', draw(64, 'hex'), '&X-Amz-Expires=60'),
  around('https://b.example.org/o.tif?X-Amz-Security-Token=', draw(200), '&x=1'),
  around('https://x.blob.example.net/c/o.tif?sv=2024-01-01&sig=', `${draw(42)}%3D`, '&se=2027'),
  around('https://s.example.org/o?X-Goog-Signature=', draw(256, 'hex'), ''),
  around('/login?user=a&password=', draw(8), '&next=/'),
  around('/oauth?client_secret=', draw(40), '&grant_type=client_credentials'),
  around('/oauth?refresh_token=', draw(44), ''),
  around('/callback?code_verifier=', draw(43), '&state=1'),
  // Lines of headers
  around('Authorization: Bearer ', draw(32), '\nAccept: */*'),
  around('authorization: Basic ', base64(`gis:${draw(9)}`), ''),
  around('Authorization: Digest username="gis", realm="x", response="', draw(32, 'hex'), '"'),
  around('Authorization: ApiKey ', draw(22), ''),
  around('Authorization: Token ', draw(40, 'hex'), ''),
  around('Proxy-Authorization: Basic ', base64(`p:${draw(12)}`), ''),
  around('Authorization: AWS4-HMAC-SHA256 Credential=x/20261201/a/s3, Signature=', draw(64, 'hex'), ''),
  around('X-Api-Key: ', draw(43), '\r\nAccept: text/html'),
  around('X-Esri-Authorization: Bearer ', draw(60), ''),
  around('Cookie: theme=dark; session=', draw(32), ''),
  around('Set-Cookie: sid=', draw(32), '; HttpOnly; Secure'),
  around('{"headers":{"authorization":"Bearer ', draw(30), '"}}'),
  around("curl -H 'X-API-Key: ", draw(36), "' http://localhost"),
  // Members of documents
  around('{"password":"', draw(8), '"}'),
  around('{"user":"gis","passwd": "', draw(12), '"}'),
  around('{"client_secret":"', draw(32), '","client_id":"maps"}'),
  around('{"access_token":"', draw(50), '","expires_in":3600}'),
  around('{"apiKey":"', draw(26), '"}'),
  around('{\\"secret\\":\\"', draw(16), '\\"}'),
  around('secretKey: ', `${draw(30)}7`, '\nregion: eu'),
  around('SVC_ADMIN_KEY=', draw(32), ''),
  around('PGPASSWORD=', draw(10), ' psql -h db'),
  around('<password>', draw(12), '</password>'),
  // Keys by their own form
  around('aws_access_key_id = ', `AKIA${draw(16, 'base32')}`, ''),
  around('aws_secret_access_key = ', draw(40), ''),
  around('using ', `ASIA${draw(16, 'base32')}`, ' for the bucket'),
  around('pushed with ', `ghp_${draw(36)}`, ''),
  around('slack ', `xoxb-${draw(12, 'digits')}-${draw(12, 'digits')}-${draw(24)}`, ''),
  around('id token ', jwt(), ' rejected'),
  around('', pem('RSA PRIVATE KEY'), ''),
  around('key:\n', pem('EC PRIVATE KEY'), '\nend'),
  around('{"private_key":"', pem('PRIVATE KEY').replaceAll('\n', '\\n'), '"}'),
];

export const HARMLESS_TEXTS: readonly string[] = [
  'postgresql://db.example.org:5432/gis',
  'postgresql://gis@db.example.org/gis?sslmode=require',
  'could not connect to server: Connection refused (host=db user=gis dbname=gis)',
  'password authentication failed for user "gis"',
  'password: is required.',
  'The password must have at least 12 characters.',
  'password=***',
  '{"password":"***"}',
  '{"password":null,"token":null}',
  '{"password":"","user":"gis"}',
  '/items?token={value}&limit={value}',
  'https://maps.example.org/api?key={value}',
  '/login?password=<redacted>&next=/',
  'apiKey: {value}',
  'Authorization: {value}',
  'Authorization: Bearer {value}',
  'Authorization: [authorization]',
  'The Authorization header is missing.',
  'authorization: This operation requires an API key, a bearer token or basic credentials.',
  'Set X-API-Key: $KEY and send the request again.',
  'curl -H "Authorization: Bearer $TOKEN" http://localhost:8080',
  'export PGPASSWORD=$PASSWORD',
  'The token expired at 2026-12-01T01:19:04.017Z.',
  'token: must be a token of this server.',
  'Unexpected token < in JSON at position 0',
  'cookies are disabled',
  'basic authentication is off',
  'Bearer tokens need an OIDC provider.',
  'Tokens: 1024, completion: 33',
  'key: name, sort: asc',
  '{"key":"population","value":1234567}',
  '{"keys":["name","population"]}',
  'sortby=-population&limit=100',
  'primary key (fid)',
  'duplicate key value violates unique constraint "countries_pkey"',
  'keyPattern: countries/*',
  'foreignKey: "parent_id"',
  '{"tokenCount":"12345678","monkey":"abcdefgh"}',
  'https://example.org/ogc/features/collections/countries/items?limit=10&bbox=1,2,3,4',
  'https://s3.example.org/bucket/a.tif?X-Amz-Expires=3600',
  'ETag: "5d41402abc4b2a76b9719d911017c592"',
  'sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824',
  '3f2504e0-4f89-41d3-9a0c-0305e82c3301',
  'X-Request-Id: twlmng-0000000o',
  'traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
  'Server-Timing: vector-tile;dur=4.76, queue;dur=0.6;desc="process 2298 thread 3"',
  'Cache-Control: public, max-age=60, stale-while-revalidate=300',
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk',
  '-----BEGIN CERTIFICATE-----\nMIIBszCCAVmgAwIBAgIUQ2VydGlmaWNhdGU\n-----END CERTIFICATE-----',
  '-----BEGIN PUBLIC KEY-----\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE\n-----END PUBLIC KEY-----',
  'SELECT t."fid", t."geom" FROM "public"."cars" t WHERE (TRUE) ORDER BY t."fid" LIMIT $1::int8',
  '{"type":"Point","coordinates":[13.404954,52.520008]}',
  '{"name":"Secret Lake","password_hint":false}',
  'secretary: Maria',
  'The secret of the webhook is not set.',
  'secrets/validate returned 200',
  'signature=point&mode=fast',
  'mailto:gis@example.org',
  'arn:aws:s3:::maps/tiles',
  'AKIA is the prefix of an access key.',
];
