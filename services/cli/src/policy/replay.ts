/**
 * Decides recorded calls by the rules of a configuration: which of them its `deny`, `ask` and labels would have stopped. Rights (`allow`) are left out, since
 * the calls were permitted when they were made. Records are read once, in the order of their times; conversations and rows in memory have bounds.
 */
import type { AnyRecord } from '@omnibus/audit';
import { enabledServers, trustedHints, type Config } from '@omnibus/config';
import { compile, effectOf, type Policy, type Rights, type RuleSettings, type Target } from '@omnibus/policy';
import { anonymous, type Facts, type Labels, type Principal } from '@omnibus/protocol';
import { guardedRules } from '@omnibus/setup/rules';

export interface ReplayOptions {
  readonly config: Config;
  /** Annotations of tools, by `server/tool`. */
  readonly hints: ReadonlyMap<string, unknown>;
  /** Bound on conversations in memory. */
  readonly maxConversations?: number;
  /** Bound on rows; calls beyond it are counted together. */
  readonly maxRows?: number;
}

/** Calls of one tool by one user that one rule would have stopped. */
export interface Row {
  readonly would: 'ask' | 'deny';
  readonly rule: string;
  readonly server: string;
  /** The tool or prompt, or the scheme of a resource. */
  readonly item: string;
  readonly user: string;
  /** Where the labels of the first call were from: `untrusted since web/fetch`. */
  readonly labels: readonly string[];
  calls: number;
  /** How many of them depend on facts that records do not have. */
  unsure: number;
}

export interface Replayed {
  readonly records: number;
  /** Calls that reached a server. */
  readonly calls: number;
  readonly from: string | undefined;
  readonly until: string | undefined;
  readonly asked: number;
  readonly denied: number;
  readonly unsure: number;
  readonly rows: readonly Row[];
  /** Stopped calls that are in no row, since there are too many rows. */
  readonly others: number;
  /** Conversations whose labels were forgotten within a day after their last call, since there are too many. */
  readonly forgotten: number;
  /** Rules that depend on facts that records do not have. */
  readonly unsureRules: readonly string[];
  /** Believed servers with calls of tools whose hints are not known here. */
  readonly unhinted: readonly string[];
}

interface Carried {
  readonly source: string;
  /** When it was added, in milliseconds since 1970. */
  readonly at: number;
  /** Whether only rules that depend on facts without a record have added it. */
  isUnsure: boolean;
}

interface Conversation {
  readonly labels: Map<string, Carried>;
  lastAt: number;
}

interface Call {
  readonly target: Target;
  readonly method: string;
  readonly endpoint: string;
  readonly facts: Facts | undefined;
  readonly address: string | undefined;
  readonly beganAt: number;
  readonly endedAt: number;
  readonly isDelivered: boolean;
}

const hourMs = 3_600_000;
/** A session that makes no call for a day has probably ended, which records do not say. */
const idleMs = 24 * hourMs;
const defaultMaxConversations = 50_000;
const defaultMaxRows = 10_000;
const maxText = 120;
/** Outcomes of calls that a server has got. A fault without a code is one of the gateway. */
const reached = new Set(['ok', 'tool_error', 'fault', 'cancelled', 'unknown']);
/** Parts of callers that records have. */
const recorded = /^(everyone|known|user:|key:|tenant:|client:)/;
const recordedParts = new Set(['user', 'key', 'tenant', 'client', 'via']);

/** @throws {Error} in words for the operator if a rule is wrong. */
export async function openReplay(options: ReplayOptions): Promise<Replay> {
  const { config } = options;
  const rules = [...(config.access?.rules ?? []), ...guardedRules(config)].flatMap((rule, index) => {
    const effect = effectOf(rule);
    const narrowing = { ...rule, id: rule.id ?? `#${index + 1}` };
    if (effect === 'ask') return [{ ...narrowing, onlyAsks: true }];
    return effect === 'deny' || effect === 'label' ? [narrowing] : [];
  });
  const unsure = new Set(rules.filter((rule) => !isSure(rule)).map(({ id }) => id));
  const compiled = await compile({ default: 'allow', rules: rules.map((rule) => supposed(rule)) });
  if ('problems' in compiled)
    throw new Error(compiled.problems.map(({ path, message }) => `access.${path.join('.')}: ${message}`).join('\n'));
  return new Replay(options, compiled.policy, unsure);
}

/** Whether records have all that a rule depends on. */
function isSure(rule: RuleSettings): boolean {
  return hasRecordedCallers(rule) && rule.args === undefined && rule.when === undefined;
}

