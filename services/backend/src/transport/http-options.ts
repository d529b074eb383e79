import type { Dispatcher } from 'undici';
import { featuresOf, version, type Revision } from '@omnibus/protocol';
import type { MessageLimits } from './incoming.ts';
import type { ReadingShare } from './reading-budget.ts';
import type { Transport, TransportObserver } from './transport.ts';
import { acceptedCodings } from './unpacker.ts';

/** Sends requests over HTTP. */
export interface HttpDispatcher extends Pick<Dispatcher, 'dispatch'> {
  /** Sends POST requests to an address that answers them without a redirect; undefined while that is not known. */
  readonly direct?: Pick<Dispatcher, 'dispatch'> | undefined;
}

/** What every transport over HTTP needs. */
export interface HttpOptions {
  readonly url: string;
  /** Headers from the configuration. A header that the protocol sets always wins. */
  readonly headers: Readonly<Record<string, string>>;
  /** The HTTP connections of the whole process; servers at one origin share them. */
  readonly dispatcher: HttpDispatcher;
  readonly limits: MessageLimits;
  /** The server's share of memory for answers that are being read. */
  readonly reading: ReadingShare;
  readonly openTimeoutMs: number;
  /** Called with the id that the server gives to the session: texts of the server for others must not repeat it. */
  readonly noteSession?: (id: string) => void;
}

/** Makes the transports to a server that speaks HTTP and not MCP: a feature answers in its place. */
export interface TransportMaker {
  /** Secrets that its requests show, beyond the configured headers. */
  readonly secrets: readonly string[];
  create(options: Omit<HttpOptions, 'url' | 'noteSession'>, observer: TransportObserver): Transport;
}

/** Names the gateway to servers: firewalls in front of them refuse requests without it, and the official SDK clients send one. A configured header replaces it. */
export const userAgent = { 'user-agent': `omnibus/${version}` } as const;

/** The headers that `fetch` sends, and so the official SDK clients, since some servers demand them. Configured headers replace them. */
export const usualHeaders = { ...userAgent, 'accept-language': '*' } as const;

/** Header names in lower case, so that a header of the protocol replaces a configured one. */
export function lowerCased(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}

/**
 * The headers of a POST over Streamable HTTP.
 * @param configured those of the configuration.
 * @param sessionId the one that this server gave.
 * @param revision undefined until it is agreed.
 */
export function streamableHeaders(
  configured: Readonly<Record<string, string>>,
  sessionId: string | undefined,
  revision: Revision | undefined,
): Record<string, string> {
  return {
    'accept-encoding': acceptedCodings,
    ...usualHeaders,
    ...lowerCased(configured),
    accept: 'application/json, text/event-stream',
    'content-type': 'application/json',
    ...(sessionId === undefined ? {} : { 'mcp-session-id': sessionId }),
    ...(revision !== undefined && featuresOf(revision).versionHeader ? { 'mcp-protocol-version': revision } : {}),
  };
}

/** The address of a request. The path is appended, since one that begins with two slashes would be read as a host. */
export function addressOf({ origin = '', path }: Pick<Dispatcher.DispatchOptions, 'origin' | 'path'>): URL {
  return new URL(`${typeof origin === 'string' ? origin : origin.origin}${path}`);
}
