import { Link, Ring } from './ring.ts';

const buckets = 256;
/** How much of a key decides about its bucket: ids end with a number that is counted up. */
const hashedCharacters = 2;

/** A member of a `KeyedRing`. */
export abstract class KeyedLink extends Link {
  abstract readonly key: string;
  /** The next member in the same bucket. */
  nextAlike: KeyedLink | undefined = undefined;
}

/** A ring that finds members by their keys without a scan. Its links are those of its members (see `Ring` for why it is no `Map`). */
export class KeyedRing<Member extends KeyedLink> extends Ring<Member> {
  readonly #heads = Array.from<KeyedLink | undefined>({ length: buckets });

  override add(member: Member): void {
    super.add(member);
    const bucket = bucketOf(member.key);
    member.nextAlike = this.#heads[bucket];
    this.#heads[bucket] = member;
  }

  override remove(member: Member): boolean {
    if (!super.remove(member)) return false;
    const bucket = bucketOf(member.key);
    let before = this.#heads[bucket];
    if (before === member) this.#heads[bucket] = member.nextAlike;
    else {
      while (before !== undefined && before.nextAlike !== member) before = before.nextAlike;
      if (before !== undefined) before.nextAlike = member.nextAlike;
    }
    member.nextAlike = undefined;
    return true;
  }

  /** @returns the member with this key that was added last. */
  get(key: string): Member | undefined {
    let member = this.#heads[bucketOf(key)];
    while (member !== undefined && member.key !== key) member = member.nextAlike;
    return member as Member | undefined;
  }
}

function bucketOf(key: string): number {
  let hash = 0;
  for (let index = Math.max(0, key.length - hashedCharacters); index < key.length; index += 1)
    hash = (Math.imul(hash, 31) + key.charCodeAt(index)) | 0;
  return hash & (buckets - 1);
}