function hasRecordedCallers({ who, except }: RuleSettings): boolean {
  return [who, except ?? []]
    .flat(2)
    .every((each) =>
      typeof each === 'string'
        ? recorded.test(each)
        : Object.keys(each as object).every((part) => recordedParts.has(part)),
    );
}

/** A rule about callers that records do not have is supposed to be about all. */
function supposed(rule: RuleSettings): RuleSettings {
  if (hasRecordedCallers(rule)) return rule;
  const { except: _except, ...rest } = rule;
  return { ...rest, who: 'everyone' };
}

export class Replay {
  readonly #options: ReplayOptions;
  readonly #policy: Policy;
  readonly #unsure: ReadonlySet<string>;
  readonly #maxConversations: number;
  readonly #maxRows: number;
  /** The longest unused comes first. */
  readonly #conversations = new Map<string, Conversation>();
  readonly #rows = new Map<string, Row>();
  readonly #unhinted = new Set<string>();
  readonly #counts = { records: 0, calls: 0, asked: 0, denied: 0, unsure: 0, others: 0, forgotten: 0 };
  #from: string | undefined;
  #until: string | undefined;

  constructor(options: ReplayOptions, policy: Policy, unsure: ReadonlySet<string>) {
    this.#options = options;
    this.#policy = policy;
    this.#unsure = unsure;
    this.#maxConversations = options.maxConversations ?? defaultMaxConversations;
    this.#maxRows = options.maxRows ?? defaultMaxRows;
  }

  /** Conversations in memory. */
  get size(): number {
    return this.#conversations.size;
  }

  /** @param record later than those before it. */
  add(record: AnyRecord): void {
    this.#counts.records += 1;
    const { time } = record;
    if (typeof time === 'string') {
      this.#from ??= time;
      this.#until = time;
    }
    const call = this.#callOf(record);
    if (call === undefined) return;
    this.#counts.calls += 1;
    const conversation = this.#conversationOf(record, call);
    const rights = this.#policy.rightsOf(call.facts);
    this.#decide(rights, call, conversation, record);
    if (call.isDelivered) this.#label(rights, call, conversation);
  }

  get result(): Replayed {
    return {
      ...this.#counts,
      from: this.#from,
      until: this.#until,
      rows: [...this.#rows.values()].toSorted((one, other) => other.calls - one.calls),
      unsureRules: [...this.#unsure],
      unhinted: [...this.#unhinted].toSorted(),
    };
  }

  #callOf(record: AnyRecord): Call | undefined {
    const text = (name: string): string | undefined => {
      const { [name]: value } = record;
      return typeof value === 'string' ? value : undefined;
    };
    const { 'event.name': event, 'omnibus.outcome': outcome, 'omnibus.duration_ms': took } = record;
    const server = text('omnibus.server');
    const endedAt = Date.parse(text('time') ?? '');
    if ((event !== 'mcp.call' && event !== 'mcp.read') || server === undefined || Number.isNaN(endedAt))
      return undefined;
    const isOwnFault = outcome === 'fault' && record['rpc.response.status_code'] === undefined;
    if (!reached.has(String(outcome)) || isOwnFault) return undefined;
    const method = text('mcp.method.name') ?? '';
    const kind = kinds.get(method);
    const name = kind === 'resource' ? text('mcp.resource.uri') : (text('omnibus.tool') ?? text('gen_ai.prompt.name'));
    if (kind === undefined || name === undefined) return undefined;
    return {
      target: this.#targetOf(kind, server, name),
      method,
      endpoint: (text('omnibus.endpoint') ?? '/mcp').replace(/^\/mcp\/?/, ''),
      facts: factsIn(text),
      address: text('client.address'),
      beganAt: endedAt - (typeof took === 'number' ? took : 0),
      endedAt,
      isDelivered: outcome !== 'cancelled' && outcome !== 'unknown',
    };
  }

  #targetOf(kind: Target['kind'], server: string, name: string): Target {
    const settings = enabledServers(this.#options.config).get(server);
    if (kind !== 'tool' || settings === undefined) return { kind, server, name };
    const hints = this.#options.hints.get(`${server}/${name}`);
    if (hints === undefined && settings.hints === 'believe' && settings.tools[name]?.annotations === undefined)
      this.#unhinted.add(server);
    const annotations = trustedHints(settings, name, hints);
    return annotations === undefined ? { kind, server, name } : { kind, server, name, annotations };
  }

  /** A session, or the requests of one caller at one endpoint until an hour has passed without one. */
  #conversationOf(record: AnyRecord, { facts, address, endpoint, beganAt, endedAt }: Call): Conversation {
    const { 'mcp.session.id': session } = record;
    const isSession = typeof session === 'string';
    const key = isSession ? `s${session}` : JSON.stringify([facts?.principal ?? address, facts?.client, endpoint]);
    const known = this.#conversations.get(key);
    this.#conversations.delete(key);
    const conversation =
      known !== undefined && (isSession || beganAt - known.lastAt < hourMs)
        ? known
        : { labels: new Map<string, Carried>(), lastAt: endedAt };
    conversation.lastAt = endedAt;
    this.#conversations.set(key, conversation);
    if (this.#conversations.size > this.#maxConversations) {
      const [[oldest, { labels, lastAt }] = ['', conversation]] = this.#conversations;
      this.#conversations.delete(oldest);
      if (labels.size > 0 && endedAt - lastAt < idleMs) this.#counts.forgotten += 1;
    }
    return conversation;
  }

  #decide(rights: Rights, call: Call, { labels }: Conversation, record: AnyRecord): void {
    const { target, beganAt } = call;
    // A call that began before a label was added was written before its client had the result.
    const carried = (label: string): Carried | undefined => {
      const found = labels.get(label);
      return found !== undefined && found.at <= beganAt ? found : undefined;
    };
    const before: Labels = {
      has: (label) => carried(label) !== undefined,
      sourceOf: (label) => carried(label)?.source,
    };
    const { effect, rule = 'default', labelled } = rights.decide(target, circumstancesOf(call, before));
    if (effect === 'allow') return;
    const on = labelled?.labels ?? [];
    const isUnsure = this.#unsure.has(rule) || on.some(({ label }) => carried(label)?.isUnsure === true);
    this.#counts[effect === 'ask' ? 'asked' : 'denied'] += 1;
    if (isUnsure) this.#counts.unsure += 1;
    const row = this.#rowOf(effect, rule, target, userOf(record, call), on);
    if (row === undefined) this.#counts.others += 1;
    else {
      row.calls += 1;
      if (isUnsure) row.unsure += 1;
    }
  }

