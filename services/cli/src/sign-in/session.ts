/** The token of a signed-in user: read from the file, and refreshed before it expires, by one program at a time. */
import { gatewayAddress, type Kept, type KeptTokens } from './kept-tokens.ts';
import { refresh } from './issued.ts';

/** Milliseconds before its expiry at which a token is refreshed. */
const earlyMs = 60_000;
/** Milliseconds between two attempts while the authorization server cannot be reached. */
const retryMs = 15_000;

/**
 * A valid token for a gateway, refreshed if needed.
 * @returns undefined when the user is not signed in there.
 * @throws {SignInProblem} when it has expired and cannot be refreshed.
 */
export async function freshToken(tokens: KeptTokens, url: string): Promise<Kept | undefined> {
  const kept = tokens.find(url);
  if (kept === undefined || isFresh(kept)) return kept;
  // While this program waited for the lock, another one may have refreshed it.
  return tokens.change(url, async (before) =>
    before === undefined || isFresh(before) ? before : refresh(before, gatewayAddress(url)),
  );
}

const isFresh = ({ expiresAt }: Kept): boolean => expiresAt === undefined || expiresAt - Date.now() > earlyMs;

/**
 * A replacement for a token that the gateway refuses although it has not expired: the one that another program has obtained meanwhile, or a refreshed
 * one.
 * @throws {SignInProblem} when there is none.
 */
export async function otherToken(tokens: KeptTokens, url: string, refused: Kept): Promise<Kept | undefined> {
  return tokens.change(url, async (before) =>
    before === undefined || before.accessToken !== refused.accessToken ? before : refresh(before, gatewayAddress(url)),
  );
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
  /** Whether the gateway has said that the token lacks a scope. */
  #isLacking = false;

  constructor(tokens: KeptTokens, url: string, kept: Kept, onProblem: (problem: string) => void) {
    this.#tokens = tokens;
    this.#url = url;
    this.#kept = kept;
    this.#onProblem = onProblem;
    this.#schedule(this.#untilStale());
  }

  /** The value of the `Authorization` header; a promise where the token has expired, as after a suspension of this machine, and is being refreshed. */
  readonly authorization = (): string | Promise<string> => {
    if (this.#isLacking) this.#takeOther();
    const { expiresAt = Infinity, accessToken } = this.#kept;
    return Date.now() < expiresAt || performance.now() - this.#failedAt < retryMs
      ? `Bearer ${accessToken}`
      : this.#renew().then(() => `Bearer ${this.#kept.accessToken}`);
  };

  /** The gateway has refused the token: looks for another one for the next requests. */
  readonly refused = (): void => {
    if (performance.now() - this.#refusedAt < retryMs) return;
    this.#refusedAt = performance.now();
    // If there is none, the answer to the refused request has told the client.
    otherToken(this.#tokens, this.#url, this.#kept).then(
      (kept) => this.#take(kept),
      (error: unknown) => this.#onProblem((error as Error).message),
    );
  };

  /** The token lacks a scope: from now on, requests take the one that the user signs in for elsewhere (`omnibus login --scope`). */
  readonly lacking = (): void => {
    this.#isLacking = true;
  };

  close(): void {
    clearTimeout(this.#timer);
  }

  #takeOther(): void {
    let kept: Kept | undefined;
    try {
      kept = this.#tokens.find(this.#url);
    } catch (error) {
      this.#isLacking = false;
      this.#onProblem((error as Error).message);
    }
    if (kept === undefined || kept.accessToken === this.#kept.accessToken) return;
    this.#isLacking = false;
    this.#take(kept);
  }

  #untilStale(): number {
    return this.#kept.expiresAt === undefined ? Infinity : Math.max(0, this.#kept.expiresAt - earlyMs - Date.now());
  }

  #schedule(ms: number): void {
    clearTimeout(this.#timer);
    // Node has no longer timers; a token that is valid for longer is checked again then.
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
