/** What a server gives us to say back to it, and how long it asks us to wait: believed only as far as it can do no harm. */

/** Bytes of a header that the server's own words go into; headers together are small everywhere. */
const maxLength = 4_096;

/** Visible ASCII (2025-11-25 basic/transports, Session Management). */
export function isSessionId(text: string): boolean {
  return text.length <= maxLength && /^[\u0021-\u007E]+$/.test(text);
}

/** An id of an event that can be a header: WHATWG allows any text without line ends; empty means that there is none any more. */
export function isEventId(text: string): boolean {
  return text.length <= maxLength && /^[\u0020-\u007E]*$/.test(text) && text === text.trim();
}

/** Characters of what a server says that are searched. */
const maxSearched = 2_000;
const speaksOfSession = /session|initiali[sz]e/i;
const speaksOfLoss = /not found|no valid|invalid|unknown|expired|terminated|missing|required|not exist|no longer|closed|gone|not (?:been )?initiali[sz]ed|expect|no (?:active )?session/i;

/** A text that sounds as if the server did not know the session. It proves nothing: a tool may have sessions of its own. */
export function saysSessionGone(text: string): boolean {
  const searched = text.slice(0, maxSearched);
  return speaksOfSession.test(searched) && speaksOfLoss.test(searched);
}

const defaultRetryMs = 1_000;
const minRetryMs = 100;
/** Longest pause, in milliseconds, before a stream is opened again that brought something each time. */
const maxFloorMs = 1_000;
const maxRetryMs = 30_000;

/**
 * When to come back to a stream that ended. What the server asks for (`retry`) is kept to, but never less than a tenth of a second: more
 * for a server whose streams end again and again, up to a second while each brings at least an event id, else up to half a minute.
 */
export class Reconnecting {
  #retryMs = defaultRetryMs;
  /** How many streams ended since the last message, and since anything at all came. */
  #withoutMessage = 0;
  #withoutAnything = 0;

  /** The server asks for another pause (`retry`), in milliseconds. */
  ask(ms: number): void {
    this.#retryMs = Math.min(ms, maxRetryMs);
  }

  /** An event id came: servers that close their streams and want to be asked again give one. */
  hasMoved(): void {
    this.#withoutAnything = 0;
  }

  /** A message came, or the stream stood for long. */
  isWell(): void {
    this.#withoutMessage = 0;
    this.#withoutAnything = 0;
  }

  /** Milliseconds to wait now. */
  next(): number {
    const floorMs = this.#withoutAnything > 0 ? Math.min(minRetryMs * 2 ** Math.min(this.#withoutAnything, 20), maxRetryMs) : Math.min(minRetryMs * 2 ** Math.min(this.#withoutMessage, 20), maxFloorMs);
    this.#withoutMessage += 1;
    this.#withoutAnything += 1;
    return Math.max(this.#retryMs, floorMs);
  }
}
