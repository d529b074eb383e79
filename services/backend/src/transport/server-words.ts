/** Checks values of a server that are sent back to it, and waiting times that it requests: they are used only as far as they are harmless. */

import { isObject, type JsonObject } from '@omnibus/protocol';

/** Bytes of a header with a server's value; HTTP servers allow little for all headers together. */
const maxLength = 8_192;

/** Whether a text is visible ASCII (2025-11-25 basic/transports, Session Management). */
export function isSessionId(text: string): boolean {
  return text.length <= maxLength && /^[\u0021-\u007E]+$/.test(text);
}

/** Whether HTTP libraries return a text as it came, though it may be no session id: it has blanks within, or bytes beyond ASCII (RFC 9110, 5.5). */
export function isHeaderText(text: string): boolean {
  if (text.length > maxLength || !/^[\t\u0020-\u007E\u0080-\u00FF]+$/.test(text)) return false;
  return !/^[\t ]|[\t ]$/.test(text);
}

/** Whether an event id can be sent as a header: WHATWG allows any text without line ends; an empty id means that there is none any more. */
export function isEventId(text: string): boolean {
  return text.length <= maxLength && /^[\u0020-\u007E]*$/.test(text) && text === text.trim();
}

/** Characters of a server's text that are searched. */
const maxSearched = 2_000;
const speaksOfSession = /session|initiali[sz]e/i;
const speaksOfLoss =
  /not found|no valid|invalid|unknown|expired|terminated|missing|required|not exist|no longer|closed|gone|not (?:been )?initiali[sz]ed|expect|no (?:active )?session/i;

/** Whether a text reads as if the server did not know the session. This is only a guess, since a tool may have sessions of its own. */
export function saysSessionGone(text: string): boolean {
  const searched = text.slice(0, maxSearched);
  return speaksOfSession.test(searched) && speaksOfLoss.test(searched);
}

const defaultRetryMs = 1_000;
const minRetryMs = 100;
/** Longest pause in milliseconds before a stream is opened again, if each stream brought something. */
const maxFloorMs = 1_000;
const maxRetryMs = 30_000;

/**
 * Decides when a stream that ended is opened again. It respects the server's `retry`, but the pause is at least a tenth of a second, and
 * longer for a server with streams that end again and again: up to a second if each brings at least an event id, and up to half a minute otherwise.
 */
export class Reconnecting {
  #retryMs = defaultRetryMs;
  /** How many streams have ended since the last message, and since anything was received. */
  #withoutMessage = 0;
  #withoutAnything = 0;

  /** The server asks for another pause (`retry`), in milliseconds. */
  ask(ms: number): void {
    this.#retryMs = Math.min(ms, maxRetryMs);
  }

  /** An event id was received: servers that close their streams and expect a reconnection send one. */
  hasMoved(): void {
    this.#withoutAnything = 0;
  }

  /** A message was received, or the stream was open for long. */
  isWell(): void {
    this.#withoutMessage = 0;
    this.#withoutAnything = 0;
  }

  /** Milliseconds to wait before the stream is opened again. */
  next(): number {
    const floorMs =
      this.#withoutAnything > 0
        ? Math.min(minRetryMs * 2 ** Math.min(this.#withoutAnything, 20), maxRetryMs)
        : Math.min(minRetryMs * 2 ** Math.min(this.#withoutMessage, 20), maxFloorMs);
    this.#withoutMessage += 1;
    this.#withoutAnything += 1;
    return Math.max(this.#retryMs, floorMs);
  }
}

/** Whether a message is an error without a request id (JSON-RPC 2.0, section 5). On a request's own stream it can only be meant for that request. */
export function isNamelessError(value: unknown): value is JsonObject {
  return (
    isObject(value) && 'error' in value && !('method' in value) && (value['id'] === undefined || value['id'] === null)
  );
}
