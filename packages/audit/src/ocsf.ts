/**
 * Converts records into events of the Open Cybersecurity Schema Framework 1.3: requests are API Activity (6003), sign-ins are Authentication (3002),
 * consents are User Access Management (3005), acts of administrators API Activity. Members without a counterpart are under `unmapped`.
 */
import { batchOf } from './lines.ts';
import type { Sink } from './sink.ts';

type Members = Readonly<Record<string, unknown>>;

const classes = {
  api: { uid: 6_003, category: 6 },
  authentication: { uid: 3_002, category: 3 },
  access: { uid: 3_005, category: 3 },
} as const;
/** Activity ids that differ from those of their class. */
const activities: ReadonlyMap<string, number> = new Map([
  ['mcp.list', 2],
  ['mcp.read', 2],
  ['consent.withdrawn', 2],
]);
const otherActivity = 99;
const statuses = { success: 1, failure: 2, other: 99 } as const;

function statusOf(outcome: string | undefined): number {
  if (outcome === undefined || outcome === 'started' || outcome === 'unknown') return statuses.other;
  return outcome === 'ok' ? statuses.success : statuses.failure;
}

/** Converts one line. */
function toOcsf(line: string): string {
  const record = JSON.parse(line) as Members;
  const word = (name: string): string | undefined => (typeof record[name] === 'string' ? record[name] : undefined);
  const event = word('event.name') ?? '';
  const kind = event.startsWith('auth.') ? 'authentication' : event.startsWith('consent.') ? 'access' : 'api';
  const { uid, category } = classes[kind];
  const outcome = word('omnibus.outcome');
  const activity = activities.get(event) ?? (kind === 'api' ? otherActivity : 1);
  const tool = word('omnibus.tool') ?? word('gen_ai.tool.name') ?? word('mcp.resource.uri');
  return JSON.stringify({
    class_uid: uid,
    category_uid: category,
    activity_id: activity,
    type_uid: uid * 100 + activity,
    severity_id: 1,
    status_id: statusOf(outcome),
    status_code: word('error.type') ?? outcome,
    time: Date.parse(word('time') ?? ''),
    duration: typeof record['omnibus.duration_ms'] === 'number' ? Math.round(record['omnibus.duration_ms']) : undefined,
    message: event,
    metadata: {
      version: '1.3.0',
      product: { name: 'Omnibus', vendor_name: 'Omnibus' },
      uid: record['hash'],
      correlation_uid: word('trace_id'),
    },
    actor: {
      user: { uid: word('omnibus.principal'), name: word('user.id'), domain: word('omnibus.issuer') },
      app_uid: word('omnibus.client'),
      session: word('mcp.session.id') === undefined ? undefined : { uid: word('mcp.session.id') },
    },
    ...(kind === 'api'
      ? {
          api: {
            operation: word('mcp.method.name') ?? event,
            service: { name: word('omnibus.server') ?? 'omnibus' },
            request: { uid: word('jsonrpc.request.id') ?? '' },
          },
        }
      : { user: { uid: word('omnibus.principal') ?? word('user.id'), name: word('user.id') } }),
    ...(kind === 'access' ? { privileges: record['omnibus.scopes'] ?? [] } : {}),
    src_endpoint: { ip: word('client.address') },
    resources: tool === undefined ? undefined : [{ name: tool, type: word('mcp.method.name') }],
    unmapped: record,
  });
}

/** Wraps a sink so that it gets events instead of records. */
export function asOcsf(sink: Sink): Sink {
  return {
    name: sink.name,
    batch: sink.batch,
    write: (lines, from) => sink.write(batchOf(lines.texts().map(toOcsf)), from),
    ...(sink.sync === undefined ? {} : { sync: async () => sink.sync?.() }),
    close: () => sink.close(),
  };
}
