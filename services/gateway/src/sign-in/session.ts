/** The token of a user who is signed in: read from the file, refreshed before it ends, by one program at a time. */
import type { Kept, KeptTokens } from './kept-tokens.ts';
import { refresh } from './sign-in.ts';

/** Before its end a token is exchanged for another. */
const earlyMs = 60_000;
/** Between two attempts when the authorization server cannot be asked. */
const retryMs = 15_000;

/**
 * A token that is good now.
 * @returns undefined when nobody is signed in.
 * @throws {SignInProblem} when it has ended.
 */
export async function freshToken(tokens: KeptTokens, url: string): Promise<Kept | undefined> {
  const kept = tokens.find(url);
  if (kept === undefined || isFresh(kept)) return kept;
  // Whoever waited may find that another one has refreshed it.
  return tokens.change(url, async (before) => (before === undefined || isFresh(before) ? before : refresh(before, url)));
}

const isFresh = ({ expiresAt }: Kept): boolean => expiresAt === undefined || expiresAt - Date.now() > earlyMs;

/**
 * Another token than one that the gateway does not take, though it should be good still: what another program was given meanwhile, or what is given
 * for the refresh token.
 * @throws {SignInProblem} when there is none to be had.
 */
export async function otherToken(tokens: KeptTokens, url: string, refused: Kept): Promise<Kept | undefined> {
  return tokens.change(url, async (before) => (before === undefined || before.accessToken !== refused.accessToken ? before : refresh(before, url)));
}

/** Keeps a token fresh as long as a program runs. */
export class SignedIn {
  readonly #tokens: KeptTokens;
  readonly #url: string;
  readonly #onProblem: (problem: string) => void;
  #kept: Kept;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #renewing: Promise<void> | undefined;
  #refusedAt = -Infinity;
  #failedAt = -Infinity;

  constructor(tokens: KeptTokens, url: string, kept: Kept, onProblem: (problem: string) => void) {
    this.#tokens = tokens;
    this.#url = url;
    this.#kept = kept;
    this.#onProblem = onProblem;
    this.#schedule(this.#untilStale());
  }

  /** What a request says who sends it with; to be waited for where this machine has slept beyond the end of the token. */
  readonly authorization = (): string | Promise<string> => {
    const { expiresAt = Infinity, accessToken } = this.#kept;
    return Date.now() < expiresAt || performance.now() - this.#failedAt < retryMs ? `Bearer ${accessToken}` : this.#renew().then(() => `Bearer ${this.#kept.accessToken}`);
  };

  /** The gateway does not take the token: looks for another, for the requests to come. */
  readonly refused = (): void => {
    if (performance.now() - this.#refusedAt < retryMs) return;
    this.#refusedAt = performance.now();
    // That there is none, the client is told with what was refused.
    otherToken(this.#tokens, this.#url, this.#kept).then((kept) => this.#take(kept), (error: unknown) => this.#onProblem((error as Error).message));
  };

  close(): void {
    clearTimeout(this.#timer);
  }

  #untilStale(): number {
    return this.#kept.expiresAt === undefined ? Infinity : Math.max(0, this.#kept.expiresAt - earlyMs - Date.now());
  }

  #schedule(ms: number): void {
    clearTimeout(this.#timer);
    // Node's longest; whoever has a token for longer looks at it again then.
    this.#timer = setTimeout(() => void this.#renew(), Math.min(ms, 2 ** 31 - 1)).unref();
  }

  #renew(): Promise<void> {
    this.#renewing ??= this.#renewed().finally(() => {
      this.#renewing = undefined;
    });
    return this.#renewing;
  }

  async #renewed(): Promise<void> {
    try {
      this.#take(await freshToken(this.#tokens, this.#url));
    } catch (error) {
      this.#failedAt = performance.now();
      this.#onProblem((error as Error).message);
      this.#schedule(retryMs);
    }
  }

  #take(kept: Kept | undefined): void {
    this.#kept = kept ?? this.#kept;
    this.#schedule(Math.max(1_000, this.#untilStale()));
  }
}
