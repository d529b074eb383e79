/** The credentials for requests without a known user at a server where each user signs in: none, so that the server answers with its demand. */
import type { Challenge } from './challenge.ts';
import type { HeaderSource, SentHeaders } from './source.ts';

const nothing: SentHeaders = Object.freeze({});

export class NoCredentials implements HeaderSource {
  readonly current = nothing;
  readonly secrets: readonly string[] = [];
  #wanted: Challenge | undefined;

  /** The server's demand when it refused a request; undefined where it has refused none. */
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

  gaveUp(): Promise<false> {
    return Promise.resolve(false);
  }
}
