/** The part of the configuration that says what is put on record, and where. */
import { z } from 'zod';
import { durationHint, parseDurationMs } from './duration.ts';

const lasting = (fallback: string) => z.union([z.string(), z.number()])
  .refine((value) => parseDurationMs(value) !== undefined, { error: `expected ${durationHint}` })
  .transform((value) => parseDurationMs(value) as number)
  .prefault(fallback);
const mebibyte = 1_024 * 1_024;
const httpUrl = z.url({ protocol: /^https?$/, error: 'expected an http:// or https:// address' });
/** RFC 6901. */
const pointers = z.array(z.string().regex(/^(\/([^~/]|~[01])*)*$/, { error: 'expected a JSON pointer such as "/path/to/member", or "" for everything' })).max(100).default([]);
const places = z.strictObject({
  keep: pointers.describe('Values that are recorded as they are, by JSON pointers; "" is everything.'),
  hash: pointers.describe('Values that are recorded as a digest, so that equal ones can be told.'),
  redact: pointers.describe('Values that are never recorded, whatever else is kept.'),
}).prefault({});

const sink = z.strictObject({
  kind: z.enum(['file', 'jetstream', 'webhook', 'syslog', 'otlp']).describe('file: JSON lines in a folder. jetstream: a stream in the NATS of `bus`. webhook: POSTs to an address. syslog: RFC 5424 over TCP or TLS. otlp: logs of OpenTelemetry over HTTP.'),
  optional: z.boolean().default(false).describe('Whether records may pass it by when it is behind by the whole ring: it holds up no other sink, and `strict` does not wait for it.'),
  format: z.enum(['omnibus', 'ocsf']).default('omnibus').describe('ocsf: events of the Open Cybersecurity Schema Framework, for systems that collect those. Only what is in our own form can be verified.'),
  folder: z.string().min(1).optional().describe('file: where the files are, each process with its own. Made when it is not there, for nobody else to read.'),
  maxBytes: z.int().min(4_096).default(64 * mebibyte).describe('file: size after which a file is followed by the next.'),
  maxAge: lasting('1d').describe('file: time after which a file is followed by the next.'),
  keep: lasting('90d').describe('file, jetstream: how long records are kept.'),
  keepBytes: z.int().positive().optional().describe('file, jetstream: bytes of all that is kept. file: what is older goes first; default: 10 GiB. jetstream: nothing more is taken then, and nothing goes before its time; default: 1 GiB.'),
  url: httpUrl.optional().describe('webhook: where lines of JSON are posted. otlp: the receiver, such as "http://127.0.0.1:4318".'),
  headers: z.record(z.string(), z.string()).default({}).describe('webhook, otlp: sent along, for example `Authorization`. Secret.'),
  address: z.string().regex(/^(tcp|tls):\/\/[^/\s]+:\d{1,5}$/, { error: 'expected "tcp://host:port" or "tls://host:port"' }).optional().describe('syslog: where it is, "tls://logs.example.com:6514".'),
  caFile: z.string().min(1).optional().describe('syslog: certificates of the authority that signed its certificate, PEM. Default: the authorities that Node knows.'),
}).superRefine(({ kind, folder, url, address }, context) => {
  const needs = { file: folder === undefined ? 'folder' : undefined, jetstream: undefined, webhook: url === undefined ? 'url' : undefined, otlp: url === undefined ? 'url' : undefined, syslog: address === undefined ? 'address' : undefined }[kind];
  if (needs !== undefined) context.addIssue({ code: 'custom', message: `a sink of kind "${kind}" needs "${needs}"`, path: [needs] });
});

export const auditSchema = z.strictObject({
  sinks: z.array(sink).min(1).max(16).refine((sinks) => sinks.some(({ optional }) => !optional), { error: 'one of the sinks has to be there for every record: not all of them can be optional' }).describe('Where records go, several at once; each takes them at its own pace.'),
  calls: z.enum(['all', 'writes', 'refused']).default('all').describe('Of requests of clients. all: every one. writes: calls of tools that are not `readOnlyHint`, and what was refused. refused: only that. What administrators and the authorization server do is recorded in any case.'),
  strict: z.boolean().default(false).describe('Whether a call that is not read-only is sent only when its record is safe in every sink that is not optional. Otherwise it is refused with `audit.unavailable`. Every such call waits for the sinks then.'),
  strictWait: lasting('5s').describe('strict: how long a call waits for its record.'),
  who: z.enum(['key', 'names']).default('names').describe('names: issuer, subject and actors of a caller stand in its records. key: only the digests of them, which are the same for the same caller.'),
  ring: z.int().min(100).max(1_000_000).default(10_000).describe('Records that wait in one process for a sink. What there is no room for is counted in the chain.'),
  record: z.array(z.strictObject({
    tool: z.string().min(1).max(300).describe('`server/tool` by the server\'s own names, with `*` for any characters. The first that fits counts.'),
    arguments: places.describe('Of the arguments of its calls.'),
    results: places.describe('Of their results.'),
  })).max(500).default([]).describe('What of arguments and results is recorded besides their digest, 8 KiB of each at most. Default: nothing. Members called `Authorization` or `Cookie`, and answers of users, never are.'),
  checkpoints: z.strictObject({
    keyFile: z.string().min(1).describe('A file with the key that signs: a PEM with an Ed25519 key (`openssl genpkey -algorithm ed25519`), or base64 of at least 32 random bytes. Whoever has only the public part can verify and not sign.'),
    file: z.string().min(1).optional().describe('A file they are added to, on another disk or machine than the records.'),
    url: httpUrl.optional().describe('An address they are posted to.'),
    headers: z.record(z.string(), z.string()).default({}).describe('Sent along. Secret.'),
    every: lasting('1m').describe('How often.'),
  }).refine(({ file, url }) => file !== undefined || url !== undefined, { error: 'expected a second place: `file` or `url`' }).optional().describe('Where the chains stand, signed, for a second place: who can write records anew cannot write those anew.'),
}).refine(({ strict, calls }) => !strict || calls !== 'refused', { error: 'a call cannot wait for a record that is not made: `calls: all` or `writes`', path: ['strict'] });