  #rowOf(
    would: Row['would'],
    rule: string,
    { kind, server, name }: Target,
    user: string,
    labels: readonly { readonly label: string; readonly source: string }[],
  ): Row | undefined {
    const item = kind === 'resource' ? `${name.split(':', 1)[0]?.slice(0, maxText)}:` : name.slice(0, maxText);
    const key = JSON.stringify([would, rule, server, item, user]);
    const known = this.#rows.get(key);
    if (known !== undefined || this.#rows.size >= this.#maxRows) return known;
    const from = labels.map(({ label, source }) => `${label} since ${source}`);
    const row: Row = { would, rule, server, item, user, labels: from, calls: 0, unsure: 0 };
    this.#rows.set(key, row);
    return row;
  }

  #label(rights: Rights, call: Call, { labels }: Conversation): void {
    const { target, endedAt } = call;
    const before: Labels = { has: (label) => labels.has(label), sourceOf: () => undefined };
    for (const { label, rule } of rights.labels(target, circumstancesOf(call, before))) {
      const isUnsure = this.#unsure.has(rule);
      const known = labels.get(label);
      if (known === undefined)
        labels.set(label, { source: `${target.server}/${target.name.slice(0, maxText)}`, at: endedAt, isUnsure });
      else known.isUnsure &&= isUnsure;
    }
  }
}

const kinds: ReadonlyMap<string, Target['kind']> = new Map([
  ['tools/call', 'tool'],
  ['prompts/get', 'prompt'],
  ['resources/read', 'resource'],
]);

function circumstancesOf({ target, method, endpoint, facts, address, endedAt }: Call, labels: Labels) {
  const { kind, server, name } = target;
  return { facts, kind, server, name, method, args: undefined, now: endedAt, address, endpoint, labels };
}

/** The facts of a caller that its record has. */
function factsIn(text: (name: string) => string | undefined): Facts | undefined {
  const principal = text('omnibus.principal');
  if (principal === undefined || principal === anonymous) return undefined;
  return {
    principal: principal as Principal,
    issuer: text('omnibus.issuer') ?? '',
    subject: text('user.id') ?? '',
    tenant: text('omnibus.tenant'),
    actors: [],
    groups: [],
    scopes: [],
    client: text('omnibus.client'),
    expiresAt: undefined,
    key: text('omnibus.key'),
  };
}

function userOf(record: AnyRecord, { facts, address }: Call): string {
  const { 'user.id': user } = record;
  return (typeof user === 'string' ? user : (facts?.principal ?? address ?? anonymous)).slice(0, maxText);
}
