/** The part of the configuration about audit records: contents and sinks. */
import { z } from 'zod';
import { duration, httpUrl, nonEmpty, offByDefault, optionalText, textMap } from './plain-options.ts';

const mebibyte = 1_024 * 1_024;
/** JSON pointers (RFC 6901). */
const pointers = z
  .array(
    z.string().regex(/^(\/([^~/]|~[01])*)*$/, {
      error: 'expected a JSON pointer such as "/path/to/member", or "" for everything',
    }),
  )
  .max(100)
  .default([]);
const places = z
  .strictObject({
    keep: pointers.describe('JSON pointers to values that are recorded as they are; "" is everything.'),
    hash: pointers.describe(
      'JSON pointers to values that are recorded as a digest, so that equal values can be recognized.',
    ),
    redact: pointers.describe('JSON pointers to values that are not recorded, even inside a value that `keep` names.'),
  })
  .prefault({});

const sink = z
  .strictObject({
    kind: z
      .enum(['file', 'jetstream', 'webhook', 'syslog', 'otlp'])
      .describe(
        'file: JSON lines in a folder. jetstream: a stream in the NATS of `bus`. webhook: POSTs to an address. syslog: RFC 5424 over TCP or TLS. otlp: logs of OpenTelemetry over HTTP.',
      ),
    optional: offByDefault.describe(
      'true: when the sink is behind by the whole `ring`, it misses records, so that it never holds up the other sinks; `strict` does not wait for it.',
    ),
    format: z
      .enum(['omnibus', 'ocsf'])
      .default('omnibus')
      .describe(
        "omnibus: the gateway's own records, which `omnibus audit verify` can check. ocsf: events of the Open Cybersecurity Schema Framework, for systems that collect those; they cannot be verified.",
      ),
    folder: optionalText.describe(
      'file: folder in which each process writes its own files. It is created if missing, readable by its owner only.',
    ),
    maxBytes: z
      .int()
      .min(4_096)
      .default(64 * mebibyte)
      .describe('file: size in bytes at which a process begins a new file.'),
    maxAge: duration('1d').describe('file: age at which a process begins a new file.'),
    keep: duration('90d').describe('file, jetstream: retention of records.'),
    keepBytes: z
      .int()
      .positive()
      .optional()
      .describe(
        'file, jetstream: bytes of all stored records. file: beyond it the gateway removes the oldest files; default: 10 GiB. jetstream: beyond it the stream accepts no more records, and removes none before `keep`; default: 1 GiB.',
      ),
    url: httpUrl
      .optional()
      .describe(
        'webhook: address that lines of JSON are posted to. otlp: the receiver, such as "http://127.0.0.1:4318".',
      ),
    headers: textMap.describe(
      'webhook, otlp: HTTP headers that are sent with each request, for example `Authorization`. Secret.',
    ),
    address: z
      .string()
      .regex(/^(tcp|tls):\/\/[^/\s]+:\d{1,5}$/, { error: 'expected "tcp://host:port" or "tls://host:port"' })
      .optional()
      .describe('syslog: address of the syslog server, such as "tls://logs.example.com:6514".'),
    caFile: optionalText.describe(
      "syslog: file with the certificates of the authority that signed the server's certificate, PEM. Default: the authorities that Node knows.",
    ),
  })
  .superRefine(({ kind, folder, url, address }, context) => {
    const needs = {
      file: folder === undefined ? 'folder' : undefined,
      jetstream: undefined,
      webhook: url === undefined ? 'url' : undefined,
      otlp: url === undefined ? 'url' : undefined,
      syslog: address === undefined ? 'address' : undefined,
    }[kind];
    if (needs !== undefined)
      context.addIssue({ code: 'custom', message: `a sink of kind "${kind}" needs "${needs}"`, path: [needs] });
  });

export const auditSchema = z
  .strictObject({
    sinks: z
      .array(sink)
      .min(1)
      .max(16)
      .refine((sinks) => sinks.some(({ optional }) => !optional), {
        error: 'at least one sink has to take every record: not all of them can be optional',
      })
      .describe('Where records go. Several sinks work side by side, each at its own pace.'),
    calls: z
      .enum(['all', 'writes', 'refused'])
      .default('all')
      .describe(
        'Which requests of clients are recorded. all: every one. writes: calls of tools without `readOnlyHint`, and refusals. refused: refusals only. Acts of administrators and of the authorization server are always recorded.',
      ),
    strict: offByDefault.describe(
      'true: a call that is not read-only is sent only after every sink that is not optional has stored a record of it, so each such call waits for the sinks; if none can be stored, the call is refused with `audit.unavailable`.',
    ),
    strictWait: duration('5s').describe('strict: how long a call waits for its record to be stored.'),
    who: z
      .enum(['key', 'names'])
      .default('names')
      .describe(
        'names: records contain the issuer, subject and actors of the caller. key: records contain digests of these only, which are equal for the same caller.',
      ),
    ring: z
      .int()
      .min(100)
      .max(1_000_000)
      .default(10_000)
      .describe(
        'Records that can wait in one process for a sink. Records beyond it are lost, and the chain says how many.',
      ),
    record: z
      .array(
        z.strictObject({
          tool: nonEmpty
            .max(300)
            .describe(
              'Which tool the entry is about: `server/tool` with the name that the server gives, and `*` for any characters. The first entry that matches a call is used.',
            ),
          arguments: places.describe('How to record the arguments of its calls.'),
          results: places.describe('How to record the results of its calls.'),
        }),
      )
      .max(500)
      .default([])
      .describe(
        "Values of arguments and results that are recorded in addition to their digest, at most 8 KiB of each. Default: none. Members called `Authorization` or `Cookie`, and users' answers to questions, are never recorded.",
      ),
    checkpoints: z
      .strictObject({
        keyFile: nonEmpty.describe(
          'A file with the key that signs checkpoints: a PEM with an Ed25519 key (`openssl genpkey -algorithm ed25519`), whose public part can verify them, or base64 of at least 32 random bytes.',
        ),
        file: optionalText.describe(
          'A file that checkpoints are appended to; put it on another disk or machine than the records.',
        ),
        url: httpUrl.optional().describe('An address that checkpoints are posted to.'),
        headers: textMap.describe('HTTP headers that are sent with each checkpoint. Secret.'),
        every: duration('1m').describe('Time between two checkpoints.'),
      })
      .refine(({ file, url }) => file !== undefined || url !== undefined, {
        error: 'expected a second place: `file` or `url`',
      })
      .optional()
      .describe(
        'Signed statements of how far each chain of records has come, stored in a second place: an attacker able to rewrite all records cannot rewrite these.',
      ),
  })
  .refine(({ strict, calls }) => !strict || calls !== 'refused', {
    error:
      'strict needs `calls: all` or `calls: writes`: with `calls: refused` there is no record of a call to wait for',
    path: ['strict'],
  });
