/** What `omnibus doctor` has found about one subject. */
export interface Finding {
  readonly about: string;
  /** `unchecked`: it could not be checked from here, and may be good or bad. */
  readonly state: 'good' | 'warning' | 'unchecked' | 'bad';
  readonly text: string;
  /** The fix for the operator. */
  readonly advice?: string;
}
