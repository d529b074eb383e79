/** What a server is shown for nobody in particular where each user signs in for himself: nothing, so that it says what it wants. */
import type { Challenge } from './challenge.ts';
import type { HeaderSource, SentHeaders } from './source.ts';

const nothing: SentHeaders = Object.freeze({});

export class Nobody implements HeaderSource {
  readonly current = nothing;
  readonly secrets: readonly string[] = [];
  #wanted: Challenge | undefined;

  /** What the server asked for when it refused; undefined where it did not. */
  get wanted(): Challenge | undefined {
    return this.#wanted;
  }

  ask(): Promise<SentHeaders> {
    return Promise.resolve(nothing);
  }

  refused(_sent: SentHeaders, challenge: Challenge): Promise<boolean> {
    this.#wanted = challenge;
    return Promise.resolve(false);
  }

  gaveUp(): Promise<void> {
    return Promise.resolve();
  }
}
