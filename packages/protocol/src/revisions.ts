/** The protocol revisions and what each has or lacks. Code outside a `dialect/` folder asks for a feature, never for a revision. */
export const legacyRevisions = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'] as const;
export type LegacyRevision = (typeof legacyRevisions)[number];

/** Without sessions: every request carries its whole context. */
export const modernRevisions = ['2026-07-28'] as const;
export type ModernRevision = (typeof modernRevisions)[number];
export const latestModernRevision: ModernRevision = '2026-07-28';

export type Revision = LegacyRevision | ModernRevision;

/**
 * The newest revision with sessions. It is offered to servers first, and to clients that request an unknown revision (lifecycle, Version Negotiation).
 */
export const latestLegacyRevision: LegacyRevision = '2025-11-25';

export interface RevisionFeatures {
  /** JSON-RPC arrays are accepted (only 2025-03-26, basic, Batching). */
  readonly batching: boolean;
  /** A server may know its client by a session (until 2025-11-25); over Streamable HTTP it gives an id, also to clients of 2024-11-05. */
  readonly sessions: boolean;
  /** Completion is a declared capability (2025-03-26); before, a server may support it without declaring it. */
  readonly completionCapability: boolean;
  /** `MCP-Protocol-Version` is sent on every request after `initialize` (2025-06-18, Protocol Version Header). */
  readonly versionHeader: boolean;
  /** A stream begins with an event that has an id and no data (2025-11-25, Sending Messages); it breaks older clients. */
  readonly primingEvent: boolean;
  /** Content of type `audio` (2025-03-26). */
  readonly audioContent: boolean;
  /** Content of type `resource_link`, and structured content of tools (2025-06-18). */
  readonly resourceLinks: boolean;
  /** Elicitation by URL and with lists, titles and defaults; sampling with several blocks and tools (2025-11-25). */
  readonly richQuestions: boolean;
  /** A call may become a task; the client fetches its result later (only 2025-11-25, basic/utilities/tasks). */
  readonly tasks: boolean;
  /** An error for an unreadable request has no id (2025-11-25, basic, Responses); before, JSON-RPC's own rule holds: `null` (section 5). */
  readonly idlessErrors: boolean;
}

const features: Record<Revision, RevisionFeatures> = {
  '2024-11-05': {
    batching: false,
    sessions: true,
    completionCapability: false,
    versionHeader: false,
    primingEvent: false,
    audioContent: false,
    resourceLinks: false,
    richQuestions: false,
    tasks: false,
    idlessErrors: false,
  },
  '2025-03-26': {
    batching: true,
    sessions: true,
    completionCapability: true,
    versionHeader: false,
    primingEvent: false,
    audioContent: true,
    resourceLinks: false,
    richQuestions: false,
    tasks: false,
    idlessErrors: false,
  },
  '2025-06-18': {
    batching: false,
    sessions: true,
    completionCapability: true,
    versionHeader: true,
    primingEvent: false,
    audioContent: true,
    resourceLinks: true,
    richQuestions: false,
    tasks: false,
    idlessErrors: false,
  },
  '2025-11-25': {
    batching: false,
    sessions: true,
    completionCapability: true,
    versionHeader: true,
    primingEvent: true,
    audioContent: true,
    resourceLinks: true,
    richQuestions: true,
    tasks: true,
    idlessErrors: true,
  },
  '2026-07-28': {
    batching: false,
    sessions: false,
    completionCapability: true,
    versionHeader: true,
    primingEvent: false,
    audioContent: true,
    resourceLinks: true,
    richQuestions: true,
    tasks: false,
    idlessErrors: true,
  },
};

export function featuresOf(revision: Revision): RevisionFeatures {
  return features[revision];
}

/** What the era of a client means for its calls: code asks for one of these, and never for the era. */
interface Manner {
  /** Whether the key of the caller outlives the request: later requests have the same key, and the client hears what belongs to no request. */
  readonly lasts: boolean;
  /** Whether each request names the log level that its client wants. */
  readonly namesLevel: boolean;
  /** Whether the client answers what a server demands by another request (2026-07-28 basic/patterns, Multi Round-Trip Requests). */
  readonly asksAgain: boolean;
}

const ofSessions: Manner = { lasts: true, namesLevel: false, asksAgain: false };
const ofRequests: Manner = { lasts: false, namesLevel: true, asksAgain: true };

/** What it means that a request stands alone, or has a session. */
export function mannerOf({ standsAlone }: { readonly standsAlone: boolean }): Manner {
  return standsAlone ? ofRequests : ofSessions;
}

export function isLegacyRevision(value: unknown): value is LegacyRevision {
  return (legacyRevisions as readonly unknown[]).includes(value);
}

export function isModernRevision(value: unknown): value is ModernRevision {
  return (modernRevisions as readonly unknown[]).includes(value);
}

/** The draft before the first revision, with the messages of 2024-11-05. The official SDKs speak it so, and answer with its name. */
export const oldDraft = '2024-10-07';

/** The revision in which one is spoken to that names `named`; undefined if the gateway does not speak that. */
export function spokenRevision(named: unknown): LegacyRevision | undefined {
  if (named === oldDraft) return '2024-11-05';
  return isLegacyRevision(named) ? named : undefined;
}

/** The revision in which a client is spoken to that requests `requested`: its own when it is known, else the newest one with sessions. */
export function negotiateRevision(requested: string): LegacyRevision {
  return spokenRevision(requested) ?? latestLegacyRevision;
}
