import { Ring, type Link } from '@omnibus/collections';
import type { Drain } from '@omnibus/lifecycle';

/** The commands that wait for their answers at this edge. Each removal is reported to `Drain`, which waits for the end of all. */
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
