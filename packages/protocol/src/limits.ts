/** Every bound of the gateway with its default. Operators change them under `limits` in the configuration. */
export const defaultLimits = {
  /** Bytes of one client message. */
  maxBodyBytes: 8 * 1024 * 1024,
  /** Nesting of objects and arrays in one message, of a client or a server. */
  maxJsonDepth: 128,
  /** Objects, arrays and values in them, in one message: their memory is many times their bytes. */
  maxJsonValues: 1_000_000,
  /** Messages in one batch (2025-03-26). */
  maxBatchLength: 100,
  /** Bytes of all request headers together. */
  maxHeaderBytes: 16 * 1024,
  /** Bytes of bodies that one edge is reading or serving, of all clients and of one address. */
  maxPendingBodyBytes: 256 * 1024 * 1024,
  maxPendingBodyBytesPerAddress: 64 * 1024 * 1024,
  /** Bytes of answers that wait at one edge for clients to read them, of all clients and of one address. */
  maxUnreadBytes: 256 * 1024 * 1024,
  maxUnreadBytesPerAddress: 128 * 1024 * 1024,
  /** Connections of clients to one edge, and of one address. */
  maxConnections: 24_000,
  maxConnectionsPerAddress: 12_000,
  /** Sessions that one address may open at one edge at once, and how many more with every second: fewer in an hour than one worker holds. */
  sessionBurst: 1_000,
  sessionsPerSecond: 5,
  /** Sessions one worker holds. */
  maxSessions: 20_000,
  /** Sessions of one known caller on one worker: a quarter of all. */
  maxSessionsPerPrincipal: 5_000,
  /** Requests of one session that wait for their answer. */
  maxInFlightPerSession: 1_000,
  /** Requests without a session (2026-07-28) that wait for their answer, on one worker. */
  maxInFlightWithoutSession: 10_000,
  /** Calls between two requests of their client, and answers kept for one that may come back, of one client on one worker. */
  maxParkedPerClient: 1_000,
  /** The same, of all clients together. */
  maxParked: 10_000,
  /** Bytes of requests, questions and answers of these calls, on one worker. */
  maxParkedBytes: 256 * 1024 * 1024,
  /** Calls that wait for an approval (`ask` under `access`) on one worker, of all callers and of one. */
  maxWaitingApprovals: 1_000,
  maxWaitingApprovalsPerCaller: 20,
  /** Streams of `subscriptions/listen` of one client on one worker. */
  maxListenersPerClient: 1_024,
  /** The same of all clients. */
  maxListeners: 10_000,
  /** GET streams of one session. */
  maxStreamsPerSession: 8,
  /** Bytes written to one client's stream and not yet taken by the network; the stream is closed beyond it. */
  maxBufferedBytes: 16 * 1024 * 1024,
  /** Bytes of messages that one session worker keeps for clients that come back to a stream or have none open, and of open requests of disconnected clients, of all sessions and of one. */
  maxKeptBytes: 64 * 1024 * 1024,
  maxKeptBytesPerSession: 16 * 1024 * 1024,
  /** Bytes of answers that one backend worker keeps for session workers that continue calls of a worker that is gone, of all callers and of one. */
  maxKeptAnswerBytes: 64 * 1024 * 1024,
  maxKeptAnswerBytesPerCaller: 4 * 1024 * 1024,
  /** Bytes of declarations and subscriptions that one session worker stores, of all sessions and of one. */
  maxSessionBytes: 64 * 1024 * 1024,
  maxSessionBytesPerSession: 64 * 1024,
  /** Characters of cached lists for callers that may see a part only, of each set of rights. */
  maxPreparedListBytes: 64 * 1024 * 1024,
  /** Bytes of large answers of servers that one backend worker reads at once; one answer of each server is read in any case. */
  maxReadingBytes: 64 * 1024 * 1024,
  /** Bytes of one message from an upstream server. */
  maxUpstreamMessageBytes: 64 * 1024 * 1024,
  /** Tools, prompts, resources or templates of one server, each. */
  maxCatalogEntries: 50_000,
  /** Pages of one list of an upstream server, against a cursor that never ends. */
  maxCatalogPages: 1_000,
  /** Characters of one list of an upstream server as JSON. */
  maxCatalogBytes: 32 * 1024 * 1024,
  /** Connections for callers of their own, of one process over all its servers. */
  maxCallerConnections: 2_000,
  /** Programs behind such connections. */
  maxCallerPrograms: 64,
} as const;

/** A POST that is not answered within this many milliseconds is answered by a stream (ours: shorter than the timeouts of proxies). */
export const streamAfterMs = 1_000;

/** Milliseconds between two signs of life of a session worker. */
export const presenceMs = 500;

/** Milliseconds between two messages of a session worker that a server is in use (`wanted`). */
export const interestMs = 30_000;

export type Limits = { readonly [name in keyof typeof defaultLimits]: number };
