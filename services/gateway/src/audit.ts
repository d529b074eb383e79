/** Opens the audit trail of this process with the sinks of the configuration. `@omnibus/audit` is loaded only where an audit is configured. */
import { appendFile, readFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { resolve } from 'node:path';
import type * as Audit from '@omnibus/audit';
import type { AuditTrail, Checkpoint, CheckpointKey, FileSinkOptions, LedgerSinkOptions, Sink } from '@omnibus/audit';
import { auditLedgerOf, isConflict, type Bus } from '@omnibus/bus';
import type { Config, Role } from '@omnibus/config';
import { newWorkerId, version } from '@omnibus/protocol';
import type { Logger, Metrics } from '@omnibus/telemetry';

export interface OpenAuditOptions {
  readonly config: Config;
  readonly baseFolder: string;
  readonly role: Role;
  readonly bus: Bus;
  readonly metrics: Metrics;
  readonly log: Logger;
}

type Library = typeof Audit;
type TrailOptions = ConstructorParameters<Library['AuditTrail']>[0];
type TrailObserver = TrailOptions['observer'];
type AuditConfig = NonNullable<Config['audit']>;
type SinkConfig = AuditConfig['sinks'][number];

/** Milliseconds that `audit.checkpoints.url` must accept a checkpoint. */
const postMs = 10_000;
/** Bytes that a sink keeps at most, where the configuration sets no `keepBytes`. */
const keepBytesOfFiles = 10 * 1024 ** 3;

/**
 * @returns undefined where no audit is configured.
 * @throws {Error} in words for the operator.
 */
export async function openAudit(options: OpenAuditOptions): Promise<AuditTrail | undefined> {
  const {
    config: { audit },
    baseFolder,
    role,
    metrics,
  } = options;
  if (audit === undefined) return undefined;
  const library = await import('@omnibus/audit');
  const writer = newWorkerId(role);
  const names = namesOf(audit.sinks);
  /** The sinks write records of their own into the trail, which consists of them. */
  const of: { trail?: AuditTrail } = {};
  const sinks = await openSinks(library, audit.sinks, { ...options, names, writer, of });
  const key =
    audit.checkpoints === undefined
      ? undefined
      : await readKey(library.readCheckpointKey, resolve(baseFolder, audit.checkpoints.keyFile));
  metrics.audit.describe(names);
  metrics.audit.ring.set(audit.ring);
  const trail = new library.AuditTrail({
    writer,
    sinks,
    calls: audit.calls,
    isStrict: audit.strict,
    confirmMs: audit.strictWait,
    ring: audit.ring,
    who: audit.who,
    rules: audit.record,
    key: key?.secret,
    checkpoints:
      key === undefined || audit.checkpoints === undefined
        ? undefined
        : { key, everyMs: audit.checkpoints.every, write: secondPlace(audit.checkpoints, baseFolder) },
    software: { software: 'omnibus', version, role, pid: process.pid, host: hostname() },
    observer: observerOf(options),
  });
  of.trail = trail;
  metrics.beforeScrape(() => {
    for (const { sink, records, isFailing } of trail.behind) metrics.audit.behind(sink, records, isFailing);
  });
  return trail;
}

/** A sink is named by its kind, with a number if there are several of the kind. */
function namesOf(sinks: readonly SinkConfig[]): readonly string[] {
  return sinks.map(({ kind }, index) =>
    sinks.filter((other) => other.kind === kind).length > 1 ? `${kind}-${index + 1}` : kind,
  );
}

function observerOf({ metrics, log }: OpenAuditOptions): TrailObserver {
  return {
    recorded: (records) => metrics.audit.records.inc(records),
    dropped: (records) => metrics.audit.dropped('all', records),
    skipped: (sink, records) => metrics.audit.dropped(sink, records),
    wrote: (sink, records) => metrics.audit.written(sink, records),
    failed(sink, error) {
      metrics.audit.failed(sink);
      log.error({ sink, problem: String(error) }, 'a sink of the audit takes no records; they wait');
    },
    recovered: (sink) => log.info({ sink }, 'the sink of the audit takes records again'),
    unwritten(error) {
      metrics.faulted('audit');
      log.error({ err: error }, 'an event could not be written as a record of the audit');
    },
    checkpointFailed(error) {
      metrics.audit.failed('checkpoint');
      log.error({ problem: String(error) }, 'a checkpoint of the audit could not be written');
    },
    left: (sink, records) =>
      log.error({ sink, records }, 'the process ends, and a sink of the audit has not stored all records'),
  };
}

interface SinksContext extends OpenAuditOptions {
  readonly names: readonly string[];
  readonly writer: string;
  readonly of: { readonly trail?: AuditTrail };
}

async function openSinks(
  library: Library,
  sinks: readonly SinkConfig[],
  { names, of, ...context }: SinksContext,
): Promise<TrailOptions['sinks']> {
  const { role, log, metrics } = context;
  const retired: FileSinkOptions['retired'] = (head, file) =>
    of.trail?.record({
      name: 'audit.retired',
      weight: 'always',
      more: { writer: head.writer, seq: head.seq, hash: head.hash, file },
    });
  const broken: LedgerSinkOptions['broken'] = (place, entry) => {
    const next = newWorkerId(role);
    log.error(
      { name: place, entry, next },
      'another program has written into the stream of the audit under the name of this process, which goes on with a new chain; `omnibus audit verify` shows what is foreign',
    );
    metrics.audit.failed('chain');
    of.trail?.begin(next, { writer: place, entry });
    return next;
  };
  return Promise.all(
    sinks.map(async (sink, index) => {
      const made = await openSink(library, sink, { ...context, name: names[index] as string, retired, broken });
      return { sink: sink.format === 'ocsf' ? library.asOcsf(made) : made, isOptional: sink.optional };
    }),
  );
}

interface SinkContext extends OpenAuditOptions {
  readonly name: string;
  readonly writer: string;
  readonly retired: FileSinkOptions['retired'];
  readonly broken: LedgerSinkOptions['broken'];
}

async function openSink(
  library: Library,
  sink: SinkConfig,
  { name, writer, retired, broken, baseFolder, bus, role }: SinkContext,
): Promise<Sink> {
  const { kind, folder = '', url = '', address = '', headers, maxBytes, maxAge, keep, keepBytes, caFile } = sink;
  switch (kind) {
    case 'file':
      return new library.FileSink({
        name,
        writer,
        folder: resolve(baseFolder, folder),
        maxBytes,
        maxAgeMs: maxAge,
        keepMs: keep,
        keepBytes: keepBytes ?? keepBytesOfFiles,
        retired,
      });
    case 'jetstream': {
      if (!bus.isDurable) throw new Error('audit: a sink of kind "jetstream" needs a NATS: "bus: nats://host:port"');
      const ledger = await bus.ledger(auditLedgerOf(sink));
      return new library.LedgerSink({
        name,
        writer,
        append: (place, text) => ledger.append(place, text),
        isForeign: isConflict,
        broken,
      });
    }
    case 'webhook':
      return new library.WebhookSink({ name, url, headers });
    case 'otlp':
      return new library.OtlpSink({
        name,
        endpoint: url,
        headers,
        resource: {
          'service.name': `omnibus-${role}`,
          'service.namespace': 'omnibus',
          'service.version': version,
          'service.instance.id': writer,
        },
      });
    case 'syslog': {
      const [, scheme, host = '', port] = /^(tcp|tls):\/\/\[?([^\]]+)\]?:(\d+)$/.exec(address) ?? [];
      const ca = caFile === undefined ? {} : { ca: await readFile(resolve(baseFolder, caFile), 'utf8') };
      return new library.SyslogSink({
        name,
        host,
        port: Number(port),
        tls: scheme === 'tls' ? ca : undefined,
        hostname: hostname(),
      });
    }
  }
}

async function readKey(read: (text: string) => CheckpointKey, file: string): Promise<CheckpointKey> {
  try {
    return read(await readFile(file, 'utf8'));
  } catch (error) {
    throw new Error(`audit.checkpoints.keyFile: ${file}: ${(error as Error).message}`, { cause: error });
  }
}

function secondPlace(
  { file, url, headers }: NonNullable<AuditConfig['checkpoints']>,
  baseFolder: string,
): (checkpoint: Checkpoint) => Promise<void> {
  return async (checkpoint) => {
    const line = `${JSON.stringify(checkpoint)}\n`;
    if (file !== undefined) await appendFile(resolve(baseFolder, file), line, { mode: 0o600, flush: true });
    if (url === undefined) return;
    const answer = await fetch(url, {
      method: 'POST',
      body: line,
      headers: { 'content-type': 'application/x-ndjson', ...headers },
      signal: AbortSignal.timeout(postMs),
    });
    if (!answer.ok) throw new Error(`${new URL(url).origin} answers ${answer.status}`);
  };
}
