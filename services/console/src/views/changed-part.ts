/** The part in which two texts differ, so that a change of one word in a long description is seen. */
export interface ChangedPart {
  /** What both begin with. */
  readonly head: string;
  readonly before: string;
  readonly after: string;
  /** What both end with. */
  readonly tail: string;
}

/** Characters of equal text on each side of the change. */
const shownAround = 120;

/** Compares by code points, and shortens equal text. */
export function changedPart(before: string, after: string): ChangedPart {
  const [one, other] = [Array.from(before), Array.from(after)];
  const least = Math.min(one.length, other.length);
  let start = 0;
  while (start < least && one[start] === other[start]) start += 1;
  let end = 0;
  while (end < least - start && one[one.length - 1 - end] === other[other.length - 1 - end]) end += 1;
  const head = one.slice(0, start);
  const tail = one.slice(one.length - end);
  return {
    head: `${head.length > shownAround ? '… ' : ''}${head.slice(-shownAround).join('')}`,
    before: one.slice(start, one.length - end).join(''),
    after: other.slice(start, other.length - end).join(''),
    tail: `${tail.slice(0, shownAround).join('')}${tail.length > shownAround ? ' …' : ''}`,
  };
}

/** A value of a difference as people read it: a text without quotes and escapes, everything else as JSON. */
export function valueText(json: string): string {
  try {
    const value: unknown = JSON.parse(json);
    if (typeof value === 'string') return value;
    return JSON.stringify(value) === json ? JSON.stringify(value, null, 2) : json;
  } catch {
    return json; // Cut, so it is no JSON.
  }
}
