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

/** Keeps a token fresh as long as a program runs. */
export class SignedIn {
  readonly #tokens: KeptTokens;
  readonly #url: string;
  readonly #onProblem: (problem: string) => void;
  #kept: Kept;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(tokens: KeptTokens, url: string, kept: Kept, onProblem: (problem: string) => void) {
    this.#tokens = tokens;
    this.#url = url;
    this.#kept = kept;
    this.#onProblem = onProblem;
    this.#schedule(this.#untilStale());
  }

  /** What a request says who sends it with. */
  readonly authorization = (): string => `Bearer ${this.#kept.accessToken}`;

  close(): void {
    clearTimeout(this.#timer);
  }

  #untilStale(): number {
    return this.#kept.expiresAt === undefined ? Infinity : Math.max(0, this.#kept.expiresAt - earlyMs - Date.now());
  }

  #schedule(ms: number): void {
    // Node's longest; whoever has a token for longer looks at it again then.
    this.#timer = setTimeout(() => void this.#renew(), Math.min(ms, 2 ** 31 - 1)).unref();
  }

  async #renew(): Promise<void> {
    try {
      this.#kept = (await freshToken(this.#tokens, this.#url)) ?? this.#kept;
      this.#schedule(Math.max(1_000, this.#untilStale()));
    } catch (error) {
      this.#onProblem((error as Error).message);
      this.#schedule(retryMs);
    }
  }
}
