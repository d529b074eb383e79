/**
 * The result of testing a rule. What cannot be evaluated (an argument of another type, a condition that fails, a hint of a server that is not believed)
 * counts against the caller: a rule that allows does not allow then, and one that denies denies.
 */
export type Verdict = 'yes' | 'no' | 'unknown';

export function both(one: Verdict, other: Verdict): Verdict {
  if (one === 'no' || other === 'no') return 'no';
  return one === 'unknown' || other === 'unknown' ? 'unknown' : 'yes';
}

export const verdictOf = (holds: boolean): Verdict => (holds ? 'yes' : 'no');
