/** Leaves an issuer alone for a while after it has failed: for twice as long with each failure in a row, up to a bound. */
import type { CredentialProblem } from './outbound.ts';

const [firstMs, longestMs] = [500, 30_000];

export class Pause {
  #last:
    | { readonly problem: CredentialProblem; readonly about: string; readonly ms: number; readonly until: number }
    | undefined;

  /** The last failure, while the issuer is left alone. @param about the subject of the request; other subjects may be requested at once. */
  problem(about = ''): CredentialProblem | undefined {
    const last = this.#last;
    return last?.about === about && performance.now() < last.until ? last.problem : undefined;
  }

  failed(problem: CredentialProblem, about = ''): void {
    const ms = this.#last?.about === about ? Math.min(2 * this.#last.ms, longestMs) : firstMs;
    this.#last = { problem, about, ms, until: performance.now() + ms };
  }

  end(): void {
    this.#last = undefined;
  }
}
