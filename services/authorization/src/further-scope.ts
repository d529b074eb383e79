/** A scope that clients get only when they request it. */
export interface FurtherScope {
  readonly name: string;
  /** Whether the metadata list it. The scope for administration is not listed. */
  readonly isAnnounced: boolean;
  readonly administers: boolean;
  /** Its permission, in words for users. */
  readonly description?: string | undefined;
}
