/**
 * A set of open things that come and go by the ten thousand a second.
 *
 * A `Map` or `Set` is the wrong tool for that in V8: each insertion and deletion wears its table out, a worn table is
 * replaced, and the dead one keeps pointing to its entries and to its successor. Once a dead table has reached the old
 * generation, everything that passes through its successors survives every minor collection until the next full one
 * (measured here: the cost of a call doubles). A member of a ring carries its own links and leaves nothing behind.
 */
export class Link {
  previous: Link = this;
  next: Link = this;
}

/** In the order of arrival. A member is in one ring at a time. */
export class Ring<Member extends Link> {
  readonly #head = new Link();
  /** Number of members; only the ring itself writes it. */
  size = 0;

  get first(): Member | undefined {
    return this.#head.next === this.#head ? undefined : (this.#head.next as Member);
  }

  add(member: Member): void {
    const { previous } = this.#head;
    member.previous = previous;
    member.next = this.#head;
    previous.next = member;
    this.#head.previous = member;
    this.size += 1;
  }

  /** Whether the member is in its ring. */
  has(member: Member): boolean {
    return member.next !== member;
  }

  /** @returns false when it was not in the ring. */
  remove(member: Member): boolean {
    if (member.next === member) return false;
    member.previous.next = member.next;
    member.next.previous = member.previous;
    member.previous = member;
    member.next = member;
    this.size -= 1;
    return true;
  }

  /** The first member that fits, found without a copy of all. */
  find(fits: (member: Member) => boolean): Member | undefined {
    for (let link = this.#head.next; link !== this.#head; link = link.next)
      if (fits(link as Member)) return link as Member;
    return undefined;
  }

  /** The newest members, the last one first, up to the first one that does not fit. */
  newest(fits: (member: Member) => boolean): Member[] {
    const members: Member[] = [];
    for (let link = this.#head.previous; link !== this.#head && fits(link as Member); link = link.previous)
      members.push(link as Member);
    return members;
  }

  /** The members as they are now: they may be removed while the result is walked. */
  toArray(): Member[] {
    const members: Member[] = [];
    for (let link = this.#head.next; link !== this.#head; link = link.next) members.push(link as Member);
    return members;
  }
}
