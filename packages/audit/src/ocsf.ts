/**
 * Converts records into events of the Open Cybersecurity Schema Framework 1.3:
 * - requests and acts of administrators are API Activity (6003);
 * - sign-ins are Authentication (3002);
 * - consents are User Access Management (3005);
 * - users of directories are Account Change (3001), and groups of directories Group Management (3006).
 *
 * Members without a counterpart are under `unmapped`.
 */
import { batchOf } from './lines.ts';
import type { Sink } from './sink.ts';

type Members = Readonly<Record<string, unknown>>;

const classes = {
  api: { uid: 6_003, category: 6 },
  authentication: { uid: 3_002, category: 3 },
  access: { uid: 3_005, category: 3 },
  account: { uid: 3_001, category: 3 },
  group: { uid: 3_006, category: 3 },
} as const;
/** Activity ids that differ from those of their class. */
const activities: ReadonlyMap<string, number> = new Map([
  ['mcp.list', 2],
  ['mcp.read', 2],
  ['consent.withdrawn', 2],
  ['scim.user.activated', 2],
  ['scim.user.deactivated', 5],
  ['scim.user.deleted', 6],
  ['scim.group.deleted', 5],
  ['scim.group.created', 6],
]);
const otherActivity = 99;
const statuses = { success: 1, failure: 2, other: 99 } as const;

/** The class of each event, by how its name begins. */
const kinds: readonly (readonly [start: string, kind: keyof typeof classes])[] = [
  ['auth.', 'authentication'],
  ['consent.', 'access'],
  ['scim.user.', 'account'],
  ['scim.group.', 'group'],
];

function activityOf(event: string, kind: keyof typeof classes, record: Members): number {
  if (event === 'scim.group.members') return record['omnibus.added'] === undefined ? 4 : 3;
  const isOther = kind === 'api' || event.endsWith('.changed');
  return activities.get(event) ?? (isOther ? otherActivity : 1);
}

function statusOf(outcome: string | undefined): number {
  if (outcome === undefined || outcome === 'started' || outcome === 'unknown') return statuses.other;
  return outcome === 'ok' ? statuses.success : statuses.failure;
}

type Word = (name: string) => string | undefined;

/** The members of a class that name the object of its event. */
function aboutOf(kind: keyof typeof classes, event: string, record: Members, word: Word): Members {
  const user = { uid: word('omnibus.principal') ?? word('user.id'), name: word('user.id') };
  switch (kind) {
    case 'api':
      return {
        api: {
          operation: word('mcp.method.name') ?? event,
          service: { name: word('omnibus.server') ?? 'omnibus' },
          request: { uid: word('jsonrpc.request.id') ?? '' },
        },
      };
    case 'authentication':
      return { user };
    case 'access':
      return { user, privileges: record['omnibus.scopes'] ?? [] };
    case 'account':
      return { user: { uid: word('omnibus.id'), name: word('omnibus.user') } };
    case 'group':
      return { group: { uid: word('omnibus.id'), name: word('omnibus.group') } };
  }
}

/** Converts one line. */
function toOcsf(line: string): string {
  const record = JSON.parse(line) as Members;
  const word: Word = (name) => (typeof record[name] === 'string' ? record[name] : undefined);
  const event = word('event.name') ?? '';
  const [, kind] = kinds.find(([start]) => event.startsWith(start)) ?? ['', 'api' as const];
  const { uid, category } = classes[kind];
  const outcome = word('omnibus.outcome');
  const activity = activityOf(event, kind, record);
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
    ...aboutOf(kind, event, record, word),
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
