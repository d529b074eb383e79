import { Ring, type Link } from '@omnibus/collections';
import type { Drain } from '@omnibus/lifecycle';

/** What waits for its answer at this edge; whoever waits for the end of all of it hears of each. */
export class OpenCommands<Member extends Link> extends Ring<Member> {
  readonly #drain: Drain;

  constructor(drain: Drain) {
    super();
    this.#drain = drain;
  }

  override remove(member: Member): boolean {
    const wasOpen = super.remove(member);
    if (wasOpen) this.#drain.ended();
    return wasOpen;
  }
}
