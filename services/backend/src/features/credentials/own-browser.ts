/** The browser of the one user of this machine: which pages of sign-ins it has opened, and which of these sign-ins have ended. */
import { setTimeout as delay } from 'node:timers/promises';
import type { ServerName } from '@omnibus/protocol';

/** Time within which a caller that is refused again gets the same address, and the browser opens no other page for the same server. */
export const reuseMs = 5 * 60_000;
/** Time after which a sign-in counts as given up: its address works for ten minutes, and the page of the issuer for ten more. */
const givenUpMs = 20 * 60_000;

export class OwnBrowser {
  readonly #show: ((server: ServerName, address: string) => boolean) | undefined;
  /** Time of an opened page for a server with an open sign-in; at most one for each configured server. */
  readonly #shown = new Map<ServerName, { readonly at: number; readonly isOpen: boolean }>();
  readonly #waiting = new Map<string, () => void>();

  /** @param show left out where users are elsewhere. */
  constructor(show: ((server: ServerName, address: string) => boolean) | undefined) {
    this.#show = show;
  }

  /** Shows a page, unless the browser has shown one for the same server shortly before. @returns whether the browser has it open. */
  show(server: ServerName, address: string): boolean {
    const before = this.#shown.get(server);
    if (before !== undefined && performance.now() - before.at < reuseMs) return before.isOpen;
    const isOpen = this.#show?.(server, address) ?? false;
    if (this.#show !== undefined) this.#shown.set(server, { at: performance.now(), isOpen });
    return isOpen;
  }

  /** Resolves when the sign-in has ended. @returns false if it was abandoned. */
  async ended(elicitation: string): Promise<boolean> {
    const done = new Promise<true>((resolve) => {
      this.#waiting.set(elicitation, () => resolve(true));
    });
    const isDone = await Promise.race([done, delay(givenUpMs, false, { ref: false })]);
    this.#waiting.delete(elicitation);
    return isDone;
  }

  done(server: ServerName, elicitation: string): void {
    this.#shown.delete(server);
    this.#waiting.get(elicitation)?.();
  }
}
